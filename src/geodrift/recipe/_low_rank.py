"""Operators of low rank: ``A B^T``, ``U U^T`` plus a diagonal, and the skew ``A B^T - B A^T``."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from geodrift._tree import add, as_float_arrays
from geodrift._types import RandomKey
from geodrift.recipe._divergence import outer_divergence
from geodrift.recipe._operators import Diagonal, Noise, Operator
from geodrift.recipe._parts import check_alike, check_leaves


class Outer(Operator):
    r""":math:`A B^T`: an operator of low rank, also between parts of different shapes.

    Args:
        left: A, a pytree like the row's part with leaves ``[*leaf, k]``.
        right: B, a pytree like the column's part with leaves ``[*leaf, k]``.
        elementwise: States that each row of B is a function of its own coordinate alone, which makes the
            divergence cheaper. `check` tests it.
    """

    left: PyTree = eqx.field(converter=as_float_arrays)
    right: PyTree = eqx.field(converter=as_float_arrays)
    elementwise: bool = eqx.field(static=True, default=False)

    def matvec(self, v: PyTree) -> PyTree:
        """``A (B^T v)``."""
        return _combine(self.left, _coefficients(self.right, v))

    def transpose(self) -> "Outer":
        """``B A^T``."""
        return Outer(self.right, self.left)

    def divergence(self, at: Callable[[PyTree], Any], x: PyTree) -> PyTree:
        """The derivative of A along B, and A times the divergences of B."""

        def factors(x: PyTree) -> tuple[PyTree, PyTree]:
            return at(x).left, at(x).right

        return outer_divergence(factors, x, self.elementwise)

    def check_fits(self, row: PyTree, column: PyTree, name: str) -> None:
        """Raise ValueError unless A has the shapes of the row's part and B those of the column's."""
        rank = jax.tree.leaves(self.right)[0].shape[-1:]
        check_leaves(self.left, row, lambda shape: shape + rank, f"{name}: left of Outer")
        check_leaves(self.right, column, lambda shape: shape + rank, f"{name}: right of Outer")


class LowRank(Operator):
    r""":math:`U U^T + d`: symmetric, of low rank plus a diagonal.

    Args:
        directions: U, a pytree like the part it acts on with leaves ``[*leaf, k]``.
        diagonal: d, 0 or more: a number, or a pytree like the part it acts on.
        elementwise: States that row i of U and entry i of d are functions of coordinate i alone, which makes
            the divergence cheaper. `check` tests it.
    """

    directions: PyTree = eqx.field(converter=as_float_arrays)
    diagonal: PyTree = eqx.field(converter=as_float_arrays, default=0.0)
    elementwise: bool = eqx.field(static=True, default=False)

    @property
    def outer(self) -> Outer:
        """``U U^T``."""
        return Outer(self.directions, self.directions, self.elementwise)

    @property
    def diagonal_operator(self) -> Diagonal:
        """The diagonal d, as an operator."""
        number = eqx.is_array(self.diagonal) and self.diagonal.ndim == 0
        entries = jax.tree.map(lambda u: self.diagonal, self.directions) if number else self.diagonal
        return Diagonal(entries, self.elementwise)

    def matvec(self, v: PyTree) -> PyTree:
        """``U (U^T v) + d v``."""
        return add(self.outer.matvec(v), self.diagonal_operator.matvec(v))

    def transpose(self) -> "LowRank":
        """The operator itself: it is symmetric."""
        return self

    def divergence(self, at: Callable[[PyTree], Any], x: PyTree) -> PyTree:
        """The sum of the divergences of both terms."""
        directions = self.outer.divergence(lambda x: at(x).outer, x)
        return add(directions, self.diagonal_operator.divergence(lambda x: at(x).diagonal_operator, x))

    def check_fits(self, row: PyTree, column: PyTree, name: str) -> None:
        """Raise ValueError unless both parts have the same shapes, and U and d fit them."""
        check_alike(row, column, f"{name} is LowRank")
        self.outer.check_fits(row, column, name)
        self.diagonal_operator.check_fits(row, column, name)

    def noise(self, key: RandomKey, like: PyTree) -> Noise:
        """Noise along the directions, plus the noise of the diagonal, which has to be 0 or more itself."""
        key_diagonal, key_directions = jax.random.split(key)
        first = jax.tree.leaves(self.directions)[0]
        along = jax.random.normal(key_directions, first.shape[-1:], first.dtype)
        low_rank = _combine(self.directions, jnp.sqrt(2.0) * along)
        of_diagonal, indefinite = self.diagonal_operator.noise(key_diagonal, like)
        return add(of_diagonal, low_rank), indefinite


class SkewLowRank(Operator):
    r""":math:`A B^T - B A^T`: skew by construction.

    Args:
        left: A, a pytree like the part it acts on with leaves ``[*leaf, k]``.
        right: B, likewise.
        elementwise: States that row i of A and row i of B are functions of coordinate i alone, which makes
            the divergence cheaper. `check` tests it.
    """

    left: PyTree = eqx.field(converter=as_float_arrays)
    right: PyTree = eqx.field(converter=as_float_arrays)
    elementwise: bool = eqx.field(static=True, default=False)

    @property
    def outer(self) -> Outer:
        """The operator as one product, ``[A, -B] [B, A]^T``."""

        def beside(x: PyTree, y: PyTree) -> PyTree:
            return jax.tree.map(lambda a, b: jnp.concatenate([a, b], axis=-1), x, y)

        minus = jax.tree.map(jnp.negative, self.right)
        return Outer(beside(self.left, minus), beside(self.right, self.left), self.elementwise)

    def matvec(self, v: PyTree) -> PyTree:
        """``A (B^T v) - B (A^T v)``."""
        return self.outer.matvec(v)

    def transpose(self) -> "SkewLowRank":
        """Minus the operator, which is skew: A and B exchanged."""
        return SkewLowRank(self.right, self.left, self.elementwise)

    def divergence(self, at: Callable[[PyTree], Any], x: PyTree) -> PyTree:
        """The divergence of the product."""
        return self.outer.divergence(lambda x: at(x).outer, x)

    def check_fits(self, row: PyTree, column: PyTree, name: str) -> None:
        """Raise ValueError unless both parts have the same shapes, and A and B fit them."""
        check_alike(row, column, f"{name} is SkewLowRank")
        rank = jax.tree.leaves(self.left)[0].shape[-1:]
        check_leaves(self.left, column, lambda shape: shape + rank, f"{name}: left of SkewLowRank")
        check_leaves(self.right, column, lambda shape: shape + rank, f"{name}: right of SkewLowRank")


def _coefficients(factor: PyTree, v: PyTree) -> Float[Array, " k"]:
    """``U^T v``."""

    def leaf(u: Array, vi: Array) -> Array:
        return jnp.tensordot(vi, u, axes=vi.ndim)

    return jnp.sum(jnp.stack(jax.tree.leaves(jax.tree.map(leaf, factor, v))), axis=0)


def _combine(factor: PyTree, coefficients: Float[Array, " k"]) -> PyTree:
    """``U c``."""
    return jax.tree.map(lambda u: u @ coefficients.astype(u.dtype), factor)
