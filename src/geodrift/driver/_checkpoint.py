"""The checkpoint of a run: one file that is replaced in one rename, holding every chain's state."""

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from geodrift.driver._damage import damaged
from geodrift.driver._known_draws import KnownDraws, nothing_known
from geodrift.files import Damage, check_seal, read_arrays, sealed, write_arrays

_INFO = "info.json"
_DRAWS = "draws/"
_WHAT = "checkpoint"
_NEEDED = {"run", "config", "draws", "metrics_bytes", "metrics_sum", "known", "arrays"}


class Checkpoint(NamedTuple):
    """Where a run stands."""

    states: list[dict[str, np.ndarray]]  # one for each chain of the run
    info: dict[str, Any]  # the run's id and config, plan, counts, draws, metrics_bytes, seconds
    known: KnownDraws = nothing_known(1)


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint at `path`."""
    arrays = {
        f"{chain}/{name}": np.asarray(value)
        for chain, state in enumerate(checkpoint.states)
        for name, value in state.items()
    }
    arrays |= {_DRAWS + name: values for name, values in checkpoint.known.as_arrays().items()}
    # The file has checksums of its own, of each array; they would not tell an array of another checkpoint.
    sums = {name: _sum(value) for name, value in arrays.items()}
    info = sealed(checkpoint.info | {"known": checkpoint.known.as_info(), "arrays": sums})
    arrays[_INFO] = np.frombuffer(json.dumps(info).encode(), dtype=np.uint8)
    path.parent.mkdir(exist_ok=True)
    write_arrays(path, arrays, overwrite=True)


def read_info(path: Path) -> dict[str, Any]:
    """The small part of a checkpoint."""
    return _read(path, lambda key: False)[0]


def read_known(path: Path) -> tuple[dict[str, Any], KnownDraws]:
    """The small part, and what is known of the draws."""
    info, arrays = _read(path, lambda key: key.startswith(_DRAWS))
    return info, _known(info, arrays)


def read_checkpoint(path: Path) -> Checkpoint:
    """All of a checkpoint; InputError when it is damaged."""
    info, arrays = _read(path, lambda key: True)
    states: list[dict[str, np.ndarray]] = [{} for _ in info["draws"]]
    for key, value in arrays.items():
        if not key.startswith(_DRAWS):
            chain, _, name = key.partition("/")
            states[int(chain)][name] = value
    return Checkpoint(states, info, _known(info, arrays))


def _known(info: dict[str, Any], arrays: dict[str, np.ndarray]) -> KnownDraws:
    found = {key.removeprefix(_DRAWS): values for key, values in arrays.items() if key.startswith(_DRAWS)}
    return KnownDraws.of(info["known"], found)


def _read(path: Path, wanted: Callable[[str], bool]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The small part, and the arrays whose names are wanted."""
    try:
        arrays = read_arrays(path, _WHAT, lambda name: name == _INFO or wanted(name))
        info = json.loads(arrays.pop(_INFO).tobytes())
        check_seal(path, info)
        if not info.keys() >= _NEEDED:
            raise KeyError(min(_NEEDED - info.keys()))
        expected = {name: value for name, value in info["arrays"].items() if wanted(name)}
        wrong = [name for name, value in expected.items() if _sum(arrays.get(name)) != value]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = str(error).partition(f"{path} ")[2] or f"is damaged ({error})"
        raise damaged(path.parents[1], Damage(path, reason)) from None
    if wrong:
        raise damaged(path.parents[1], Damage(path, f"is damaged ({wrong[0]} is not as it was written)"))
    return info, arrays


def _sum(array: np.ndarray | None) -> int | None:
    """CRC-32 of an array's bytes; None of none."""
    return None if array is None else zlib.crc32(np.ascontiguousarray(array).data)
