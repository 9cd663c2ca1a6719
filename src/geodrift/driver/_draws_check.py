"""Comparison of the draws on disk with what a checkpoint knows of them."""

import zlib
from pathlib import Path

import numpy as np
import zarr
from jaxtyping import Int

from geodrift.driver._checked_store import CheckedStore, whole_chunk
from geodrift.driver._damage import CHANGED, MISSING, damaged, keeps_any
from geodrift.driver._known_draws import NO_FILE, KnownDraws, sum_of_file
from geodrift.files import Damage


def last_chunks_damage(run: Path, folder: Path, known: KnownDraws) -> list[Damage]:
    """What is wrong in the last chunks of the rows, which are known by the values of the draws that count.

    Args:
        run: The run directory.
        folder: `draws.zarr`.
        known: Of the checkpoint.
    """
    found = []
    for name in known.shapes:
        changed: dict[int, list[Damage]] = {}
        for key, place, value in known.files(name):
            if known.is_last(name, place) and (now := sum_of_file(folder / key)) != value:
                what = MISSING if now == NO_FILE else CHANGED
                changed.setdefault(place[0], []).append(Damage(folder / key, what))
        for row, damages in changed.items():
            array = zarr.open_array(CheckedStore(run, folder, known), path=name, mode="r")
            if not _has_tail(array, known, name, row):
                found += damages
    return found


def _has_tail(array: zarr.Array, known: KnownDraws, name: str, row: int) -> bool:
    try:
        return tail_sum(array, row, int(known.counts[row])) == int(known.tails[name][row])
    except (ValueError, RuntimeError):  # another chunk, of which zarr makes nothing
        return False


def tail_sum(array: zarr.Array, row: int, count: int) -> int:
    """CRC-32 of the values of the draws that count in the last chunk of a row."""
    return int(tail_sums(array, slice(row, row + 1), count)[0])


def tail_sums(array: zarr.Array, rows: slice, count: int) -> Int[np.ndarray, " row"]:
    """The same of several rows that hold as many draws."""
    start = count // array.chunks[1] * array.chunks[1]
    values = np.asarray(array[rows, start:count])
    return np.array([zlib.crc32(np.ascontiguousarray(row).data) for row in values], np.int64)


def open_checked(run: Path, folder: Path, known: KnownDraws) -> CheckedStore:
    """The store, for a checkpoint whose last chunks are there.

    Raises:
        InputError: A last chunk is missing or damaged.
    """
    found = last_chunks_damage(run, folder, known) if folder.is_dir() else [Damage(folder, MISSING)]
    if found:
        kept = folder.is_dir() and all(keeps_any(d.file.relative_to(folder).as_posix()) for d in found)
        raise damaged(run, found[0], kept=kept)
    return CheckedStore(run, folder, known)


def draws_damage(run: Path, folder: Path, known: KnownDraws) -> dict[str, Damage]:
    """Every file of the draws that is not as the checkpoint knows it, by its path in the store."""
    found = {d.file.relative_to(folder).as_posix(): d for d in last_chunks_damage(run, folder, known)}
    for name in known.shapes:
        for key, place, value in known.files(name):
            expected = None if known.is_last(name, place) else value
            content, what = whole_chunk(folder / key, expected)
            if content is None:
                found[key] = Damage(folder / key, what)
    return found
