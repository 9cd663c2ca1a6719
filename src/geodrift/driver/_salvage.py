"""What the files of draws tell of themselves where the checkpoint that knew them is lost."""

import json
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from jaxtyping import Int

from geodrift._errors import InputError
from geodrift.driver._checked_store import CheckedStore
from geodrift.driver._known_draws import (
    NO_FILE,
    KnownDraws,
    chunk_key,
    nodes_on_disk,
    sum_of_file,
    without_shape,
)
from geodrift.driver._run_config import DRAWS, METRICS

LOST = 0  # the checksum of a file that should be there, of which no file's is likely


def salvaged_draws(path: Path) -> KnownDraws:
    """What a checkpoint would know of the draws of a run directory.

    Every chunk has a checksum of its own and every draw was written, so that draws that are damaged or
    missing are found as under a checkpoint. A row ends with its last draw that is not the fill value.

    Raises:
        InputError: Zarr's metadata are damaged too.
    """
    folder = path / DRAWS
    try:
        nodes = nodes_on_disk(folder)
        shapes = {name: list(node["shape"]) for name, node in nodes.items() if "shape" in node}
        sums = {name: _sums(folder, name, nodes[name]) for name in shapes}
        longest = np.array([shape[1] for shape in shapes.values()])
        rows = np.array([shape[0] for shape in shapes.values()])
        if not shapes or np.ptp(longest) or np.ptp(rows):
            raise ValueError("arrays differ in chains or draws")
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise InputError(f"{folder}: zarr's metadata are damaged ({error})") from None
    nodes = {folder: without_shape(node) for folder, node in nodes.items()}
    tails = {name: np.zeros(rows[0], np.int64) for name in shapes}
    all_draws = KnownDraws(nodes, shapes, np.full(rows[0], longest[0], np.int64), sums, tails)
    counts = np.array([_count(path, all_draws, row) for row in range(rows[0])], np.int64)
    return all_draws._replace(counts=counts).cut(int(longest[0]), set(shapes))


def _sums(folder: Path, name: str, node: dict[str, Any]) -> Int[np.ndarray, "chain chunk ..."]:
    if {"name": "crc32c"} not in node["codecs"]:
        raise ValueError(f"{name} has no checksums")
    chunk = node["chunk_grid"]["configuration"]["chunk_shape"]
    sums = np.full([math.ceil(size / of) for size, of in zip(node["shape"], chunk, strict=True)], NO_FILE)
    for place in np.ndindex(sums.shape):
        sums[place] = sum_of_file(folder / chunk_key(name, place))
        if sums[place] == NO_FILE and not any(place[2:]):
            sums[place] = LOST  # values whose length varies have further chunks where they are long
    return sums


def _count(path: Path, known: KnownDraws, row: int) -> int:
    """The number of draws of a row."""
    return max(_last_value(path, known, name, row) for name in known.shapes)


def _last_value(path: Path, known: KnownDraws, name: str, row: int) -> int:
    store = CheckedStore(path, path / DRAWS, known)
    array, stop = zarr.open_array(store, path=name, mode="r"), known.shapes[name][1]
    while stop:
        start = (stop - 1) // array.chunks[1] * array.chunks[1]
        if known.sums[name][(row, start // array.chunks[1], *(0 for _ in array.shape[2:]))] == LOST:
            stop = start  # lost, or this row has fewer draws than others
            continue
        try:
            values = np.asarray(array[row, start:stop]).reshape(stop - start, -1)
        except (ValueError, RuntimeError):
            return stop  # damaged, as will be found
        fill = np.asarray(array.fill_value)
        empty = (values == fill) | ((values != values) & (fill != fill))
        if not empty.all():
            return start + int(np.flatnonzero(~empty.all(axis=1))[-1]) + 1
        stop = start
    return 0


def salvaged_metrics(path: Path) -> dict[str, int]:
    """The part of the metrics that consists of whole lines, as a checkpoint tells it."""
    size, content = 0, b""
    if (path / METRICS).exists():
        content = (path / METRICS).read_bytes()
    for line in content.splitlines(keepends=True):
        try:
            if not line.endswith(b"\n") or not isinstance(json.loads(line), dict):
                break
        except ValueError:
            break
        size += len(line)
    return {"metrics_bytes": size, "metrics_sum": zlib.crc32(content[:size])}
