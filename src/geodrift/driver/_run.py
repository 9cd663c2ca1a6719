"""A run directory: what is sampled, the draws, and where the run stands."""

import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from geodrift._errors import InputError
from geodrift.driver._checkpoint import (
    Checkpoint,
    read_checkpoint,
    read_info,
    read_known,
    write_checkpoint,
)
from geodrift.driver._damage import CHANGED, MISSING, OF_ANOTHER, damaged
from geodrift.driver._run_config import (
    CHECKPOINT,
    CONFIG,
    DRAWS,
    METRICS,
    SUMMARY,
    Labels,
    damage_of_file,
    holds_results,
    read_config,
    read_labels,
    write_new,
)
from geodrift.files import Damage, new_directory, write_sealed

if TYPE_CHECKING:
    import xarray as xr


class Run:
    """A run directory, for reading; `geodrift.sample` and `geodrift.driver.fit_to_run` write draws into it.

    Made by `Run.create` or opened by `Run.open` (`geodrift.load`). What is read is compared with the checksum
    that was written with it; a file that is missing, damaged, or of another run is an `InputError` that names
    it.

    Attributes:
        path: The directory.
        config: What is sampled, as in `config.json`: ``kind``, ``chains`` and what the kind needs.
        labels: Names of the places along a dimension of the draws, such as a word for each column.
    """

    def __init__(self, path: Path, config: dict[str, Any], labels: dict[str, list[str]]) -> None:
        self.path, self.config, self.labels = path, config, labels

    @classmethod
    def create(
        cls,
        path: str | Path,
        config: dict[str, Any],
        labels: Sequence[Labels] = (),
        fill: Callable[[Path], dict[str, Any]] = lambda folder: {},
    ) -> Self:
        """Make a run directory, whole or not at all.

        Args:
            path: Refused when it exists.
            config: JSON-able; needs ``kind`` and ``chains``.
            labels: Names of the places along dimensions of the draws.
            fill: Writes further files into the new directory, and returns what they add to the config.

        Raises:
            InputError: Something stands at `path`.
        """
        with new_directory(Path(path)) as folder:
            write_new(folder, config, labels, fill)
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike) -> Self:
        """Open a run directory.

        Raises:
            InputError: Not a run directory, one of another format, or one that is damaged.
        """
        path = Path(path)
        config = read_config(path)
        return cls(path, config, read_labels(path, config))

    @property
    def num_chains(self) -> int:
        """Independent chains."""
        return int(self.config["chains"])

    @property
    def has_checkpoint(self) -> bool:
        """Whether the run was planned; one killed before has no `state`.

        Raises:
            InputError: The checkpoint is gone, from a run that had one.
        """
        if self._checkpoint.is_file():
            return True
        if holds_results(self.path):
            raise damaged(self.path, Damage(self._checkpoint, MISSING), "what else is there was left alone")
        return False

    @property
    def state(self) -> dict[str, Any]:
        """Where the run stands: `plan`, `draws` and `counts` of each chain, `total` steps, seconds."""
        if not self.has_checkpoint:
            raise InputError(f"run {self.path} has no checkpoint: it ended before the first; go on with it")
        return self._own(read_info(self._checkpoint))

    def check_not_ended(self) -> None:
        """Raise InputError where a repair has left draws, but no state from which the run could go on."""
        if self.has_checkpoint and "ended" in self.state:
            raise InputError(
                f"run {self.path} cannot be resumed, {self.state['ended']}: its {self.num_draws:,} draws of"
                " each chain can be read; a new run of the same settings and length has all of them again"
            )

    @property
    def num_draws(self) -> int:
        """Stored draws that every chain has."""
        return min(self.state["draws"])

    @property
    def draws(self) -> "xr.DataTree":
        """Posterior draws, read when used: each variable [chain, draw, ...] in its group."""
        # Imported here: xarray and zarr take half a second.
        from geodrift.driver._draw_store import open_draws
        from geodrift.driver._draws_check import open_checked

        self._need_draws()
        info, known = read_known(self._checkpoint)
        store = open_checked(self.path, self.path / DRAWS, known)
        return open_draws(store, min(self._own(info)["draws"]), self.labels)

    def stacked(self, name: str) -> np.ndarray:
        """Draws of a variable of all chains one after the other, in memory, [draw, ...]."""
        values = self.draws["posterior"].to_dataset()[name].values
        return values.reshape(-1, *values.shape[2:])

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """What was measured on the way, one entry a chunk of steps."""
        info = self.state
        content = metrics_of(self.path, info)
        if content is None:
            raise damaged(self.path, Damage(self.path / METRICS, CHANGED))
        return [json.loads(line) for line in content.splitlines()]

    def file(self, name: str) -> Path:
        """A file that was written when the run was made, as it was written."""
        damage = damage_of_file(self.path, self.config, name)
        if damage is not None:
            raise damaged(self.path, damage)
        return self.path / name

    def update_config(self, **values: Any) -> None:
        """Replace entries of `config.json`."""
        self.config = write_sealed(self.path / CONFIG, self.config | values, overwrite=True)

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write `summary.json`."""
        write_sealed(self.path / SUMMARY, {"run": self.config["id"]} | summary, overwrite=True)

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint."""
        told = {"run": self.config["id"], "config": self.config}
        write_checkpoint(self._checkpoint, checkpoint._replace(info=checkpoint.info | told))

    def read_checkpoint(self) -> Checkpoint | None:
        """The last checkpoint; None before the first."""
        if not self.has_checkpoint:
            return None
        checkpoint = read_checkpoint(self._checkpoint)
        self._own(checkpoint.info)
        return checkpoint

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing to the run; the lock ends with the process, however it ends."""
        with locked(self.path):
            yield

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, kind={self.config['kind']!r}, chains={self.num_chains})"

    @property
    def _checkpoint(self) -> Path:
        return self.path / CHECKPOINT

    def _own(self, info: dict[str, Any]) -> dict[str, Any]:
        """What a checkpoint tells, if it is of this run."""
        if info["run"] != self.config["id"]:
            raise damaged(self.path, Damage(self._checkpoint, f"{OF_ANOTHER} than {CONFIG}"))
        return info

    def _need_draws(self) -> None:
        if self.num_draws == 0:
            raise InputError(f"run {self.path} has no draws yet: it is still in warm-up; go on with it")


def metrics_of(path: Path, info: dict[str, Any]) -> bytes | None:
    """The part of a run's metrics that its checkpoint counts; None where it is not as it was written."""
    size = info["metrics_bytes"]
    try:
        with (path / METRICS).open("rb") as stream:
            content = stream.read(size)
    except FileNotFoundError:
        content = b""
    return content if len(content) == size and zlib.crc32(content) == info["metrics_sum"] else None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """See `Run.locked`."""
    descriptor = os.open(path / ".lock", os.O_CREAT | os.O_RDWR)
    try:
        _lock(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such lock on Windows
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"run {path} is being written by another process") from None


def load(path: str | os.PathLike) -> Run:
    """Open a run directory, whoever wrote it; see `Run.open`."""
    return Run.open(path)
