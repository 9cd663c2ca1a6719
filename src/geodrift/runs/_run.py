"""A run directory: what was fitted to what, the draws, and where the run stands."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

import geodrift
from geodrift.data import Corpus, InputError, read_vocabulary
from geodrift.files import new_directory, read_json, write_json
from geodrift.runs._checkpoint import (
    Checkpoint,
    read_checkpoint,
    read_info,
    read_snapshot,
    write_checkpoint,
)
from geodrift.runs._draws import DrawStore, open_draws

FORMAT_VERSION = 1
_WHAT = "a run directory"
_REQUIRED = ("vocabulary.txt", "document-frequencies.npy")


class Run:
    """A run directory, for reading; `fit_to_run` writes draws into it.

    Made by `Run.create` or opened by `Run.open` (`geodrift.load`).

    Attributes:
        path: The directory.
        config: Model, settings, seed, chains, corpus and plan, as in `config.json`.
        vocabulary: The word of each column.
    """

    def __init__(self, path: Path, config: dict[str, Any], vocabulary: list[str]):
        self.path = path
        self.config = config
        self.vocabulary = vocabulary

    @classmethod
    def create(
        cls,
        path: str | Path,
        config: dict[str, Any],
        vocabulary: Sequence[str],
        document_frequencies: np.ndarray,
        corpus: Corpus | None = None,
    ) -> Self:
        """Make a run directory.

        Args:
            path: Refused when it exists.
            config: JSON-able; needs `model` and `chains`.
            vocabulary: The word of each column.
            document_frequencies: Of the training part, int [V]: the weighting of new documents needs them.
            corpus: Saved inside the run when given, so that the run can be resumed without its input.

        Raises:
            InputError: Something stands at `path`.
        """
        path = Path(path)
        header = {
            "format": "geodrift-run",
            "format_version": FORMAT_VERSION,
            "geodrift": geodrift.__version__,
        }
        with new_directory(path) as folder:
            if corpus is not None:
                saved = corpus.save(folder / "corpus")
                config = config | {"corpus": {"path": "corpus", "checksum": saved.checksum}}
            (folder / "vocabulary.txt").write_text(
                "\n".join(vocabulary) + "\n", encoding="utf-8", newline="\n"
            )
            np.save(folder / "document-frequencies.npy", np.asarray(document_frequencies, dtype=np.int64))
            write_json(folder / "config.json", header | config)
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a run directory.

        Raises:
            InputError: Not a run directory, one cut off half-way, or one of a newer format.
        """
        path = Path(path)
        if not path.exists():
            raise InputError(f"run {path} does not exist")
        config = read_json(path / "config.json", _WHAT)
        version = config.get("format_version")
        if config.get("format") != "geodrift-run" or not isinstance(version, int):
            raise InputError(f"{path} is not {_WHAT}: its config.json is of something else")
        if version > FORMAT_VERSION:
            raise InputError(
                f"{path} has run format {version}, newer than this geodrift reads ({FORMAT_VERSION})"
            )
        for name in _REQUIRED:
            if not (path / name).is_file():
                raise InputError(f"run {path} is incomplete: {name} is missing")
        vocabulary = read_vocabulary(path / "vocabulary.txt")
        if len(vocabulary) != config.get("words", len(vocabulary)):
            raise InputError(
                f"run {path} was cut off or changed: vocabulary.txt should have {config['words']} lines"
            )
        return cls(path, config, vocabulary)

    @property
    def num_chains(self) -> int:
        """Independent chains."""
        return int(self.config["chains"])

    @property
    def document_frequencies(self) -> Int[np.ndarray, " V"]:
        """In how many training documents each word occurs."""
        return np.load(self.path / "document-frequencies.npy", allow_pickle=False)

    @property
    def has_checkpoint(self) -> bool:
        """Whether the run was planned; one killed before has no `state`."""
        return self._checkpoint.is_file()

    @property
    def state(self) -> dict[str, Any]:
        """Where the run stands: `draws` and `counts` of each chain, `total` steps, seconds."""
        if not self.has_checkpoint:
            raise InputError(
                f"run {self.path} has no checkpoint: it ended before the first (go on with geodrift resume)"
            )
        return read_info(self._checkpoint)

    @property
    def num_draws(self) -> int:
        """Stored draws that every chain has."""
        return min(self.state["draws"])

    @property
    def draws(self) -> xr.DataTree:
        """Posterior draws, read when used: group `posterior`, `topics` [chain, draw, topic, word]."""
        number = self._need_draws()
        return open_draws(self.path / "draws.zarr", number, self.vocabulary)

    @property
    def topics(self) -> Float[np.ndarray, "N K V"]:
        """Topic draws of all chains one after the other, in memory, not aligned."""
        topics = self.draws["posterior"].to_dataset()["topics"].values
        return topics.reshape(-1, *topics.shape[2:])

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """What was measured on the way, one entry a chunk of steps."""
        size = self.state["metrics_bytes"]
        with (self.path / "metrics.jsonl").open("rb") as stream:
            return [json.loads(line) for line in stream.read(size).splitlines()]

    def snapshot(self, chain: int) -> dict[str, np.ndarray]:
        """What the model keeps of a chain's last state, beside the draws: nothing for most models.

        Latent Dirichlet allocation keeps `expected_topics`, the topics' mean given the last assignments.
        """
        self._need_draws()
        return read_snapshot(self._checkpoint, chain)

    def corpus(self) -> Corpus:
        """The corpus of the run.

        Raises:
            InputError: It is gone, or no longer the one that was fitted.
        """
        place = self.path / self.config["corpus"]["path"]
        corpus = Corpus.open(place)
        if corpus.checksum != self.config["corpus"]["checksum"]:
            raise InputError(
                f"corpus {place} is not the one run {self.path} was fitted to (checksum differs)"
            )
        return corpus

    def update_config(self, **values: Any) -> None:
        """Replace entries of `config.json`."""
        self.config = self.config | values
        write_json(self.path / "config.json", self.config, overwrite=True)

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write `summary.json`."""
        write_json(self.path / "summary.json", summary, overwrite=True)

    def open_store(self) -> DrawStore:
        """The draws, for appending, cut back to the last checkpoint."""
        counts = self.state["draws"] if self.has_checkpoint else None
        store = DrawStore(self.path / "draws.zarr", self.num_chains, counts)
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
        return f"Run({str(self.path)!r}, model={self.config['model']!r}, chains={self.num_chains})"

    @property
    def _checkpoint(self) -> Path:
        return self.path / "checkpoint" / "state.npz"

    def _need_draws(self) -> int:
        number = self.num_draws
        if number == 0:
            raise InputError(
                f"run {self.path} has no draws yet: it is still in warm-up (go on with geodrift resume)"
            )
        if not (self.path / "draws.zarr" / "posterior" / "zarr.json").is_file():
            raise InputError(f"run {self.path} is incomplete: draws.zarr is missing or cut off")
        return number


def _lock(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such lock on Windows
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"run {path} is being written by another process") from None


def load(path: str | Path) -> Run:
    """Open a run directory; see `Run.open`."""
    return Run.open(path)
