"""Diagonal metrics from a user's function."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from geodrift._types import Position, Scalar, Tangent
from geodrift.metrics._base import Metric


class DiagonalMetric(Metric):
    """Base class of diagonal metrics: all methods but ``inverse_diagonal`` and the divergences."""

    def apply(self, x: Position, u: Tangent) -> Tangent:
        """Entry by entry."""
        return jax.tree.map(lambda g, ui: ui / g, self.inverse_diagonal(x), u)

    def inverse(self, x: Position, u: Tangent) -> Tangent:
        """Entry by entry."""
        return jax.tree.map(lambda g, ui: g * ui, self.inverse_diagonal(x), u)

    def inverse_sqrt(self, x: Position, u: Tangent) -> Tangent:
        """Entry by entry."""
        return jax.tree.map(lambda g, ui: jnp.sqrt(g) * ui, self.inverse_diagonal(x), u)

    def log_determinant(self, x: Position) -> Scalar:
        """Minus the sum of the logarithms."""
        logarithms = [jnp.sum(jnp.log(g)) for g in jax.tree.leaves(self.inverse_diagonal(x))]
        return -jnp.sum(jnp.stack(logarithms))


class Diagonal(DiagonalMetric):
    """A diagonal metric, given by the diagonal of its inverse.

    Args:
        function: ``function(x)``: the positive diagonal of ``G(x)^-1``, of the position's structure, whose
            leaves broadcast to the position's; or one scalar, which stands for all entries.
        separable: Each entry of ``function(x)`` depends on the same entry of x alone. The divergences then
            cost one forward derivative instead of one for each entry. It is trusted, not checked. A scalar
            ``function`` needs one reverse derivative anyway.

    Example:
        >>> Diagonal(lambda x: 1.5 * jnp.sqrt(jnp.abs(potential(x) + 1.5)))  # Ma et al. (2015), F.1
    """

    function: Callable[[Position], PyTree] = eqx.field(static=True)
    separable: bool = eqx.field(static=True, default=False)

    def inverse_diagonal(self, x: Position) -> PyTree:
        """The function's value, for every entry."""
        return _spread(self.function(x), x)

    def divergence_inverse(self, x: Position) -> Tangent:
        """The derivative of each diagonal entry with respect to its own coordinate."""
        return self._divergence(self.function, x)

    def divergence_inverse_sqrt(self, x: Position) -> Tangent:
        """The same for the root."""
        return self._divergence(lambda z: jax.tree.map(jnp.sqrt, self.function(z)), x)

    def _divergence(self, function: Callable[[Position], PyTree], x: Position) -> Tangent:
        if _is_scalar(jax.eval_shape(function, x)):
            return jax.grad(function)(x)

        def entries(z: Position) -> PyTree:
            return _spread(function(z), z)

        if self.separable:
            return jax.jvp(entries, (x,), (jax.tree.map(jnp.ones_like, x),))[1]
        return diagonal_divergence(entries, x)


def diagonal_divergence(function: Callable[[Position], PyTree], x: Position) -> Tangent:
    """The derivative of each entry of ``function(x)`` with respect to the same entry of x."""
    flat, unravel = ravel_pytree(x)

    def own(k: Array) -> Float[Array, ""]:
        unit = jnp.zeros_like(flat).at[k].set(1)
        return jax.jvp(lambda z: ravel_pytree(function(unravel(z)))[0], (flat,), (unit,))[1][k]

    return unravel(jax.lax.map(own, jnp.arange(flat.size)))


def _is_scalar(value: PyTree) -> bool:
    return jax.tree_util.all_leaves([value]) and jnp.shape(value) == ()


def _spread(value: PyTree, x: Position) -> PyTree:
    """``value``, broadcast to every entry of x."""
    if _is_scalar(value):
        return jax.tree.map(lambda leaf: jnp.full(leaf.shape, value, leaf.dtype), x)
    return jax.tree.map(lambda v, leaf: jnp.broadcast_to(jnp.asarray(v, leaf.dtype), leaf.shape), value, x)
