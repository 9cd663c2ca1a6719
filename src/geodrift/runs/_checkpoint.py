"""The checkpoint of a run: one file that is replaced in one rename, holding every chain's state."""

import json
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from geodrift._errors import InputError
from geodrift.files import write_arrays

_INFO = "info.json"
_SNAPSHOT = "snapshot"


class Checkpoint(NamedTuple):
    """Where a run stands."""

    states: list[dict[str, np.ndarray]]  # one a chain
    info: dict[str, Any]  # draws, counts, metrics_bytes, ...
    snapshots: Sequence[dict[str, np.ndarray]] = ()  # one a chain, or none


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
    text = json.dumps(checkpoint.info).encode()
    arrays[_INFO] = np.frombuffer(text, dtype=np.uint8)
    path.parent.mkdir(exist_ok=True)
    write_arrays(path, arrays, overwrite=True)


def read_info(path: Path) -> dict[str, Any]:
    """The small part of a checkpoint."""
    return _read(path, lambda key: False)[0]


def read_snapshot(path: Path, chain: int) -> dict[str, np.ndarray]:
    """What a chain's engine left for a reader; nothing in a checkpoint without it."""
    start = f"{_SNAPSHOT}/{chain}/"
    arrays = _read(path, lambda key: key.startswith(start))[1]
    return {key.removeprefix(start): value for key, value in arrays.items()}


def read_checkpoint(path: Path) -> Checkpoint:
    """Read what a run goes on from; InputError when it is damaged."""
    info, arrays = _read(path, lambda key: key != _INFO and not key.startswith(_SNAPSHOT))
    states: list[dict[str, np.ndarray]] = [{} for _ in info["draws"]]
    for key, value in arrays.items():
        chain, _, name = key.partition("/")
        states[int(chain)][name] = value
    return Checkpoint(states, info)


def _read(path: Path, wanted: Callable[[str], bool]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The small part, and the arrays whose names are wanted."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return json.loads(stored[_INFO].tobytes()), {
                key: stored[key] for key in stored.files if wanted(key)
            }
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"checkpoint {path} is damaged ({error})") from None
