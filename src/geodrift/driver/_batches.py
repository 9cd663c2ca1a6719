"""Which data a minibatch holds, at a cost that does not depend on the size of the data."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PyTree

from geodrift._types import Batch, Count, RandomKey
from geodrift.driver._placement import Placement
from geodrift.estimators._batch_rows import batch_indices
from geodrift.kernels._streams import EPOCH_ORDER, ROW_ORDER

SCHEMES = ("rows", "blocks", "epochs")


class Batching(NamedTuple):
    """How batches are drawn; hashable, a constant of the compiled step."""

    data_size: int  # N
    batch_size: int | None  # B; None: all of the data
    replacement: bool
    scheme: str = "rows"
    axes: tuple[int, ...] = ()  # in front of [batch], of one step
    placement: Placement | None = None  # of data on several devices

    @property
    def num_batches(self) -> int:
        """Batches in one step."""
        return math.prod(self.axes)

    @property
    def steps_in_epoch(self) -> int:
        """Steps that an epoch has blocks for."""
        return self.data_size // self.batch_size // self.num_batches


def lay_out(key: RandomKey, data: PyTree, batching: Batching) -> PyTree:
    """The data as `draw_batch` reads them.

    Blocks are neighbours in memory, so rows are shuffled once, lest their order mean something; and the first
    rows are repeated at the end, so that a block may begin anywhere.
    """
    if batching.batch_size is None or batching.scheme == "rows":
        return data
    # By NumPy: `jax.random.permutation` sorts, and takes half a second for a million rows.
    words = np.asarray(jax.random.key_data(key)).ravel().tolist()
    order = ROW_ORDER.generator(words).permutation(batching.data_size)
    order = jnp.asarray(np.concatenate([order, order[: batching.batch_size - 1]]))
    return jax.tree.map(lambda a: a[order], data)


def epoch_blocks(key: RandomKey, count: Count, batching: Batching) -> Int[Array, " blocks"] | None:
    """Where the blocks of the epoch of step ``count`` begin, in their order; None for the other schemes.

    Every epoch has another offset and another order of the blocks, from a key that is a function of its
    number.
    """
    if batching.batch_size is None or batching.scheme != "epochs":
        return None
    key = jax.random.fold_in(EPOCH_ORDER.fold(key), count // batching.steps_in_epoch)
    key_offset, key_order = jax.random.split(key)
    offset = jax.random.randint(key_offset, (), 0, batching.data_size)
    blocks = jax.random.permutation(key_order, batching.steps_in_epoch * batching.num_batches)
    return (offset + batching.batch_size * blocks) % batching.data_size


def draw_batch(
    key: RandomKey, count: Count, data: PyTree, batching: Batching, blocks: Int[Array, " blocks"] | None
) -> Batch:
    """The batch of step ``count``: leading axes ``[*axes, batch]``.

    Args:
        key: Random key of the step.
        count: Steps taken.
        data: From `lay_out`.
        batching: How.
        blocks: From `epoch_blocks`, of this step's epoch.
    """
    size, axes = batching.batch_size, batching.axes
    if size is None:
        return data
    if batching.scheme == "rows":
        rows = batch_indices(key, batching.data_size, axes, size, batching.replacement)
        batch = jax.tree.map(lambda a: a[rows], data)
        return batch if batching.placement is None else batching.placement.spread(batch, len(axes))
    if batching.scheme == "blocks":
        starts = jax.random.randint(key, axes, 0, batching.data_size)
    else:
        first = count % batching.steps_in_epoch * batching.num_batches
        starts = jax.lax.dynamic_slice_in_dim(blocks, first, batching.num_batches).reshape(axes)

    def block(start: Int[Array, ""]) -> Batch:
        return jax.tree.map(lambda a: jax.lax.dynamic_slice_in_dim(a, start, size), data)

    for _ in axes:
        block = jax.vmap(block)
    return block(starts)
