"""The checkpoint of a run: one file that is replaced in one rename, holding every chain's state."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from geodrift._errors import InputError
from geodrift.files import read_arrays, write_arrays

_INFO = "info.json"
_SNAPSHOT = "snapshot"
_WHAT = "checkpoint"


class Checkpoint(NamedTuple):
    """Where a run stands."""

    states: list[dict[str, np.ndarray]]  # one for each chain of the run
    info: dict[str, Any]  # identity, plan, counts, draws, metrics_bytes, seconds
    snapshots: Sequence[dict[str, np.ndarray]] = ()  # one for each chain, or none


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint at `path`."""
    arrays = {
        f"{chain}/{name}": np.asarray(value)
        for chain, state in enumerate(checkpoint.states)
        for name, value in state.items()
    }
    arrays |= {
        f"{_SNAPSHOT}/{chain}/{name}": np.asarray(value)
        for chain, snapshot in enumerate(checkpoint.snapshots)
        for name, value in snapshot.items()
    }
    arrays[_INFO] = np.frombuffer(json.dumps(checkpoint.info).encode(), dtype=np.uint8)
    path.parent.mkdir(exist_ok=True)
    write_arrays(path, arrays, overwrite=True)


def read_info(path: Path) -> dict[str, Any]:
    """The small part of a checkpoint."""
    return _read(path, lambda key: False)[0]


def read_snapshot(path: Path, chain: int) -> dict[str, np.ndarray]:
    """What a chain left for a reader; nothing in a checkpoint without it."""
    start = f"{_SNAPSHOT}/{chain}/"
    arrays = _read(path, lambda key: key.startswith(start))[1]
    return {key.removeprefix(start): value for key, value in arrays.items()}


def read_checkpoint(path: Path) -> Checkpoint:
    """Read what a run goes on from; InputError when it is damaged."""
    info, arrays = _read(path, lambda key: not key.startswith(_SNAPSHOT))
    states: list[dict[str, np.ndarray]] = [{} for _ in info["draws"]]
    for key, value in arrays.items():
        chain, _, name = key.partition("/")
        states[int(chain)][name] = value
    return Checkpoint(states, info)


def _read(path: Path, wanted: Callable[[str], bool]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The small part, and the arrays whose names are wanted."""
    arrays = read_arrays(path, _WHAT, lambda name: name == _INFO or wanted(name))
    try:
        return json.loads(arrays.pop(_INFO).tobytes()), arrays
    except (ValueError, KeyError) as error:
        raise InputError(f"{_WHAT} {path} is damaged ({error})") from None
