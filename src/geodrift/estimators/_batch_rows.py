"""The length of a minibatch, and the random indices of its rows in the data."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree

from geodrift._types import Batch, RandomKey


def batch_indices(
    key: RandomKey, data_size: int, axes: tuple[int, ...], batch_size: int, replacement: bool
) -> Int[Array, "*axes batch"]:
    """Uniform random indices of the rows of minibatches.

    Args:
        key: Random key.
        data_size: N; indices are 0, ..., N - 1.
        axes: Axes in front; the batches along them are independent.
        batch_size: B.
        replacement: Whether an index may occur twice in a batch; otherwise the indices of a batch are
            distinct.
    """
    if replacement:
        return jax.random.randint(key, (*axes, batch_size), 0, data_size)
    # Floyd's algorithm: step j draws from 0..j; if that index was drawn before, it takes j, which cannot have
    # been.
    last = jnp.arange(data_size - batch_size, data_size)
    drawn = jax.random.randint(key, (math.prod(axes), batch_size), 0, last + 1)

    def distinct(candidates: Int[Array, " batch"]) -> Int[Array, " batch"]:
        def place(i: Int[Array, ""], taken: Int[Array, " batch"]) -> Int[Array, " batch"]:
            chosen = jnp.where(jnp.any(taken == candidates[i]), last[i], candidates[i])
            return taken.at[i].set(chosen)

        return jax.lax.fori_loop(0, batch_size, place, jnp.full_like(candidates, -1))

    return jax.vmap(distinct)(drawn).reshape(*axes, batch_size)


def data_length(data: PyTree) -> int:
    """N, of data that are given whole.

    Raises:
        ValueError: As `batch_length`, or there are no rows.
    """
    length = batch_length(data)
    if length == 0:
        raise ValueError("data has no rows: there is nothing to learn from; give one row for each datum")
    return length


def batch_length(batch: Batch) -> int:
    """The length of the leading axis of a pytree of arrays.

    Raises:
        ValueError: There is no array, or the arrays differ in length.
    """
    shapes = {jnp.shape(leaf)[:1] for leaf in jax.tree.leaves(batch)}
    if not shapes:
        raise ValueError("the batch is empty: this estimator needs data; give sample(..., data)")
    if len(shapes) > 1 or shapes == {()}:
        lengths = ", ".join(str(shape[0]) if shape else "none (a single number)" for shape in sorted(shapes))
        raise ValueError(
            f"data: the arrays have leading axes of length {lengths}: each needs one row for each datum;"
            " keep what all data share in log_likelihood itself, and make an array of a list of numbers"
        )
    return shapes.pop()[0]
