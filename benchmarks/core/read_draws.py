"""What it costs to compare draws with their checksums while they are read.

    python benchmarks/core/read_draws.py [REPETITIONS]

200 MB of draws of topics, read by zarr from chunks without a checksum and by a run's reader, in turns, from
the page cache. Medians over the pairs; on a machine with other work the ratio of processor time is the
steadier.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import xarray as xr
import zarr

from geodrift.driver import Variable
from geodrift.driver._draw_store import DrawStore, open_draws
from geodrift.driver._draws_check import open_checked

DRAWS, TOPICS, WORDS = 250, 20, 5000
NAME = "posterior/topics"


def written(folder):
    """Draws of two chains as a run writes them, and the same without checksums."""
    store, rng = DrawStore(folder / "draws.zarr", [slice(0, 1), slice(1, 2)]), np.random.default_rng(0)
    variables = {"topics": Variable(("topic", "word"), (TOPICS, WORDS), "float32")}
    for chain in range(2):
        for _ in range(DRAWS // 10):
            topics = rng.dirichlet(np.full(WORDS, 0.1), size=(10, 1, TOPICS)).astype(np.float32)
            store.append(chain, {"topics": topics}, variables)
    store.flush()
    values = zarr.open_array(folder / "draws.zarr", path=NAME, mode="r")
    group = zarr.open_group(folder / "plain.zarr", mode="w", zarr_format=3).require_group("posterior")
    plain = group.create_array(
        "topics",
        shape=values.shape,
        chunks=values.chunks,
        dtype=values.dtype,
        fill_value=np.nan,
        dimension_names=("chain", "draw", "topic", "word"),
    )
    plain[...] = np.asarray(values[...])
    return store.known


def read_plain(folder):
    tree = xr.open_datatree(folder / "plain.zarr", engine="zarr", consolidated=False)
    return tree["posterior"].to_dataset()["topics"].isel(draw=slice(0, DRAWS)).values


def read_checked(folder, known):
    store = open_checked(folder, folder / "draws.zarr", known)
    return open_draws(store, DRAWS, {})["posterior"].to_dataset()["topics"].values


def timed(read, *arguments):
    wall, processor = time.perf_counter(), time.process_time()
    read(*arguments)
    return time.perf_counter() - wall, time.process_time() - processor


if __name__ == "__main__":
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 41
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        known = written(folder)
        assert np.array_equal(read_plain(folder), read_checked(folder, known))
        pairs = []
        for number in range(repetitions):
            first = timed(read_plain, folder) if number % 2 else None
            checked = timed(read_checked, folder, known)
            pairs.append((first or timed(read_plain, folder), checked))
    plain, checked = np.median(np.array(pairs), axis=0)
    ratio = np.median([np.divide(c, p) for p, c in pairs], axis=0)
    print(f"plain {plain[0]:.3f} s, checked {checked[0]:.3f} s: ratio {ratio[0]:.3f}")
    print(f"of processor time: ratio {ratio[1]:.3f}")
