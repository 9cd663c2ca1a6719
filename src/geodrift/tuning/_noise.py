"""The noise of minibatch gradients at a position, and what the estimator states of it."""

from collections.abc import Callable
from typing import Any, NamedTuple

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

_PAIRS = 1024  # gradients of two data each
_FLOATS = 2**25  # at most, in all gradients together
_BATCHES = 8  # of the run's size, whose stated variances are looked at
_ITERATIONS = 20


Operator = Callable[[Tangent], Tangent]


class Noise(NamedTuple):
    """Variances of the gradient noise, per coordinate of the tangent space."""

    mean: float  # trace of V over the dimension
    stated: float  # the same of what the estimator states
    stated_max: float  # largest variance stated, of any coordinate and batch
    worst: float  # |V - stated| along the direction where it is largest
    worst_anisotropic: float  # |V - stated - their mean difference| likewise


NO_NOISE = Noise(0.0, 0.0, 0.0, 0.0, 0.0)


def measure_noise(
    key: RandomKey, estimator: Estimator, manifold: Manifold, position: Position, kept: Any, data: PilotData
) -> Noise:
    """The noise at a position.

    Gradients of pairs of data are scaled to the run's batches. The direction of the largest excess is sought
    with one half of them and the excess along it measured with the other, so that the scatter of a finite
    sample is not taken for anisotropy.

    Args:
        key: Random key.
        estimator: On its manifold.
        manifold: The manifold.
        position: Where to measure.
        kept: The estimator's state.
        data: Where rows come from.
    """
    if not data.noisy or data.size < 4:
        return NO_NOISE
    numbers = sum(x.size for x in jax.tree.leaves(position))
    pairs = 2 * max(16, min(_PAIRS, _FLOATS // max(numbers, 1)) // 2)
    key_rows, key_batches, key_measure = jax.random.split(key, 3)
    few = data.rows(key_rows, pairs, 2)
    batches = data.rows(key_batches, _BATCHES, min(data.batch_size, data.size))
    values = _measure(
        key_measure, estimator, manifold, position, kept, few, batches, jnp.asarray(data.scale(2))
    )
    return Noise(*(float(value) for value in values))


@eqx.filter_jit
def _measure(
    key: RandomKey,
    estimator: Estimator,
    manifold: Manifold,
    position: Position,
    kept: Any,
    pairs: PyTree,
    batches: PyTree,
    scale: Float[Array, ""],
) -> Noise:
    dim = manifold.dim(_tree.shapes(position))
    gradients = _centred_gradients(key, estimator, manifold, position, kept, pairs)
    number = jax.tree.leaves(gradients)[0].shape[0]
    stated = jax.lax.map(
        lambda row: _stated(estimator, position, kept, *row), (jax.random.split(key, _BATCHES), batches)
    )
    mean_stated = jax.tree.map(lambda s: jnp.mean(s, axis=0), stated)

    def subtract(u: Tangent) -> Tangent:
        return _apply_stated(manifold, position, mean_stated, u)

    squares = jnp.sum(jax.vmap(manifold.inner, (None, 0, 0))(position, gradients, gradients))
    mean = scale * squares / ((number - 1) * dim)
    mean_of_stated = _average(key, manifold, position, subtract)

    def excess(part: int, shift: Array | float) -> Operator:
        covariance = _covariance(manifold, position, jax.tree.map(lambda g: g[part::2], gradients), scale)

        def apply(u: Tangent) -> Tangent:
            own = jax.tree.map(lambda leaf: jnp.asarray(shift, leaf.dtype) * leaf, u)
            return _tree.sub(covariance(u), _tree.add(subtract(u), own))

        return apply

    worst = [
        _along_the_largest(key, manifold, position, excess(0, shift), excess(1, shift))
        for shift in (0.0, mean - mean_of_stated)
    ]
    return Noise(mean, mean_of_stated, _largest(stated, position), *worst)


def _centred_gradients(
    key: RandomKey, estimator: Estimator, manifold: Manifold, position: Position, kept: Any, pairs: PyTree
) -> Tangent:
    """Tangent gradients of the pairs of data less their mean, ``[pair, ...]``."""

    def gradient(key: RandomKey, rows: PyTree) -> Tangent:
        prepared, _ = estimator.prepare(key, kept, position, rows)
        return manifold.riemannian_gradient(position, estimator.gradient(position, prepared))

    number = jax.tree.leaves(pairs)[0].shape[0]
    gradients = jax.lax.map(
        lambda row: gradient(*row), (jax.random.split(key, number), pairs), batch_size=min(64, number)
    )
    return jax.tree.map(lambda g: g - jnp.mean(g, axis=0), gradients)


def _covariance(manifold: Manifold, position: Position, half: Tangent, scale: Float[Array, ""]) -> Operator:
    """The sample covariance of some gradients, as an operator on tangents."""
    count = jax.tree.leaves(half)[0].shape[0]

    def apply(u: Tangent) -> Tangent:
        along = jax.vmap(manifold.inner, (None, 0, None))(position, half, u) * (scale / (count - 1))
        return jax.tree.map(lambda g: jnp.tensordot(along.astype(g.dtype), g, 1), half)

    return apply


def _average(key: RandomKey, manifold: Manifold, position: Position, operator: Operator) -> Array:
    """The trace over the dimension.

    It is exact where the operator is a multiple of the identity, and on flat space where it is diagonal.
    """
    directions = jax.vmap(lambda k: _signs(k, manifold, position))(jax.random.split(key, 32))
    along = jax.vmap(lambda u: manifold.inner(position, u, operator(u)))(directions)
    squares = jax.vmap(manifold.inner, (None, 0, 0))(position, directions, directions)
    return jnp.sum(along) / jnp.sum(squares)


def _along_the_largest(
    key: RandomKey, manifold: Manifold, position: Position, seek: Operator, measure: Operator
) -> Array:
    """Size of ``measure`` along the direction in which ``seek`` is largest, of either sign."""

    def iterate(_: Array, u: Tangent) -> Tangent:
        return _unit(manifold, position, seek(seek(u)))

    start = _unit(manifold, position, manifold.random_tangent(key, position))
    u = jax.lax.fori_loop(0, _ITERATIONS, iterate, start)
    # Not u against its own image: where values of opposite sign are equally large, u is a mixture of their
    # directions, along which they cancel.
    image = _unit(manifold, position, seek(u))
    return jnp.abs(manifold.inner(position, image, measure(u)))


def _stated(
    estimator: Estimator, position: Position, kept: Any, key: RandomKey, rows: PyTree
) -> NoiseVariance:
    prepared, _ = estimator.prepare(key, kept, position, rows)
    return estimator.noise_variance(position, prepared)


def _apply_stated(manifold: Manifold, position: Position, stated: NoiseVariance, u: Tangent) -> Tangent:
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
    if not jax.tree.leaves(stated):
        return jnp.zeros(())
    variances = _tree.broadcast_prefix(stated, position)
    sizes = [
        jnp.max(jnp.linalg.eigvalsh(v)) if is_matrix(v[0], x) else jnp.max(v)
        for v, x in zip(variances, jax.tree.leaves(position), strict=True)
    ]
    return jnp.max(jnp.stack(sizes))


def _signs(key: RandomKey, manifold: Manifold, position: Position) -> Tangent:
    """The tangent part of random signs."""
    leaves, structure = jax.tree.flatten(position)
    signs = [
        jax.random.rademacher(jax.random.fold_in(key, i), leaf.shape, leaf.dtype)
        for i, leaf in enumerate(leaves)
    ]
    return manifold.to_tangent(position, jax.tree.unflatten(structure, signs))


def _unit(manifold: Manifold, position: Position, u: Tangent) -> Tangent:
    norm = jnp.sqrt(manifold.inner(position, u, u))
    return jax.tree.map(lambda leaf: leaf / jnp.where(norm > 0, norm, 1).astype(leaf.dtype), u)
