"""The protocol of a metric. Its methods are described here, once."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from geodrift._types import Position, Scalar, Tangent


class Metric(eqx.Module):
    r"""A chart of coordinates with a Riemannian metric G(x), symmetric and positive definite.

    Positions x and vectors u are arrays, or pytrees of arrays of one structure. A metric is the matrix over
    all of their entries; none of the methods forms it unless it is dense. Samplers need G through its
    inverse: :math:`G^{-1}` scales their drift and noise, and its divergence makes the law right.

    The divergences have defaults by automatic differentiation, exact and at the cost of one forward
    derivative for each entry of the position; metrics with a closed form override them.
    """

    @abc.abstractmethod
    def apply(self, x: Position, u: Tangent) -> Tangent:
        """``G(x) u``."""

    @abc.abstractmethod
    def inverse(self, x: Position, u: Tangent) -> Tangent:
        """``G(x)^-1 u``."""

    @abc.abstractmethod
    def inverse_sqrt(self, x: Position, u: Tangent) -> Tangent:
        """``G(x)^-1/2 u``, the symmetric root: of a standard normal u it makes ``N(0, G^-1)``."""

    @abc.abstractmethod
    def log_determinant(self, x: Position) -> Scalar:
        """``log det G(x)``, summed over batch axes."""

    def inverse_diagonal(self, x: Position) -> PyTree | None:
        """The diagonal of ``G(x)^-1``, of the position's structure, where G is diagonal; else None."""
        del x
        return None

    @property
    def is_mirrored(self) -> bool:
        """Whether the chart is the positive orthant of a diagonal metric and `reflect` the absolute value."""
        return False

    def divergence_inverse(self, x: Position) -> Tangent:
        r""":math:`\Gamma_j = \sum_k \partial_k (G^{-1})_{jk}`; Patterson & Teh (2013), after eq. 3."""
        return divergence(self.inverse, x)

    def divergence_inverse_sqrt(self, x: Position) -> Tangent:
        r""":math:`\sum_k \partial_k (G^{-1/2})_{jk}`; Ma, Chen & Fox (2015), Algorithm 1."""
        return divergence(self.inverse_sqrt, x)

    def reflect(self, x: Position) -> tuple[Position, Tangent]:
        """The proposal reflected into the chart's domain, and the sign by which each entry was multiplied.

        The signs, +1 or -1, multiply a momentum too. The identity where the domain is all of space.
        """
        return x, jax.tree.map(jnp.ones_like, x)


def divergence(apply: Callable[[Position, Tangent], Tangent], x: Position) -> Tangent:
    r""":math:`\sum_k \partial_k M_{jk}` of the symmetric matrix field ``M(x) u = apply(x, u)``, exactly.

    One column at a time, so that no more than a vector is held.
    """
    flat, unravel = ravel_pytree(x)

    def add_column(total: Float[Array, " d"], k: Array) -> tuple[Float[Array, " d"], None]:
        unit = jnp.zeros_like(flat).at[k].set(1)
        _, tangent = jax.jvp(lambda z: ravel_pytree(apply(unravel(z), unravel(unit)))[0], (flat,), (unit,))
        return total + tangent, None

    total, _ = jax.lax.scan(add_column, jnp.zeros_like(flat), jnp.arange(flat.size))
    return unravel(total)
