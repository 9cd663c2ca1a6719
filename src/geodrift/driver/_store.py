"""A run on disk: its settings, its last state and the draws so far.

``checkpoint.json`` is there from the start, is renamed into place last, and names the files that count; any
other file is a rest of a process that was killed between two writes.
"""

from os import PathLike
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from geodrift import files
from geodrift._types import RandomKey
from geodrift.driver import _pytrees
from geodrift.driver._batches import Batching
from geodrift.samplers import Sampler, StepInfo

_FORMAT = 2
_MANIFEST = "checkpoint.json"


def settings_of(
    key: RandomKey, sampler: Sampler, data: PyTree, batching: Batching, *, initial: Any, **counts: int
) -> dict[str, Any]:
    """Everything that determines the draws: functions by their names, arrays by their digests."""
    return {
        "format": _FORMAT,
        "key": str(jax.random.key_impl(key)) + _pytrees.digest(jax.random.key_data(key)),
        "sampler": eqx.tree_pformat(sampler, width=10_000),
        "sampler arrays": _pytrees.digest(jax.tree.leaves(eqx.filter(sampler, eqx.is_array))),
        "data": _pytrees.digest(data),
        "batch_size": batching.batch_size,
        "replacement": batching.replacement,
        "batches": batching.scheme,
        "initial": _pytrees.digest(initial),
        **counts,
    }


def kept_settings(directory: str | PathLike) -> dict[str, Any]:
    """The settings of the run in a directory; empty where there is none: `DrawStore` says why."""
    try:
        kept = files.read_json(Path(directory) / _MANIFEST, "a run")
    except (OSError, ValueError):
        return {}
    return kept.get("settings", {}) if isinstance(kept, dict) else {}


class DrawStore:
    """The checkpoint directory of a run.

    Args:
        directory: Made when it is not there.
        settings: From `settings_of`.

    Raises:
        ValueError: The directory holds a run with other settings, or files that are no checkpoint.
    """

    def __init__(self, directory: str | PathLike, settings: dict[str, Any]) -> None:
        self.directory, self.settings = Path(directory), settings
        self.pieces: list[str] = []
        self.state_file = ""
        self.directory.mkdir(parents=True, exist_ok=True)
        if not self._manifest.exists():
            self._claim()
            return
        kept_settings = self._read_manifest()["settings"]
        names = sorted(kept_settings.keys() | settings.keys())
        differing = [name for name in names if kept_settings.get(name) != settings.get(name)]
        if differing:
            raise ValueError(
                f"checkpoint = {str(directory)!r}: holds a run with another {', '.join(differing)}; "
                "give the settings of that run, or another directory"
            )

    @property
    def exists(self) -> bool:
        """Whether steps of a run are kept here."""
        return self._read_manifest()["state"] is not None

    def load(self, state: Any, num_draws: int) -> tuple[int, Any, list[tuple[PyTree, StepInfo]]]:
        """Steps taken, the state after them, and the draws in pieces ``[draw, chain, ...]``.

        Args:
            state: A state of the same structure.
            num_draws: Draws wanted.

        Raises:
            ValueError: More draws than that are kept, or the arrays do not fit.
        """
        kept = self._read_manifest()
        self.pieces, self.state_file = kept["draws"], kept["state"]
        arrays = files.read_arrays(self.directory / self.state_file, "draws")
        restored = jax.tree.map(jnp.asarray, _pytrees.unflatten_arrays("state", arrays, state))
        pieces = [self._read_piece(name, state) for name in self.pieces]
        stored = sum(len(info.result) for _, info in pieces)
        if stored > num_draws:
            raise ValueError(f"num_draws = {num_draws}: the checkpoint holds {stored} draws already")
        return kept["steps"], restored, pieces

    def save(self, steps: int, state: Any, piece: tuple[PyTree, StepInfo] | None) -> None:
        """Keep the state after ``steps`` steps and the draws that are new."""
        if piece is not None:
            position, info = piece
            name = f"draws-{len(self.pieces):06d}.npz"
            arrays = _pytrees.flatten_arrays("position", position) | info._asdict()
            files.write_arrays(self.directory / name, arrays, overwrite=True)
            self.pieces.append(name)
        before, self.state_file = self.state_file, f"state-{steps:012d}.npz"
        files.write_arrays(
            self.directory / self.state_file, _pytrees.flatten_arrays("state", state), overwrite=True
        )
        self._write_manifest(steps)
        if before:
            (self.directory / before).unlink(missing_ok=True)

    @property
    def _manifest(self) -> Path:
        return self.directory / _MANIFEST

    def _claim(self) -> None:
        """Make the directory ours, before the first step; what is in it is left alone."""
        # A process may have been killed while it wrote the first manifest.
        if any(not path.name.startswith(".checkpoint") for path in self.directory.iterdir()):
            raise ValueError(
                f"checkpoint = {str(self.directory)!r}: holds files and no checkpoint.json; give an empty or"
                " a new directory"
            )
        self._write_manifest(0)

    def _write_manifest(self, steps: int) -> None:
        state = self.state_file or None
        content = {"settings": self.settings, "steps": steps, "state": state, "draws": self.pieces}
        files.write_json(self._manifest, content, overwrite=True)

    def _read_manifest(self) -> dict[str, Any]:
        try:
            kept = files.read_json(self._manifest, "a run")
        except ValueError:
            kept = None
        if not isinstance(kept, dict) or kept.keys() != {"settings", "steps", "state", "draws"}:
            raise ValueError(
                f"checkpoint = {str(self.directory)!r}: its checkpoint.json is not of a run of ours; give an"
                " empty or a new directory"
            )
        return kept

    def _read_piece(self, name: str, state: Any) -> tuple[PyTree, StepInfo]:
        arrays = files.read_arrays(self.directory / name, "draws")
        info = StepInfo(*(arrays[field] for field in StepInfo._fields))
        leaves, structure = jax.tree.flatten(state.position)
        position = [np.asarray(arrays[f"position{i}"]) for i in range(len(leaves))]
        return jax.tree.unflatten(structure, position), info
