"""The variance of minibatch gradients at a position, and how much of it the estimator states."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from geodrift import _tree
from geodrift._types import NoiseVariance, Position, RandomKey, Tangent
from geodrift.estimators import Estimator
from geodrift.integrators._variance_shapes import is_matrix
from geodrift.manifolds import Manifold
from geodrift.tuning._pilot_data import PilotData

_PAIRS = 1024  # number of gradients, each of two data
_FLOATS = 2**25  # largest number of entries of all these gradients
_BATCHES = 8  # batches of the run's size whose stated variances are averaged
_ITERATIONS = 20  # of the power method

Operator: TypeAlias = Callable[[Tangent], Tangent]
"""A linear operator on tangent vectors, such as a covariance."""


class Noise(NamedTuple):
    """Variances of the gradient noise in the tangent space; V is its covariance."""

    mean: float  # trace of V, divided by the dimension
    stated: float  # trace of the covariance that the estimator states, divided by the dimension
    stated_max: float  # largest variance that the estimator states, of any coordinate and batch
    worst: float  # |V - stated| along the direction where it is largest
    worst_anisotropic: float  # |V - stated - (mean - stated) I| along the direction where it is largest

    def times(self, factor: float) -> "Noise":
        """Of batches whose noise variance is so many times as large."""
        return Noise(*(factor * variance for variance in self))


NO_NOISE = Noise(0.0, 0.0, 0.0, 0.0, 0.0)


def gradients_measured(numbers: int, data: PilotData) -> int:
    """Gradients of single data that `measure_noise` takes at a position of so many numbers."""
    return 2 * _pairs(numbers) + _BATCHES * min(data.batch_size, data.size)


def measure_noise(
    key: RandomKey,
    estimator: Estimator,
    manifold: Manifold,
    position: Position,
    estimator_state: Any,
    data: PilotData,
) -> Noise:
    """The variance of the gradient noise at a position.

    It is measured with gradients of pairs of data and scaled to the run's batches. The direction in which it
    differs most from the stated variance is found with one half of the pairs, and the difference along it is
    measured with the other half, so that the sampling error is not taken for anisotropy.

    Args:
        key: Random key.
        estimator: On its manifold.
        manifold: The manifold.
        position: Where to measure.
        estimator_state: The estimator's state.
        data: The data and how the run draws batches.
    """
    if not data.noisy or data.size < 3:  # of two data all pairs are one
        return NO_NOISE
    numbers = sum(x.size for x in jax.tree.leaves(position))
    pairs = _pairs(numbers)
    key_rows, key_batches, key_measure = jax.random.split(key, 3)
    rows = data.rows(key_rows, pairs, 2)
    batches = data.rows(key_batches, _BATCHES, min(data.batch_size, data.size))
    values = _measure(
        key_measure, estimator, manifold, position, estimator_state, rows, batches, jnp.asarray(data.scale(2))
    )
    return Noise(*(float(value) for value in values))


def _pairs(numbers: int) -> int:
    return 2 * max(16, min(_PAIRS, _FLOATS // max(numbers, 1)) // 2)


@eqx.filter_jit
def _measure(
    key: RandomKey,
    estimator: Estimator,
    manifold: Manifold,
    position: Position,
    estimator_state: Any,
    pairs: PyTree,
    batches: PyTree,
    scale: Float[Array, ""],
) -> tuple[Float[Array, ""], ...]:
    """The fields of `Noise`, in their order."""
    dim = manifold.dim(_tree.shapes(position))
    gradients = _centred_gradients(key, estimator, manifold, position, estimator_state, pairs)
    number = jax.tree.leaves(gradients)[0].shape[0]
    stated = jax.lax.map(
        lambda row: _stated(estimator, position, estimator_state, *row),
        (jax.random.split(key, _BATCHES), batches),
    )
    mean_stated = jax.tree.map(lambda s: jnp.mean(s, axis=0), stated)

    def stated_covariance(u: Tangent) -> Tangent:
        return _apply_stated(manifold, position, mean_stated, u)

    squares = jnp.sum(jax.vmap(manifold.inner, (None, 0, 0))(position, gradients, gradients))
    mean = scale * squares / ((number - 1) * dim)
    mean_of_stated = _average(key, manifold, position, stated_covariance)

    def excess(half: int, shift: Array | float) -> Operator:
        covariance = _covariance(manifold, position, jax.tree.map(lambda g: g[half::2], gradients), scale)

        def apply(u: Tangent) -> Tangent:
            shifted = jax.tree.map(lambda leaf: jnp.asarray(shift, leaf.dtype) * leaf, u)
            return _tree.sub(covariance(u), _tree.add(stated_covariance(u), shifted))

        return apply

    worst = [
        _along_the_largest(key, manifold, position, excess(0, shift), excess(1, shift))
        for shift in (0.0, mean - mean_of_stated)
    ]
    return mean, mean_of_stated, _largest(stated, position), *worst


def _centred_gradients(
    key: RandomKey,
    estimator: Estimator,
    manifold: Manifold,
    position: Position,
    estimator_state: Any,
    pairs: PyTree,
) -> Tangent:
    """Tangent gradients of the pairs of data less their mean, leaves ``[pair, *leaf]``."""

    def gradient(key: RandomKey, rows: PyTree) -> Tangent:
        prepared, _ = estimator.prepare(key, estimator_state, position, rows)
        return manifold.riemannian_gradient(position, estimator.gradient(position, prepared))

    number = jax.tree.leaves(pairs)[0].shape[0]
    gradients = jax.lax.map(
        lambda row: gradient(*row), (jax.random.split(key, number), pairs), batch_size=min(64, number)
    )
    return jax.tree.map(lambda g: g - jnp.mean(g, axis=0), gradients)


def _covariance(manifold: Manifold, position: Position, half: Tangent, scale: Float[Array, ""]) -> Operator:
    """The sample covariance of half of the gradients, as an operator, times ``scale``."""
    count = jax.tree.leaves(half)[0].shape[0]

    def apply(u: Tangent) -> Tangent:
        along = jax.vmap(manifold.inner, (None, 0, None))(position, half, u) * (scale / (count - 1))
        return jax.tree.map(lambda g: jnp.tensordot(along.astype(g.dtype), g, 1), half)

    return apply


def _average(key: RandomKey, manifold: Manifold, position: Position, operator: Operator) -> Array:
    """The trace divided by the dimension, by Hutchinson's estimator with 32 vectors of random signs.

    It is exact for a multiple of the identity, and on flat space for a diagonal operator.
    """
    directions = jax.vmap(lambda k: _signs(k, manifold, position))(jax.random.split(key, 32))
    along = jax.vmap(lambda u: manifold.inner(position, u, operator(u)))(directions)
    squares = jax.vmap(manifold.inner, (None, 0, 0))(position, directions, directions)
    return jnp.sum(along) / jnp.sum(squares)


def _along_the_largest(
    key: RandomKey, manifold: Manifold, position: Position, seek: Operator, measure: Operator
) -> Array:
    """Size of ``measure`` along the eigenvector of ``seek`` with the largest absolute eigenvalue."""

    def iterate(_: Array, u: Tangent) -> Tangent:
        return _unit(manifold, position, seek(seek(u)))

    start = _unit(manifold, position, manifold.random_tangent(key, position))
    u = jax.lax.fori_loop(0, _ITERATIONS, iterate, start)
    # Not u'Mu: where eigenvalues of opposite sign are equally large, u is a mixture of their eigenvectors,
    # along which they cancel.
    image = _unit(manifold, position, seek(u))
    return jnp.abs(manifold.inner(position, image, measure(u)))


def _stated(
    estimator: Estimator, position: Position, estimator_state: Any, key: RandomKey, rows: PyTree
) -> NoiseVariance:
    """The noise variance that the estimator states for a batch."""
    prepared, _ = estimator.prepare(key, estimator_state, position, rows)
    return estimator.noise_variance(position, prepared)


def _apply_stated(manifold: Manifold, position: Position, stated: NoiseVariance, u: Tangent) -> Tangent:
    """The stated covariance times u, tangent part."""
    if not jax.tree.leaves(stated):
        return jax.tree.map(jnp.zeros_like, u)
    leaves, structure = jax.tree.flatten(u)
    variances = _tree.broadcast_prefix(stated, position)
    applied = [
        (v @ leaf[..., None])[..., 0] if is_matrix(v, leaf) else v * leaf
        for v, leaf in zip(variances, leaves, strict=True)
    ]
    return manifold.to_tangent(position, jax.tree.unflatten(structure, applied))


def _largest(stated: NoiseVariance, position: Position) -> Float[Array, ""]:
    """The largest variance stated; leaves have a leading axis ``[batch]``."""
    if not jax.tree.leaves(stated):
        return jnp.zeros(())
    variances = _tree.broadcast_prefix(stated, position)
    sizes = [
        jnp.max(jnp.linalg.eigvalsh(v)) if is_matrix(v[0], x) else jnp.max(v)
        for v, x in zip(variances, jax.tree.leaves(position), strict=True)
    ]
    return jnp.max(jnp.stack(sizes))


def _signs(key: RandomKey, manifold: Manifold, position: Position) -> Tangent:
    """The tangent part of a vector of random signs."""
    leaves, structure = jax.tree.flatten(position)
    signs = [
        jax.random.rademacher(jax.random.fold_in(key, i), leaf.shape, leaf.dtype)
        for i, leaf in enumerate(leaves)
    ]
    return manifold.to_tangent(position, jax.tree.unflatten(structure, signs))


def _unit(manifold: Manifold, position: Position, u: Tangent) -> Tangent:
    """The unit vector along u; 0 for 0."""
    norm = jnp.sqrt(manifold.inner(position, u, u))
    return jax.tree.map(lambda leaf: leaf / jnp.where(norm > 0, norm, 1).astype(leaf.dtype), u)
