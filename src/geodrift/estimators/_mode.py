"""A mode of the posterior by stochastic gradients: the centre of a control variate."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from geodrift._tree import as_float_arrays
from geodrift._types import Count, Position, RandomKey, Scalar, Tangent
from geodrift._whole import whole
from geodrift.estimators._batch_rows import batch_indices, batch_length
from geodrift.estimators._likelihood import LikelihoodEstimator, Rows
from geodrift.manifolds import Euclidean, Manifold, leaf_manifolds
from geodrift.schedules import check_positive

# Kingma & Ba (2015), Algorithm 1; their epsilon is 1e-8.
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-12


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

    Adam (Kingma & Ba, 2015, Algorithm 1) along geodesics, with a learning rate that falls to 0 along a
    cosine. Each entry of a Euclidean leaf has its own scale; a leaf of another manifold has one scale, so
    that the direction stays tangent. After one or two passes over the data the position is within a posterior
    standard deviation of the mode, which is near enough for the centre of a `ControlVariate`.

    Args:
        key: Random key.
        estimator: Gives the gradient: usually `Minibatch`. Costs ``num_steps * batch_size`` gradients of one
            datum.
        manifold: Where the positions are.
        data: A pytree of arrays with leading axis N.
        initial: Where to start.
        batch_size: B.
        num_steps: Steps; N/B of them are one pass over the data.
        learning_rate: Length of the first steps, for each entry, in the position's unit.

    Returns:
        The last position.

    Raises:
        ValueError: An argument is outside its range.
    """
    size = batch_length(data)
    if size != estimator.data_size:
        raise ValueError(f"data has {size} rows: the estimator's data_size is {estimator.data_size}")
    num_steps, batch_size = whole("num_steps", num_steps), whole("batch_size", batch_size)
    if batch_size > size:
        raise ValueError(
            f"batch_size = {batch_size}: must be a whole number from 1 to {size}, the data's rows"
        )
    rate = as_float_arrays(learning_rate)
    check_positive("learning_rate", rate)
    initial, data = as_float_arrays(initial), jax.tree.map(jnp.asarray, data)
    return _adam(key, estimator, manifold, data, initial, batch_size, num_steps, rate)


class _AdamState(NamedTuple):
    position: Position
    estimator: Any  # the estimator's state
    mean: Tangent  # running mean of the gradient
    square: PyTree  # running mean of its square


@eqx.filter_jit
def _adam(
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

    def step(count: Count, state: _AdamState) -> _AdamState:
        position, estimator_state, mean, square = state
        key_batch, key_prepare = jax.random.split(jax.random.fold_in(key_steps, count))
        index = batch_indices(key_batch, estimator.data_size, (), batch_size, estimator.replacement)
        batch = jax.tree.map(lambda a: a[index], data)
        batch = Rows(index, batch) if estimator.takes_rows else batch
        prepared, estimator_state = estimator.prepare(key_prepare, estimator_state, position, batch)
        gradient = manifold.riemannian_gradient(position, estimator.gradient(position, prepared))
        mean = manifold.to_tangent(position, _running_mean(_BETA_1, mean, gradient))
        square = _running_mean(_BETA_2, square, _squares(manifold, position, gradient))
        length = rate * (1 + jnp.cos(jnp.pi * count / num_steps)) / 2
        length = length * jnp.sqrt(1 - _BETA_2 ** (count + 1)) / (1 - _BETA_1 ** (count + 1))
        direction = jax.tree.map(
            lambda m, s: (length * m / (jnp.sqrt(s) + _EPSILON)).astype(m.dtype), mean, square
        )
        position, _ = manifold.geodesic(position, direction, 1.0)
        return _AdamState(position, estimator_state, mean, square)

    zeros = jax.tree.map(jnp.zeros_like, initial)
    squares = _squares(manifold, initial, zeros)
    start = _AdamState(initial, estimator.init(key_init, initial), zeros, squares)
    return jax.lax.fori_loop(0, num_steps, step, start).position


def _running_mean(weight: float, mean: PyTree, new: PyTree) -> PyTree:
    return jax.tree.map(lambda m, x: weight * m + (1 - weight) * x, mean, new)


def _squares(manifold: Manifold, position: Position, gradient: Tangent) -> PyTree:
    """The squared gradient: of each entry of a Euclidean leaf; of another leaf the mean over its entries."""
    leaves, structure = jax.tree.flatten(gradient)
    rows = zip(leaf_manifolds(manifold, position), leaves, strict=True)
    squares = [g * g if isinstance(m, Euclidean) else jnp.mean(g * g) for m, g in rows]
    return jax.tree.unflatten(structure, squares)
