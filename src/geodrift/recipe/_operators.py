"""Linear operators between the parts of a point z: the values of the user's functions D(z) and Q(z).

z is a pytree, and so is everything that has its shape.
"""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, PyTree

from geodrift._tree import as_float_arrays
from geodrift._types import RandomKey
from geodrift.recipe._divergence import diagonal_derivative, matrix_divergence
from geodrift.recipe._parts import check_alike, check_leaves, white

# Largest defect of D and Q that passes, relative to their largest entry or eigenvalue: far above rounding,
# also of constants that are given in float32.
TOLERANCE = 1e-4

Noise = tuple[PyTree, Bool[Array, ""]]  # of a part, and whether there is none with this covariance


class Operator(eqx.Module):
    """A linear map M from one part of a point to another. Its methods are described here, once."""

    @abc.abstractmethod
    def matvec(self, v: PyTree) -> PyTree:
        """``M v``."""

    @abc.abstractmethod
    def transpose(self) -> "Operator":
        """``M^T``."""

    @abc.abstractmethod
    def divergence(self, at: Callable[[PyTree], Any], x: PyTree) -> PyTree:
        r""":math:`\sum_j \partial M_{ij} / \partial x_j`, exactly, a pytree like the row's part.

        Args:
            at: The operator as a function of the part it acts on; ``self`` is ``at(x)``.
            x: The part it acts on.
        """

    @abc.abstractmethod
    def check_fits(self, row: PyTree, column: PyTree, name: str) -> None:
        """Raise ValueError unless this maps from a part like ``column`` to one like ``row``."""

    def noise(self, key: RandomKey, like: PyTree) -> Noise:
        """A draw of N(0, 2 M), and whether M has a negative eigenvalue; only where M is symmetric.

        Args:
            key: Random key.
            like: A pytree with the structure, shapes and dtypes of the part.

        Returns:
            The noise, for which a negative eigenvalue counts as 0, and whether there is one.

        Raises:
            ValueError: The operator is of a kind that is no covariance.
        """
        del key, like
        raise ValueError(f"D holds {type(self).__name__} on its diagonal, which is not a covariance")

    def __neg__(self) -> "Operator":
        return Negative(self)


class Negative(Operator):
    """``-M`` of another operator M.

    Args:
        operator: M.
    """

    operator: Operator

    def matvec(self, v: PyTree) -> PyTree:
        """``-M v``."""
        return _negative(self.operator.matvec(v))

    def transpose(self) -> "Negative":
        """``-M^T``."""
        return Negative(self.operator.transpose())

    def divergence(self, at: Callable[[PyTree], Any], x: PyTree) -> PyTree:
        """Minus the divergence of M."""
        return _negative(self.operator.divergence(lambda x: at(x).operator, x))

    def check_fits(self, row: PyTree, column: PyTree, name: str) -> None:
        """Raise ValueError unless M fits."""
        self.operator.check_fits(row, column, name)


class Scalar(Operator):
    """A number times the identity.

    Args:
        value: The number.
    """

    value: Float[Array, ""] = eqx.field(converter=as_float_arrays)

    def matvec(self, v: PyTree) -> PyTree:
        """The number times v."""
        return jax.tree.map(lambda leaf: self.value * leaf, v)

    def transpose(self) -> "Scalar":
        """The operator itself: it is symmetric."""
        return self

    def divergence(self, at: Callable[[PyTree], Any], x: PyTree) -> PyTree:
        """The gradient of the number."""
        return jax.grad(lambda x: at(x).value)(x)

    def check_fits(self, row: PyTree, column: PyTree, name: str) -> None:
        """Raise ValueError unless both parts have the same shapes and the value is one number."""
        if self.value.ndim != 0:
            raise ValueError(f"{name} is Scalar of shape {self.value.shape}: give one number, or Diagonal")
        check_alike(row, column, f"{name} is Scalar")

    def noise(self, key: RandomKey, like: PyTree) -> Noise:
        """The square root of twice the number, times standard normal noise."""
        scale = _root_of_twice(self.value)
        return jax.tree.map(lambda n: scale * n, white(key, like)), self.value < 0


class Diagonal(Operator):
    """A diagonal matrix.

    Args:
        entries: A pytree like the part it acts on, whose leaves broadcast to that part's.
        elementwise: States that entry i is a function of coordinate i alone. The divergence then costs one
            directional derivative, else one for each coordinate. `check` tests it.
    """

    entries: PyTree = eqx.field(converter=as_float_arrays)
    elementwise: bool = eqx.field(static=True, default=False)

    def matvec(self, v: PyTree) -> PyTree:
        """The product, entry by entry."""
        return jax.tree.map(jnp.multiply, self.entries, v)

    def transpose(self) -> "Diagonal":
        """The operator itself: it is symmetric."""
        return self

    def divergence(self, at: Callable[[PyTree], Any], x: PyTree) -> PyTree:
        """The derivative of each entry along its own coordinate."""

        def entries(x: PyTree) -> PyTree:
            return jax.tree.map(lambda d, xi: jnp.broadcast_to(d, xi.shape), at(x).entries, x)

        return diagonal_derivative(entries, x, self.elementwise)

    def check_fits(self, row: PyTree, column: PyTree, name: str) -> None:
        """Raise ValueError unless both parts have the same shapes, to which the entries broadcast."""
        check_alike(row, column, f"{name} is Diagonal")
        check_leaves(self.entries, column, lambda x: x, f"{name}: entries of Diagonal")

    def noise(self, key: RandomKey, like: PyTree) -> Noise:
        """The square roots of twice the entries, times standard normal noise."""
        noise = jax.tree.map(lambda d, n: _root_of_twice(d) * n, self.entries, white(key, like))
        # No tolerance: the largest entry, which it would be relative to, costs ten times as much as this.
        negative = [jnp.any(d < 0) for d in jax.tree.leaves(self.entries)]
        return noise, jnp.any(jnp.stack(negative))


class Dense(Operator):
    """Any square matrix, stored in full.

    Args:
        matrix: ``[n, n]`` over the entries of the part it acts on, its leaves flattened in order.
    """

    matrix: Float[Array, "n n"] = eqx.field(converter=as_float_arrays)

    def matvec(self, v: PyTree) -> PyTree:
        """The product."""
        flat, unflatten = ravel_pytree(v)
        return unflatten((self.matrix @ flat).astype(flat.dtype))

    def transpose(self) -> "Dense":
        """The transpose."""
        return Dense(self.matrix.T)

    def divergence(self, at: Callable[[PyTree], Any], x: PyTree) -> PyTree:
        """The derivative of each column along its own coordinate, summed."""
        flat, unflatten = ravel_pytree(x)
        return unflatten(matrix_divergence(lambda x: at(x).matrix, x).astype(flat.dtype))

    def check_fits(self, row: PyTree, column: PyTree, name: str) -> None:
        """Raise ValueError unless both parts have the same shapes, with n entries."""
        check_alike(row, column, f"{name} is Dense")
        size = sum(jnp.size(leaf) for leaf in jax.tree.leaves(column))
        if self.matrix.shape != (size, size):
            raise ValueError(f"{name}: Dense has shape {self.matrix.shape}, must be {(size, size)}")

    def noise(self, key: RandomKey, like: PyTree) -> Noise:
        """The symmetric root of twice the matrix, times standard normal noise.

        The symmetric root is a smooth function of z, also where the matrix is singular.
        """
        flat, unflatten = ravel_pytree(white(key, like))
        root, eigenvalues, _ = symmetric_root(2 * self.matrix)
        noise = unflatten((root @ flat).astype(flat.dtype))
        # A singular matrix has eigenvalues 0 up to rounding, which must not count as negative.
        return noise, eigenvalues[0] < -TOLERANCE * jnp.max(jnp.abs(eigenvalues))


def symmetric_root(
    matrix: Float[Array, "... n n"],
) -> tuple[Float[Array, "... n n"], Float[Array, "... n"], Float[Array, "... n n"]]:
    """The symmetric root of a symmetric matrix, negative eigenvalues taken as 0.

    Returns:
        The root, the eigenvalues, the least one first, and their vectors as columns.
    """
    eigenvalues, vectors = jnp.linalg.eigh(matrix)
    root = (vectors * jnp.sqrt(jnp.maximum(eigenvalues, 0))[..., None, :]) @ jnp.swapaxes(vectors, -1, -2)
    return root, eigenvalues, vectors


def _root_of_twice(value: Array) -> Array:
    """``sqrt(2 value)``, of what is negative 0."""
    return jnp.sqrt(2 * jnp.maximum(value, 0))


def _negative(v: PyTree) -> PyTree:
    return jax.tree.map(jnp.negative, v)
