"""Posterior draws on disk: a Zarr group with one chunk a draw, appended while the run goes on."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr
import zarr

from geodrift.files import sync_directory, sync_tree

# Dimensions of arrays that are known by name; others get <name>_dim_0 and so on, as in ArviZ.
_DIMENSIONS = {"topics": ("topic", "word"), "doc_topic_prior": ("topic",)}
_COORDINATE = "draw"


class DrawStore:
    """`draws.zarr` of a run: group `posterior`, each variable [chain, draw, ...].

    Args:
        path: The Zarr directory; made at the first draw.
        num_chains: Length of the chain axis.
        counts: Draws of each chain that count; anything beyond is a rest of an interrupted run.
    """

    def __init__(self, path: Path, num_chains: int, counts: Sequence[int] | None = None):
        self.path = path
        self.counts = list(counts) if counts is not None else [0] * num_chains
        self._num_chains = num_chains
        self._arrays: dict[str, zarr.Array] = {}
        self._unsynced: list[Path] = []
        # A run that is killed while the directory is made leaves one that cannot be opened, and no counts.
        if any(self.counts) and path.exists():
            posterior = zarr.open_group(path, mode="r+").get("posterior")
            if isinstance(posterior, zarr.Group):
                self._arrays = dict(posterior.arrays())

    def append(self, chain: int, draws: list[dict[str, np.ndarray]]) -> None:
        """Add draws to a chain, in one block."""
        if not draws:
            return
        if not self._arrays:
            self._create(draws[0])
        start = self.counts[chain]
        stop = start + len(draws)
        if stop > self._arrays[_COORDINATE].shape[0]:
            self._resize(stop)
        for name in draws[0]:
            self._arrays[name][chain, start:stop] = np.stack([np.asarray(draw[name]) for draw in draws])
            self._unsynced += [self._chunk(name, chain, draw) for draw in range(start, stop)]
        self.counts[chain] = stop

    def truncate(self) -> None:
        """Remove what lies beyond the counts: it was written after the last checkpoint."""
        if not any(self.counts):
            shutil.rmtree(self.path, ignore_errors=True)
            self._arrays = {}
            return
        longest = max(self.counts)
        self._resize(longest)
        for name, array in self._arrays.items():
            for chain, count in enumerate(self.counts):
                if name != _COORDINATE and count < longest:
                    array[chain, count:] = array.fill_value

    def sync(self) -> None:
        """Make everything appended so far durable."""
        for path in self._unsynced:
            if path.exists():
                (sync_tree if path.is_dir() else sync_directory)(path)
        if self._arrays:
            for name in self._arrays:
                sync_directory(self.path / "posterior" / name / "zarr.json")
        self._unsynced = []

    def _chunk(self, name: str, chain: int, draw: int) -> Path:
        return self.path / "posterior" / name / "c" / str(chain) / str(draw)

    def _create(self, draw: dict[str, np.ndarray]) -> None:
        group = zarr.open_group(self.path, mode="w", zarr_format=3).create_group("posterior")
        arrays = {}
        for name, value in draw.items():
            value = np.asarray(value)
            inner = _DIMENSIONS.get(name, tuple(f"{name}_dim_{axis}" for axis in range(value.ndim)))
            arrays[name] = group.create_array(
                name,
                shape=(self._num_chains, 0, *value.shape),
                chunks=(1, 1, *value.shape),
                dtype=value.dtype,
                fill_value=np.nan if value.dtype.kind == "f" else 0,
                dimension_names=("chain", "draw", *inner),
            )
        # Appending by xarray leaves no draw coordinate to append to; it is kept here like any variable.
        arrays[_COORDINATE] = group.create_array(
            _COORDINATE, shape=(0,), chunks=(1024,), dtype="int64", dimension_names=(_COORDINATE,)
        )
        self._arrays = arrays

    def _resize(self, length: int) -> None:
        for name, array in self._arrays.items():
            if name == _COORDINATE:
                array.resize((length,))
                array[:] = np.arange(length)
            else:
                array.resize((self._num_chains, length, *array.shape[2:]))


def open_draws(path: Path, num_draws: int, vocabulary: list[str]) -> xr.DataTree:
    """The first `num_draws` draws of every chain, read when they are used."""
    tree = xr.open_datatree(path, engine="zarr", consolidated=False)
    posterior = tree["posterior"].to_dataset().isel(draw=slice(0, num_draws))
    coordinates: dict[str, np.ndarray] = {
        name: np.arange(posterior.sizes[name]) for name in ("chain", "topic") if name in posterior.sizes
    }
    if posterior.sizes.get("word") == len(vocabulary):
        coordinates["word"] = np.array(vocabulary, dtype=np.str_)
    return xr.DataTree.from_dict({"/posterior": posterior.assign_coords(coordinates)})
