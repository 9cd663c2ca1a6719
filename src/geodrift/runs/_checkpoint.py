"""The checkpoint of a run: one file that is replaced in one rename, holding every chain's state."""

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from geodrift.data import InputError
from geodrift.data._files import write_arrays

_INFO = "info.json"


class Checkpoint(NamedTuple):
    """Where a run stands."""

    states: list[dict[str, np.ndarray]]  # one a chain
    info: dict[str, Any]  # draws, counts, metrics_bytes, ...


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint at `path`."""
    arrays = {
        f"{chain}/{name}": np.asarray(value)
        for chain, state in enumerate(checkpoint.states)
        for name, value in state.items()
    }
    text = json.dumps(checkpoint.info).encode()
    arrays[_INFO] = np.frombuffer(text, dtype=np.uint8)
    path.parent.mkdir(exist_ok=True)
    write_arrays(path, arrays, overwrite=True)


def read_info(path: Path) -> dict[str, Any]:
    """The small part of a checkpoint."""
    return _read(path, states=False).info


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint; InputError when it is damaged."""
    return _read(path, states=True)


def _read(path: Path, *, states: bool) -> Checkpoint:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            info = json.loads(stored[_INFO].tobytes())
            found: list[dict[str, np.ndarray]] = [{} for _ in info["draws"]]
            for key in stored.files if states else ():
                chain, separator, name = key.partition("/")
                if separator:
                    found[int(chain)][name] = stored[key]
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"checkpoint {path} is damaged ({error})") from None
    return Checkpoint(found, info)
