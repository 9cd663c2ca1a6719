"""Dense metrics from a user's function, and the symmetric root of a matrix."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, ArrayLike, Float

from geodrift._types import Position, Scalar, Tangent
from geodrift.metrics._base import Metric

_ASYMMETRY = 1e-5  # of correlations: far above float32's rounding


class Dense(Metric):
    """A metric given as a matrix, such as a Fisher information plus the prior's precision.

    Every method factors the matrix: cost of order d^3.

    Args:
        function: ``function(x)``: G(x), symmetric positive definite ``[d, d]`` over the d entries of the
            position, in the order of `jax.flatten_util.ravel_pytree`.
    """

    function: Callable[[Position], Float[Array, "d d"]] = eqx.field(static=True)

    def apply(self, x: Position, u: Tangent) -> Tangent:
        """The matrix times the vector."""
        return self._on_flat(u, lambda v: self.function(x) @ v)

    def inverse(self, x: Position, u: Tangent) -> Tangent:
        """By a Cholesky factor."""
        return self._on_flat(u, lambda v: jax.scipy.linalg.solve(self.function(x), v, assume_a="pos"))

    def inverse_sqrt(self, x: Position, u: Tangent) -> Tangent:
        """By the eigenvectors."""
        return self._on_flat(u, lambda v: symmetric_sqrt(jnp.linalg.inv(self.function(x))) @ v)

    def log_determinant(self, x: Position) -> Scalar:
        """Of the matrix."""
        return jnp.linalg.slogdet(self.function(x))[1]

    @staticmethod
    def _on_flat(u: Tangent, function: Callable[[Array], Array]) -> Tangent:
        flat, unravel = ravel_pytree(u)
        return unravel(function(flat))


def is_positive_definite(matrices: Float[ArrayLike, "*batch n n"]) -> bool:
    """Whether matrices that have values now are symmetric and positive definite, in any units of entries."""
    given = np.asarray(matrices, np.float64)
    diagonal = np.diagonal(given, axis1=-2, axis2=-1)
    if not np.all(diagonal > 0):
        return False
    # As correlations: beside a number of a fixed size, or beside the largest entry, small ones may be any.
    scaled = given / np.sqrt(diagonal[..., :, None] * diagonal[..., None, :])
    asymmetry = np.abs(scaled - np.swapaxes(scaled, -1, -2)).max(initial=0.0)
    return bool(asymmetry <= _ASYMMETRY) and bool(np.all(np.linalg.eigvalsh(scaled) > 0))


class _Eigen(NamedTuple):
    """Eigenvalues and eigenvectors (in columns) of a symmetric matrix."""

    values: Float[Array, "*batch n"]
    vectors: Float[Array, "*batch n n"]


@jax.custom_jvp
def symmetric_sqrt(matrix: Float[Array, "*batch n n"]) -> Float[Array, "*batch n n"]:
    """The symmetric root S of a symmetric positive matrix, differentiable where eigenvalues coincide.

    NaN where an eigenvalue is negative beyond rounding.
    """
    return _compose(_root(matrix))


@symmetric_sqrt.defjvp
def _symmetric_sqrt_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    """``S dS + dS S = dM``, solved in the eigenbasis; the eigenvectors' own derivatives are singular."""
    (matrix,), (change,) = primals, tangents
    values, vectors = eigen = _root(matrix)
    transposed = jnp.swapaxes(vectors, -1, -2)
    rotated = transposed @ change @ vectors
    derivative = rotated / (values[..., :, None] + values[..., None, :])
    return _compose(eigen), vectors @ derivative @ transposed


def _root(matrix: Float[Array, "*batch n n"]) -> _Eigen:
    """Square roots of the eigenvalues, and the eigenvectors."""
    values, vectors = jnp.linalg.eigh((matrix + jnp.swapaxes(matrix, -1, -2)) / 2)
    rounding = matrix.shape[-1] * jnp.finfo(matrix.dtype).eps * jnp.max(jnp.abs(values), -1, keepdims=True)
    return _Eigen(jnp.sqrt(jnp.where(values < -rounding, jnp.nan, jnp.maximum(values, 0))), vectors)


def _compose(eigen: _Eigen) -> Float[Array, "*batch n n"]:
    return (eigen.vectors * eigen.values[..., None, :]) @ jnp.swapaxes(eigen.vectors, -1, -2)
