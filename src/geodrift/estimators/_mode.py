"""A mode of the posterior from minibatches: where to put the centre of a control variate."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from geodrift._tree import as_float_arrays
from geodrift._types import Count, Position, RandomKey, Scalar, Tangent
from geodrift.estimators._batch_rows import batch_indices, batch_length
from geodrift.estimators._likelihood import LikelihoodEstimator, Rows
from geodrift.estimators._noise import check_interval
from geodrift.manifolds import Euclidean, Manifold, leaf_manifolds
from geodrift.schedules import check_positive

# Of the running means of the gradient and of its square (Adam's).
_MOMENTUM, _MEMORY, _TINY = 0.9, 0.999, 1e-12


def find_mode(
    key: RandomKey,
    estimator: LikelihoodEstimator,
    manifold: Manifold,
    data: PyTree,
    initial: Position,
    *,
    batch_size: int,
    num_steps: int,
    learning_rate: float = 0.05,
) -> Position:
    r"""A position near a mode of the log density, by stochastic gradients.

    Adam (Kingma & Ba, 2015) with a learning rate that falls to 0 along a cosine, along geodesics. Entries of
    a Euclidean leaf have a scale of their own; a leaf of another manifold has one scale, so that the
    direction stays tangent. Good enough for the centre of a `ControlVariate`, whose noise is that of the
    distance from it: within a posterior standard deviation after a pass or two over the data.

    Args:
        key: Random key.
        estimator: Gives the gradient: usually `Minibatch`. Costs ``num_steps * batch_size`` gradients of one
            datum.
        manifold: Where the positions are.
        data: A pytree of arrays with leading axis N.
        initial: Where to start.
        batch_size: B.
        num_steps: Steps; N/B of them are one pass over the data.
        learning_rate: Length of the first steps, in the position's own units, for each entry.

    Raises:
        ValueError: An argument is outside its range.
    """
    size = batch_length(data)
    if size != estimator.data_size:
        raise ValueError(f"data has {size} rows: the estimator's data_size is {estimator.data_size}")
    check_interval("num_steps", num_steps)
    check_interval("batch_size", batch_size)
    if batch_size > size:
        raise ValueError(
            f"batch_size = {batch_size}: must be a whole number from 1 to {size}, the data's rows"
        )
    rate = as_float_arrays(learning_rate)
    check_positive("learning_rate", rate)
    initial, data = as_float_arrays(initial), jax.tree.map(jnp.asarray, data)
    return _descend(key, estimator, manifold, data, initial, batch_size, num_steps, rate)


class _Descent(NamedTuple):
    position: Position
    kept: Any  # the estimator's state
    mean: Tangent  # of the gradient, running
    square: PyTree  # of its square


@eqx.filter_jit
def _descend(
    key: RandomKey,
    estimator: LikelihoodEstimator,
    manifold: Manifold,
    data: PyTree,
    initial: Position,
    batch_size: int,
    num_steps: int,
    rate: Scalar,
) -> Position:
    key_init, key_steps = jax.random.split(key)

    def step(count: Count, descent: _Descent) -> _Descent:
        position, kept, mean, square = descent
        key_batch, key_prepare = jax.random.split(jax.random.fold_in(key_steps, count))
        index = batch_indices(key_batch, estimator.data_size, (), batch_size, estimator.replacement)
        batch = jax.tree.map(lambda a: a[index], data)
        batch = Rows(index, batch) if estimator.takes_rows else batch
        prepared, kept = estimator.prepare(key_prepare, kept, position, batch)
        gradient = manifold.riemannian_gradient(position, estimator.gradient(position, prepared))
        mean = manifold.to_tangent(position, _running(_MOMENTUM, mean, gradient))
        square = _running(_MEMORY, square, _squares(manifold, position, gradient))
        length = rate * (1 + jnp.cos(jnp.pi * count / num_steps)) / 2
        length = length * jnp.sqrt(1 - _MEMORY ** (count + 1)) / (1 - _MOMENTUM ** (count + 1))
        direction = jax.tree.map(
            lambda m, s: (length * m / (jnp.sqrt(s) + _TINY)).astype(m.dtype), mean, square
        )
        return _Descent(manifold.geodesic(position, direction, 1.0)[0], kept, mean, square)

    zeros = jax.tree.map(jnp.zeros_like, initial)
    squares = _squares(manifold, initial, zeros)
    start = _Descent(initial, estimator.init(key_init, initial), zeros, squares)
    return jax.lax.fori_loop(0, num_steps, step, start).position


def _running(memory: float, mean: PyTree, new: PyTree) -> PyTree:
    return jax.tree.map(lambda m, x: memory * m + (1 - memory) * x, mean, new)


def _squares(manifold: Manifold, position: Position, gradient: Tangent) -> PyTree:
    """Of each entry of a Euclidean leaf; the mean over any other leaf, which keeps a direction tangent."""
    leaves, structure = jax.tree.flatten(gradient)
    rows = zip(leaf_manifolds(manifold, position), leaves, strict=True)
    squares = [g * g if isinstance(m, Euclidean) else jnp.mean(g * g) for m, g in rows]
    return jax.tree.unflatten(structure, squares)
