"""Coordinates of many dimensions from the curvature at one position, by products of the Hessian.

The scale of each number is from the length of its row of the Hessian, by products with random signs (Bekas,
Kokiopoulou & Saad 2007); the narrowest and, in coordinates in which these are as wide as the others, the
widest directions are found by the Lanczos method.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift._types import RandomKey
from geodrift.estimators._affine import Affine, Layout
from geodrift.estimators._low_rank import LowRank
from geodrift.tuning._directions import rescaled, widened

SIGNS = 16  # products of the Hessian with random signs
EXTREMES = 24  # directions at either end that are looked for
RESTARTS = 30  # of the Lanczos method, at most
TOLERANCE = 0.1  # of a curvature


def curvature_factor(
    key: RandomKey, density: Any, layout: Layout, position: Float[np.ndarray, " d"]
) -> tuple[LowRank, int]:
    """Coordinates in which curvatures at a position are about 1, and the number of products of the Hessian.

    Args:
        key: Random key, of signs and first vectors.
        density: Its ``value`` is the log density of a position.
        layout: The position's.
        position: Its numbers.

    Raises:
        ValueError: There is no curvature.
    """
    factor, taken = LowRank.of_scales(np.ones(layout.size)), 0
    first = np.asarray(jax.random.rademacher(key, (layout.size,)), np.float64)
    # The rows' lengths are those of narrow directions first, and once these are found of all others.
    for end in ("LA", "LA", "SA"):
        factor = rescaled(factor, curvature_scales(key, density, Affine.of(position, factor, layout)))
        product = _Product(density, layout, position, factor)
        curvatures, directions = _extreme(product, first, end)
        kept = curvatures > 0
        factor = widened(factor, directions[:, kept], np.diag(1 / curvatures[kept]))
        taken += SIGNS + product.taken
    return factor, taken


def curvature_scales(key: RandomKey, density: Any, affine: Affine) -> Float[np.ndarray, " d"]:
    """For each coordinate the root of the inverse of the length of its row of the Hessian.

    Raises:
        ValueError: There is no curvature.
    """
    squares = np.asarray(_square_rows(key, density, affine), np.float64)
    known = np.isfinite(squares) & (squares > 0)
    if not known.any():
        raise ValueError(
            "step_size = None: the log density is flat: there is no curvature in any direction; check it, or"
            " give a step size"
        )
    return np.where(known, squares, np.median(squares[known])) ** -0.25


@eqx.filter_jit
def _square_rows(key: RandomKey, density: Any, affine: Affine) -> Float[Array, " d"]:
    """The squared length of each row of the Hessian, estimated."""

    def product(key_signs: RandomKey) -> Float[Array, " d"]:
        signs = jax.random.rademacher(key_signs, affine.centre.shape, affine.centre.dtype)
        return _hessian_product(density, affine, signs) ** 2

    return jnp.mean(jax.lax.map(product, jax.random.split(key, SIGNS)), axis=0)


class _Product:
    """Products of the Hessian of -log p with vectors of coordinates, and how many there were."""

    def __init__(
        self, density: Any, layout: Layout, position: Float[np.ndarray, " d"], factor: LowRank
    ) -> None:
        self.density, self.affine, self.taken = density, Affine.of(position, factor, layout), 0

    def __call__(self, y: Float[np.ndarray, "..."]) -> Float[np.ndarray, " d"]:
        """The product with y."""
        self.taken += 1
        along = jnp.asarray(np.ravel(y), self.affine.centre.dtype)
        return np.asarray(_hessian_product(self.density, self.affine, along), np.float64)


def _extreme(
    product: _Product, first: Float[np.ndarray, " d"], which: str
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "d k"]]:
    """Curvatures at one end and their directions: those that are far enough from others to be found."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh  # takes a while to load

    operator = LinearOperator((len(first), len(first)), matvec=product, dtype=np.float64)
    try:
        return eigsh(operator, k=EXTREMES, which=which, v0=first, tol=TOLERANCE, maxiter=RESTARTS)
    except ArpackNoConvergence as ended:
        return ended.eigenvalues, ended.eigenvectors


@eqx.filter_jit
def _hessian_product(density: Any, affine: Affine, y: Float[Array, " d"]) -> Float[Array, " d"]:
    gradient = jax.grad(lambda y: -density.value(affine(y)))
    return jax.jvp(gradient, (jnp.zeros_like(y),), (y,))[1]
