"""Drift and noise of Langevin dynamics with a metric."""

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from geodrift import _tree
from geodrift._types import NoiseVariance, Position, RandomKey, Scalar, Tangent
from geodrift.integrators._variance_shapes import is_matrix
from geodrift.manifolds import Euclidean, Product
from geodrift.metrics import Metric


def metric_drift(metric: Metric, x: Position, gradient: Tangent) -> Tangent:
    """``G^-1 grad log p + Gamma``."""
    return _tree.add(metric.inverse(x, gradient), metric.divergence_inverse(x))


def metric_noise(
    key: RandomKey, metric: Metric, x: Position, h: Scalar, variance: NoiseVariance
) -> tuple[Tangent, Bool[Array, ""]]:
    """A draw of ``N(0, 2h G^-1 - h^2 G^-1 V G^-1)``.

    Args:
        key: Random key.
        metric: G.
        x: Position.
        h: Step size, time.
        variance: V, covariance of the gradient's noise; or None.

    Returns:
        The noise, and whether a variance was negative, which is then taken as 0.
    """
    white = Product(Euclidean()).random_tangent(key, x)
    if variance is None:
        scaled = _tree.axpy(jnp.sqrt(2 * h), white, jax.tree.map(jnp.zeros_like, x))
        return metric.inverse_sqrt(x, scaled), jnp.zeros((), bool)
    leaves, structure = jax.tree.flatten(x)
    spread = zip(_tree.broadcast_prefix(variance, x), leaves, strict=True)
    variances = [jnp.asarray(v, leaf.dtype) for v, leaf in spread]
    diagonal = metric.inverse_diagonal(x)
    if diagonal is None or any(is_matrix(v, leaf) for v, leaf in zip(variances, leaves, strict=True)):
        return _dense_noise(metric, x, white, h, variances)
    left = [
        2 * jnp.asarray(h, g.dtype) * g - (h * g).astype(g.dtype) ** 2 * v
        for g, v in zip(jax.tree.leaves(diagonal), variances, strict=True)
    ]
    noise = [jnp.sqrt(jnp.maximum(s, 0)) * w for s, w in zip(left, jax.tree.leaves(white), strict=True)]
    negative = jnp.any(jnp.stack([jnp.any(s < 0) for s in left]))
    return jax.tree.unflatten(structure, noise), negative


def _dense_noise(
    metric: Metric, x: Position, white: Tangent, h: Scalar, variances: list[Array]
) -> tuple[Tangent, Bool[Array, ""]]:
    """The noise as ``S (2h - h^2 S V S)^1/2 z`` with ``S = G^-1/2``, by matrices over all entries of x."""
    z, unravel = ravel_pytree(white)
    h = jnp.asarray(h, z.dtype)

    def root(u: Float[Array, " d"]) -> Float[Array, " d"]:
        return ravel_pytree(metric.inverse_sqrt(x, unravel(u)))[0]

    blocks = [_as_matrix(v, leaf) for v, leaf in zip(variances, jax.tree.leaves(x), strict=True)]
    identity = jnp.eye(z.size, dtype=z.dtype)
    columns = jax.vmap(root)(identity)
    covariance = 2 * h * identity - h * h * columns @ jax.scipy.linalg.block_diag(*blocks) @ columns
    eigenvalues, vectors = jnp.linalg.eigh((covariance + covariance.T) / 2)
    rounding = 100 * z.size * jnp.finfo(z.dtype).eps * 2 * h
    drawn = vectors @ (jnp.sqrt(jnp.maximum(eigenvalues, 0)) * (vectors.T @ z))
    return unravel(root(drawn)), jnp.any(eigenvalues < -rounding)


def _as_matrix(variance: Array, leaf: Array) -> Float[Array, "d d"]:
    """V of a leaf as a matrix over all entries of the leaf."""
    if not is_matrix(variance, leaf):
        return jnp.diag(jnp.broadcast_to(variance, leaf.shape).ravel())
    n = leaf.shape[-1]
    rows = jnp.broadcast_to(variance, (*leaf.shape, n)).reshape(-1, n, n)
    return jax.scipy.linalg.block_diag(*rows)
