"""Extreme curvatures of the log density, from products of its Hessian with vectors."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift import _tree
from geodrift._types import Position, RandomKey, Tangent
from geodrift.estimators import Estimator
from geodrift.manifolds import Manifold

PRODUCTS = 16
"""Products of one estimate. The largest eigenvalue is right to a few percent; the smallest is
too large if the Hessian has more different eigenvalues than this."""


def hessian_product(
    estimator: Estimator, manifold: Manifold, position: Position, prepared: Any, u: Tangent
) -> Tangent:
    """The Hessian of -log p times a tangent vector u.

    It is the covariant derivative of the gradient along u: the tangent part of the derivative of the gradient
    along the geodesic, for the metric of the surrounding space.
    """

    def gradient_field(t: Float[Array, ""]) -> Tangent:
        x, _ = manifold.geodesic(position, u, t)
        return manifold.riemannian_gradient(x, estimator.gradient(x, prepared))

    zero = jnp.zeros((), jax.tree.leaves(position)[0].dtype)
    slope = jax.jvp(gradient_field, (zero,), (jnp.ones_like(zero),))[1]
    return jax.tree.map(jnp.negative, manifold.to_tangent(position, slope))


def lanczos(
    key: RandomKey, manifold: Manifold, position: Position, product: Callable[[Tangent], Tangent]
) -> tuple[Float[Array, " products"], Float[Array, " products"]]:
    """The Lanczos method: a symmetric operator as a tridiagonal matrix in a Krylov basis.

    Its largest and its smallest eigenvalue come from the same few products. Inner products are the
    manifold's.

    Args:
        key: Random key of the first vector.
        manifold: The manifold.
        position: Where.
        product: The operator times a tangent vector.

    Returns:
        The diagonal, and the off-diagonal (whose last entry is beyond the matrix).
    """
    dim = manifold.dim(_tree.shapes(position))
    steps = min(PRODUCTS, dim)

    def inner(u: Tangent, v: Tangent) -> Float[Array, ""]:
        return manifold.inner(position, u, v)

    def orthogonalised(basis: Any, w: Tangent) -> Tangent:
        coefficients = jax.vmap(inner, (0, None))(basis, w)
        return jax.tree.map(
            lambda b, leaf: leaf - jnp.tensordot(coefficients.astype(leaf.dtype), b, 1), basis, w
        )

    def iteration(carry: tuple, i: Array) -> tuple[tuple, tuple]:
        basis, u = carry
        basis = jax.tree.map(lambda b, leaf: b.at[i].set(leaf), basis, u)
        w = product(u)
        alpha = inner(u, w)
        w = orthogonalised(basis, orthogonalised(basis, w))  # twice, because of rounding
        beta = jnp.sqrt(inner(w, w))
        w = jax.tree.map(lambda leaf: leaf / jnp.where(beta > 0, beta, 1).astype(leaf.dtype), w)
        return (basis, w), (alpha, beta)

    start = manifold.random_tangent(key, position)
    norm = jnp.sqrt(inner(start, start))
    start = jax.tree.map(lambda leaf: leaf / norm.astype(leaf.dtype), start)
    basis = jax.tree.map(lambda leaf: jnp.zeros((steps, *leaf.shape), leaf.dtype), start)
    _, (alpha, beta) = jax.lax.scan(iteration, (basis, start), jnp.arange(steps))
    return alpha, beta


def extremes(
    alpha: Float[Array | np.ndarray, " products"], beta: Float[Array | np.ndarray, " products"]
) -> tuple[float, float]:
    """Largest absolute and smallest positive eigenvalue of a tridiagonal matrix from `lanczos`.

    Args:
        alpha: The diagonal.
        beta: The off-diagonal.

    Returns:
        Both; NaN if the matrix is not finite.
    """
    alpha, beta = np.asarray(alpha, float), np.asarray(beta, float)
    if not (np.all(np.isfinite(alpha)) and np.all(np.isfinite(beta))):
        return np.nan, np.nan
    # Where the off-diagonal vanishes the Krylov basis is complete; what follows is rounding.
    small = np.flatnonzero(beta[:-1] <= 1e-5 * np.max(np.abs(alpha)) + np.finfo(float).tiny)
    size = int(small[0]) + 1 if len(small) else len(alpha)
    matrix = np.diag(alpha[:size]) + np.diag(beta[: size - 1], 1) + np.diag(beta[: size - 1], -1)
    values = np.linalg.eigvalsh(matrix)
    largest = float(np.max(np.abs(values)))
    positive = values[values > 1e-4 * largest]
    return largest, float(positive[0]) if len(positive) else largest
