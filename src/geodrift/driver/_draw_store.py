"""Posterior draws on disk: a Zarr directory in the layout of an ArviZ data tree, appended by a run."""

import itertools
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec

from geodrift.driver._chain import Variable
from geodrift.driver._checked_store import CheckedStore
from geodrift.driver._draws_check import tail_sums
from geodrift.driver._host_chain import fill_value
from geodrift.driver._known_draws import (
    NO_FILE,
    KnownDraws,
    chunk_key,
    nodes_on_disk,
    nothing_known,
    sum_of_file,
    without_shape,
)
from geodrift.files import room_for, sync_directory, sync_tree

CHUNK_BYTES = 2**20  # of a Zarr chunk, about; a larger draw is a chunk of its own
PENDING_BYTES = 64 * 2**20  # of draws that wait in memory for the next flush
_DEFAULT_GROUP = "posterior"
# Every chunk of draws has a file: one that is missing is lost, not full of nothing.
_CONFIG: Any = {"write_empty_chunks": True}


class DrawStore:
    """`draws.zarr` of a run: each variable [chain, draw, ...] in its group.

    Draws wait in memory until `flush`. Zarr replaces a chunk's file in one rename, so a process that is
    killed leaves the old chunk or the new one; draws beyond ``counts`` are the rest of an interrupted run.

    Args:
        path: The Zarr directory; made at the first flush.
        rows: The rows of the chain axis that each chain of the run fills.
        known: What the last checkpoint knows of it, and finds whole; None: a new run.
    """

    def __init__(self, path: Path, rows: Sequence[slice], known: KnownDraws | None = None) -> None:
        self.path, self.rows = path, list(rows)
        new = known is None or not known.counts.any()
        self._known = nothing_known(self.rows[-1].stop) if new else known
        self.counts = [int(self._known.counts[rows.start]) for rows in self.rows]
        self._flushed = list(self.counts)
        self._pending: list[list[dict[str, np.ndarray]]] = [[] for _ in self.rows]
        self._arrays: dict[str, zarr.Array] = {}
        # A run that is killed while the directory is made leaves one that cannot be opened, and no counts.
        if any(self.counts):
            self._arrays = {
                name: zarr.open_array(path, path=name, mode="r+", config=_CONFIG)
                for name in self._known.shapes
            }

    @property
    def known(self) -> KnownDraws:
        """What the next checkpoint knows of the draws that were flushed."""
        counts = np.zeros(self.rows[-1].stop, np.int64)
        for rows, count in zip(self.rows, self._flushed, strict=True):
            counts[rows] = count
        shapes = {name: list(array.shape) for name, array in self._arrays.items()}
        return self._known._replace(shapes=shapes, counts=counts)

    def append(self, index: int, draws: dict[str, np.ndarray], variables: dict[str, Variable]) -> None:
        """Add draws of chain number ``index`` of the run, [draw, chain, ...] each."""
        if not draws:
            return
        if not self._arrays:
            self._create(variables)
        self._pending[index].append({_path(name): values for name, values in draws.items()})
        self.counts[index] += len(next(iter(draws.values())))
        if self._waiting() > PENDING_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the draws that wait, and make them durable.

        Raises:
            StorageFullError: The disk is full.
        """
        with room_for(self.path, self._waiting()):
            self._flush()

    def _waiting(self) -> int:
        """Bytes of the draws that wait."""
        return sum(a.nbytes for waiting in self._pending for piece in waiting for a in piece.values())

    def _flush(self) -> None:
        longest = max(self.counts)
        touched = []
        before = {name: array.shape[2:] for name, array in self._arrays.items()}
        for name, array in self._arrays.items():
            if array.shape[1] < longest:
                array.resize((array.shape[0], longest, *array.shape[2:]))
            for index, waiting in enumerate(self._pending):
                if waiting:
                    self._write(array, index, _together([piece[name] for piece in waiting], array.fill_value))
                    touched += self._files(name, index)
        for path in touched:
            if path.exists():
                (sync_tree if path.is_dir() else sync_directory)(path)
        grown = any(array.shape[2:] != before[name] for name, array in self._arrays.items())
        for index, waiting in enumerate(self._pending):
            if waiting or grown:  # a last chunk's values are known as far as they are stored
                self._learn(index, self._flushed[index])
        self._flushed, self._pending = list(self.counts), [[] for _ in self.rows]

    def truncate(self) -> None:
        """Remove what lies beyond the counts: it was written after the last checkpoint."""
        longest = max(self.counts)
        if not longest:
            shutil.rmtree(self.path, ignore_errors=True)
            return
        for name, array in self._arrays.items():
            array.resize(tuple(self._known.shapes[name]))
            for rows, count in zip(self.rows, self.counts, strict=True):
                if count < longest:
                    array[rows, count:] = array.fill_value
        for index, count in enumerate(self.counts):
            self._learn(index, count)

    def read(self, index: int) -> dict[str, np.ndarray]:
        """The draws that count of chain number ``index``, [draw, chain, ...] each."""
        rows, count = self.rows[index], self.counts[index]
        return {
            name.removeprefix(f"{_DEFAULT_GROUP}/"): np.swapaxes(np.asarray(array[rows, :count]), 0, 1)
            for name, array in self._arrays.items()
        }

    def _write(self, array: zarr.Array, index: int, values: np.ndarray) -> None:
        inner = tuple(max(sizes) for sizes in zip(array.shape[2:], values.shape[2:], strict=True))
        if inner != array.shape[2:]:
            array.resize((*array.shape[:2], *inner))
        start = self._flushed[index]
        draws = slice(start, start + len(values))
        place = (self.rows[index], draws, *(slice(size) for size in values.shape[2:]))
        array[place] = np.swapaxes(values, 0, 1)

    def _learn(self, index: int, first: int) -> None:
        """Take note of the chunks of chain number ``index`` that hold draws from number ``first`` on."""
        rows, count = self.rows[index], self.counts[index]
        for name, array in self._arrays.items():
            sums = self._known.sums[name]
            grid = [math.ceil(size / chunk) for size, chunk in zip(array.shape, array.chunks, strict=True)]
            grown = [(0, max(0, size - known)) for size, known in zip(grid, sums.shape, strict=True)]
            self._known.sums[name] = sums = np.pad(sums, grown, constant_values=NO_FILE)
            chunks = range(first // array.chunks[1], math.ceil(count / array.chunks[1]))
            for place in itertools.product(range(rows.start, rows.stop), chunks, *map(range, sums.shape[2:])):
                sums[place] = sum_of_file(self.path / chunk_key(name, place))
            self._known.tails[name][rows] = tail_sums(array, rows, count)

    def _files(self, name: str, index: int) -> list[Path]:
        """What the last write may have changed on the disk."""
        folder, size = self.path / name, self._arrays[name].chunks[1]
        first, last = self._flushed[index] // size, max(0, self.counts[index] - 1) // size
        rows = [folder / "c" / str(row) for row in range(self.rows[index].start, self.rows[index].stop)]
        chunks = [row / str(chunk) for row in rows for chunk in range(first, last + 1)]
        return [*chunks, *(row / "." for row in rows), folder / "zarr.json"]

    def _create(self, variables: dict[str, Variable]) -> None:
        root = zarr.open_group(self.path, mode="w", zarr_format=3)
        for name, variable in variables.items():
            group, _, short = _path(name).partition("/")
            shape = tuple(size or 0 for size in variable.shape)
            chunk = tuple(max(1, size) if size is not None else 64 for size in variable.shape)
            size = math.prod(chunk) * np.dtype(variable.dtype).itemsize
            self._arrays[f"{group}/{short}"] = root.require_group(group).create_array(
                short,
                shape=(self.rows[-1].stop, 0, *shape),
                chunks=(1, max(1, CHUNK_BYTES // size), *chunk),
                dtype=variable.dtype,
                compressors=[ZstdCodec(), Crc32cCodec()],
                fill_value=fill_value(variable.dtype),
                dimension_names=("chain", "draw", *variable.dims),
                config=_CONFIG,
            )
        self._known = self._known._replace(
            nodes={folder: without_shape(node) for folder, node in nodes_on_disk(self.path).items()},
            sums={name: np.zeros((0,) * len(array.shape), np.int64) for name, array in self._arrays.items()},
            tails={name: np.zeros(len(self._known.counts), np.int64) for name in self._arrays},
        )


def _together(pieces: list[np.ndarray], missing: Any) -> np.ndarray:
    """Pieces of draws in one array, as wide as the widest: writing takes milliseconds, whatever its size."""
    if len(pieces) == 1:
        return pieces[0]
    inner = tuple(max(sizes) for sizes in zip(*(piece.shape[1:] for piece in pieces), strict=True))
    found = np.full((sum(map(len, pieces)), *inner), missing, pieces[0].dtype)
    start = 0
    for piece in pieces:
        found[(slice(start, start + len(piece)), *map(slice, piece.shape[1:]))] = piece
        start += len(piece)
    return found


def _path(name: str) -> str:
    return name if "/" in name else f"{_DEFAULT_GROUP}/{name}"


def open_draws(store: CheckedStore, num_draws: int, labels: dict[str, list[str]]) -> xr.DataTree:
    """The first ``num_draws`` draws of every chain, read when they are used.

    Args:
        store: The draws on disk.
        num_draws: Draws of each chain.
        labels: Names of the places along a dimension; others are numbered.
    """
    source: Any = store  # xarray's types know of paths alone
    tree = xr.open_datatree(source, engine="zarr", consolidated=False)
    groups = {}
    for name, node in tree.children.items():
        found = node.to_dataset().isel(draw=slice(0, num_draws))
        coordinates = {
            str(dim): np.array(labels[dim], dtype=np.str_) if dim in labels else np.arange(size)
            for dim, size in found.sizes.items()
        }
        groups[f"/{name}"] = found.assign_coords(coordinates)
    return xr.DataTree.from_dict(groups)
