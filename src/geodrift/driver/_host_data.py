"""Batches that come from the host: from arrays larger than memory, or from an iterator."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key, PyTree

from geodrift._masked import unmasked
from geodrift._types import Batch
from geodrift.driver._batches import Batching
from geodrift.estimators._batch_rows import batch_length
from geodrift.kernels._streams import HOST_BLOCKS, HOST_EPOCHS, HOST_ROWS

HIDDEN_ADVICE = "leave such rows out, or give the mask as an array of its own, and use it in log_likelihood"


class HostData:
    """Data that stay on the host, memory-mapped for instance: only minibatches go to the device.

    Rows are read by a thread of their own, ahead of the sampler. They are chosen by a counter-based stream, a
    function of the run's key, the chain and the step, so a run goes on from a checkpoint to the very same
    draws. Give ``batches="blocks"`` or ``"epochs"`` for files on slow disks: rows are then read in one piece,
    and must have been shuffled when the file was written.

    Args:
        arrays: A pytree of NumPy arrays (``np.load(path, mmap_mode="r")``) with leading axis N.

    Raises:
        ValueError: There is no array, their lengths differ, or entries are hidden.
    """

    def __init__(self, arrays: PyTree) -> None:
        self.arrays, self.size = jax.tree.map(_seen, arrays), batch_length(arrays)

    def sketch(self) -> PyTree:
        """Some rows and the size, to tell other data from these without reading them all."""
        rows = np.unique(np.linspace(0, self.size - 1, 101).astype(int))
        return (np.asarray(self.size), jax.tree.map(lambda a: np.asarray(a[rows]), self.arrays))

    def batches(self, keys: Key[Array, " chain"], first: int, batching: Batching) -> Iterator[Batch]:
        """The batches of step ``first`` and all later ones: ``[chain, *axes, batch, ...]``."""
        words = np.asarray(jax.random.key_data(keys)).reshape(len(keys), -1).tolist()
        for count in itertools.count(first):
            rows = np.stack([_rows(chain, count, batching) for chain in words])
            yield jax.tree.map(lambda a, rows=rows: a[rows], self.arrays)


def _seen(values: Any) -> Any:
    """An array that hides nothing."""
    return unmasked("data", values, HIDDEN_ADVICE)


def _rows(words: list[int], count: int, batching: Batching) -> np.ndarray:
    """The rows of one chain's step: ``[*axes, batch]``."""
    data_size, size, replacement, scheme, axes, _ = batching
    if scheme == "epochs":
        epoch, step = divmod(count, batching.steps_in_epoch)
        random = HOST_EPOCHS.generator(words, epoch)
        offset = random.integers(data_size)
        blocks = random.permutation(batching.steps_in_epoch * batching.num_batches)
        own = blocks[step * batching.num_batches :][: batching.num_batches].reshape(axes)
        starts = offset + size * own
    else:
        random = (HOST_ROWS if scheme == "rows" else HOST_BLOCKS).generator(words, count)
        if scheme == "rows":
            if replacement:
                return random.integers(data_size, size=(*axes, size))
            rows = [random.choice(data_size, size, replace=False) for _ in range(batching.num_batches)]
            return np.stack(rows).reshape(*axes, size)
        starts = random.integers(data_size, size=axes)
    return (np.asarray(starts)[..., None] + np.arange(size)) % data_size


def is_stream(data: Any) -> bool:
    """Whether data are batches to iterate over, rather than a pytree of arrays."""
    if isinstance(data, Iterator):
        return True
    is_leaf = jax.tree_util.default_registry.flatten_one_level(data) is None
    return is_leaf and isinstance(data, Iterable) and not hasattr(data, "shape")


def stream_batches(stream: Iterable, skipped: int, num_chains: int, axes: tuple[int, ...]) -> Iterator[Batch]:
    """Batches of a stream in the order in which steps, chains and inner steps take them.

    An iterator is read once; anything else that can be iterated over, a loader, is begun again at its end.

    Raises:
        ValueError: The iterator has ended, a loader has no batch, or the batches differ in shape.
    """
    numbered = enumerate(stream if isinstance(stream, Iterator) else _again(stream))
    needed = num_chains * int(np.prod(axes, dtype=int))
    shapes = None
    for _ in zip(range(skipped * needed), numbered, strict=False):
        pass
    while True:
        batches = []
        for number, batch in itertools.islice(numbered, needed):
            batch = jax.tree.map(lambda a: np.asarray(_seen(a)), batch)
            found = [(a.shape, a.dtype) for a in jax.tree.leaves(batch)]
            shapes = shapes or found
            if found != shapes:
                raise ValueError(
                    f"data: batch {number} of the iterator has arrays {found}, the first had {shapes}: all"
                    " batches must have one shape; drop the last, shorter one of an epoch"
                )
            batches.append(batch)
        if len(batches) < needed:
            raise ValueError(
                f"data: the iterator has ended; each step takes {needed} of its batches, one for each chain"
                " and inner step: give an iterator that goes on, or a smaller num_draws"
            )
        yield jax.tree.map(lambda *a: np.stack(a).reshape(num_chains, *axes, *a[0].shape), *batches)


def _again(loader: Iterable) -> Iterator[Batch]:
    """The batches of a loader, without end."""
    while True:
        empty = True
        for batch in loader:
            empty = False
            yield batch
        if empty:
            raise ValueError(
                "data: the loader has no batch, and a step takes one or more: give it data, at least as many"
                " as a batch has where it drops the last, shorter one"
            )
