"""Metrics that are the same everywhere: preconditioners."""

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree
from numpy.typing import ArrayLike

from geodrift._errors import is_concrete
from geodrift._tree import as_float_arrays, broadcast_prefix, check_broadcasts
from geodrift._types import Position, Scalar, Tangent
from geodrift.metrics._base import Metric
from geodrift.metrics._dense import is_positive_definite, symmetric_sqrt
from geodrift.metrics._diagonal import DiagonalMetric
from geodrift.schedules import check_positive


class Constant(DiagonalMetric):
    """A constant diagonal metric, given by the diagonal of its inverse.

    Args:
        inverse: ``G^-1``: a positive number, or a prefix of the position's tree whose leaves broadcast to
            the position's leaves, in the square of the position's units per time.

    Raises:
        ValueError: An entry is not positive.
    """

    values: PyTree[Float[Array, "..."]]

    def __init__(self, inverse: PyTree = 1.0) -> None:
        self.values = as_float_arrays(inverse)
        for leaf in jax.tree.leaves(self.values):
            check_positive("inverse", leaf)

    def inverse_diagonal(self, x: Position) -> PyTree:
        """The values given."""
        check_broadcasts("inverse", self.values, x)
        leaves, structure = jax.tree.flatten(x)
        spread = zip(broadcast_prefix(self.values, x), leaves, strict=True)
        full = [jnp.broadcast_to(value, leaf.shape).astype(leaf.dtype) for value, leaf in spread]
        return jax.tree.unflatten(structure, full)

    def divergence_inverse(self, x: Position) -> Tangent:
        """0."""
        return jax.tree.map(jnp.zeros_like, x)

    def divergence_inverse_sqrt(self, x: Position) -> Tangent:
        """0."""
        return jax.tree.map(jnp.zeros_like, x)


class ConstantDense(Metric):
    """A constant matrix, given by its inverse, such as an estimate of the posterior covariance.

    Args:
        inverse: ``G^-1``: symmetric positive definite ``[d, d]`` over the d entries of the position, in the
            order of `jax.flatten_util.ravel_pytree`.

    Raises:
        ValueError: It is no such matrix.
    """

    matrix: Float[Array, "d d"]  # G^-1
    root: Float[Array, "d d"]  # G^-1/2

    def __init__(self, inverse: ArrayLike) -> None:
        self.matrix = as_float_arrays(inverse)
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise ValueError(f"inverse has shape {self.matrix.shape}: must be a square matrix [d, d]")
        if is_concrete(self.matrix) and not is_positive_definite(self.matrix):
            raise ValueError("inverse: must be symmetric and positive definite")
        self.root = symmetric_sqrt(self.matrix)

    def apply(self, x: Position, u: Tangent) -> Tangent:
        """By a Cholesky factor."""
        del x
        flat, unravel = ravel_pytree(u)
        return unravel(jax.scipy.linalg.solve(self.matrix.astype(flat.dtype), flat, assume_a="pos"))

    def inverse(self, x: Position, u: Tangent) -> Tangent:
        """The matrix times the vector."""
        del x
        flat, unravel = ravel_pytree(u)
        return unravel(self.matrix.astype(flat.dtype) @ flat)

    def inverse_sqrt(self, x: Position, u: Tangent) -> Tangent:
        """The root times the vector."""
        del x
        flat, unravel = ravel_pytree(u)
        return unravel(self.root.astype(flat.dtype) @ flat)

    def log_determinant(self, x: Position) -> Scalar:
        """Of the inverse of the matrix."""
        del x
        return -jnp.linalg.slogdet(self.matrix)[1]

    def divergence_inverse(self, x: Position) -> Tangent:
        """0."""
        return jax.tree.map(jnp.zeros_like, x)

    def divergence_inverse_sqrt(self, x: Position) -> Tangent:
        """0."""
        return jax.tree.map(jnp.zeros_like, x)
