"""A run directory: what is sampled, the draws, and where the run stands."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from geodrift._errors import InputError
from geodrift.driver._checkpoint import (
    Checkpoint,
    read_checkpoint,
    read_info,
    read_snapshot,
    write_checkpoint,
)
from geodrift.files import new_directory, read_json, write_json

if TYPE_CHECKING:
    import xarray as xr

    from geodrift.driver._draw_store import DrawStore

FORMAT_VERSION = 2
_WHAT = "a run directory"
# What `geodrift.sample` kept before it wrote run directories.
_OLD_CHECKPOINT = "checkpoint.json"


class Labels(NamedTuple):
    """Names of the places along a dimension of the draws, kept as text, one a line."""

    dimension: str
    file: str
    names: Sequence[str]


class Run:
    """A run directory, for reading; `geodrift.sample` and `geodrift.driver.fit_to_run` write draws into it.

    Made by `Run.create` or opened by `Run.open` (`geodrift.load`).

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
        from geodrift import __version__  # not yet set when this module is imported

        header = {
            "format": "geodrift-run",
            "format_version": FORMAT_VERSION,
            "geodrift": __version__,
        }
        files = {kept.dimension: {"file": kept.file, "lines": len(kept.names)} for kept in labels}
        with new_directory(Path(path)) as folder:
            for kept in labels:
                text = "\n".join(kept.names) + "\n"
                (folder / kept.file).write_text(text, encoding="utf-8", newline="\n")
            write_json(folder / "config.json", header | config | {"labels": files} | fill(folder))
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike) -> Self:
        """Open a run directory.

        Raises:
            InputError: Not a run directory, one cut off half-way, or one of another format.
        """
        path = Path(path)
        if not path.exists():
            raise InputError(f"run {path} does not exist")
        if (path / _OLD_CHECKPOINT).is_file():
            raise InputError(
                f"{path} is a checkpoint of an older geodrift, which this one does not read: finish it with"
                " the version that began it, or begin anew in another directory"
            )
        config = read_json(path / "config.json", _WHAT)
        version = config.get("format_version")
        if config.get("format") != "geodrift-run" or not isinstance(version, int):
            raise InputError(f"{path} is not {_WHAT}: its config.json is of something else")
        if version != FORMAT_VERSION:
            age, wanted = ("newer", "a newer geodrift") if version > FORMAT_VERSION else (
                "older", f"geodrift {config.get('geodrift', 'of that time')}"
            )  # fmt: skip
            raise InputError(
                f"{path} has run format {version}, {age} than the one this geodrift reads ({FORMAT_VERSION}):"
                f" read it with {wanted}, or fit anew"
            )
        return cls(
            path, config, {name: _read_labels(path, **kept) for name, kept in config["labels"].items()}
        )

    @property
    def num_chains(self) -> int:
        """Independent chains."""
        return int(self.config["chains"])

    @property
    def has_checkpoint(self) -> bool:
        """Whether the run was planned; one killed before has no `state`."""
        return self._checkpoint.is_file()

    @property
    def state(self) -> dict[str, Any]:
        """Where the run stands: `plan`, `draws` and `counts` of each chain, `total` steps, seconds."""
        if not self.has_checkpoint:
            raise InputError(f"run {self.path} has no checkpoint: it ended before the first; go on with it")
        return read_info(self._checkpoint)

    @property
    def num_draws(self) -> int:
        """Stored draws that every chain has."""
        return min(self.state["draws"])

    @property
    def draws(self) -> "xr.DataTree":
        """Posterior draws, read when used: each variable [chain, draw, ...] in its group."""
        # Imported here: xarray and zarr take half a second.
        from geodrift.driver._draw_store import open_draws

        number = self._need_draws()
        return open_draws(self.path / "draws.zarr", number, self.labels)

    def stacked(self, name: str) -> np.ndarray:
        """Draws of a variable of all chains one after the other, in memory, [draw, ...]."""
        values = self.draws["posterior"].to_dataset()[name].values
        return values.reshape(-1, *values.shape[2:])

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """What was measured on the way, one entry a chunk of steps."""
        size = self.state["metrics_bytes"]
        if not size:
            return []
        with (self.path / "metrics.jsonl").open("rb") as stream:
            return [json.loads(line) for line in stream.read(size).splitlines()]

    def snapshot(self, chain: int) -> dict[str, np.ndarray]:
        """What a chain of the run left of its last state for a reader, besides the draws; often nothing."""
        self._need_draws()
        return read_snapshot(self._checkpoint, chain)

    def update_config(self, **values: Any) -> None:
        """Replace entries of `config.json`."""
        self.config = self.config | values
        write_json(self.path / "config.json", self.config, overwrite=True)

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write `summary.json`."""
        write_json(self.path / "summary.json", summary, overwrite=True)

    def open_store(self, rows: Sequence[slice]) -> "DrawStore":
        """The draws, for appending, cut back to the last checkpoint; see `DrawStore`."""
        from geodrift.driver._draw_store import DrawStore

        counts = self.state["draws"] if self.has_checkpoint else None
        store = DrawStore(self.path / "draws.zarr", rows, counts)
        store.truncate()
        return store

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint."""
        write_checkpoint(self._checkpoint, checkpoint)

    def read_checkpoint(self) -> Checkpoint | None:
        """The last checkpoint; None before the first."""
        return read_checkpoint(self._checkpoint) if self.has_checkpoint else None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing to the run; the lock ends with the process, however it ends."""
        descriptor = os.open(self.path / ".lock", os.O_CREAT | os.O_RDWR)
        try:
            _lock(descriptor, self.path)
            yield
        finally:
            os.close(descriptor)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, kind={self.config['kind']!r}, chains={self.num_chains})"

    @property
    def _checkpoint(self) -> Path:
        return self.path / "checkpoint" / "state.npz"

    def _need_draws(self) -> int:
        number = self.num_draws
        if number == 0:
            raise InputError(f"run {self.path} has no draws yet: it is still in warm-up; go on with it")
        if not (self.path / "draws.zarr" / "posterior" / "zarr.json").is_file():
            raise InputError(f"run {self.path} is incomplete: draws.zarr is missing or cut off")
        return number


def _read_labels(path: Path, file: str, lines: int) -> list[str]:
    try:
        names = (path / file).read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise InputError(f"run {path} is incomplete: {file} is missing") from None
    except UnicodeDecodeError:
        raise InputError(f"run {path} was cut off or changed: {file} is not UTF-8 text") from None
    if names[-1] or len(names) - 1 != lines:
        raise InputError(f"run {path} was cut off or changed: {file} should have {lines} lines")
    return names[:-1]


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
