"""The preconditioner of RMSProp as a metric; Li, Chen, Carlson & Carin (2016)."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from geodrift._errors import is_concrete
from geodrift._tree import as_float_arrays, broadcast_prefix
from geodrift._types import Position, Tangent
from geodrift.metrics._diagonal import DiagonalMetric, diagonal_divergence
from geodrift.schedules import check_positive


class RMSProp(DiagonalMetric):
    r""":math:`G^{-1} = 1 / (\lambda + \sqrt{a v + (1 - a) g(x)^2})`, entry by entry.

    v stands for the mean square of past gradients and g(x) for the gradient at x. v is fixed: where it
    follows the chain's own past, as in RMSProp itself, no divergence of this field makes the law right, and
    `PreconditionedSGLD` therefore fixes it after a while.

    Args:
        mean_square: v: positive; of the position's structure, or a prefix of it.
        gradient: ``g(x)``, of the position's structure; None leaves ``1 / (damping + sqrt(v))``, a constant.
            Its noise must be independent of that of the gradient which the sampler follows.
        decay: a, between 0 and 1.
        damping: :math:`\lambda`, positive, in the gradient's units.

    Raises:
        ValueError: An argument is outside its range.
    """

    mean_square: PyTree[Float[Array, "..."]] = eqx.field(converter=as_float_arrays)
    gradient: Callable[[Position], Tangent] | None = eqx.field(static=True, default=None)
    decay: Float[Array, ""] = eqx.field(converter=as_float_arrays, default=0.99)
    damping: Float[Array, ""] = eqx.field(converter=as_float_arrays, default=1e-5)

    def __check_init__(self) -> None:
        check_decay(self.decay)
        check_positive("damping", self.damping)

    def inverse_diagonal(self, x: Position) -> PyTree:
        """The preconditioner."""
        leaves, structure = jax.tree.flatten(x)
        past = [
            jnp.broadcast_to(v, leaf.shape).astype(leaf.dtype)
            for v, leaf in zip(broadcast_prefix(self.mean_square, x), leaves, strict=True)
        ]
        if self.gradient is not None:
            current = jax.tree.leaves(self.gradient(x))
            past = [
                (self.decay * v + (1 - self.decay) * g**2).astype(v.dtype)
                for v, g in zip(past, current, strict=True)
            ]
        return jax.tree.unflatten(structure, [1 / (self.damping.astype(v.dtype) + jnp.sqrt(v)) for v in past])

    def divergence_inverse(self, x: Position) -> Tangent:
        """Through the gradient's own derivative; 0 without a gradient."""
        if self.gradient is None:
            return jax.tree.map(jnp.zeros_like, x)
        return diagonal_divergence(self.inverse_diagonal, x)

    def divergence_inverse_sqrt(self, x: Position) -> Tangent:
        """The same for the root."""
        if self.gradient is None:
            return jax.tree.map(jnp.zeros_like, x)
        return diagonal_divergence(lambda z: jax.tree.map(jnp.sqrt, self.inverse_diagonal(z)), x)


def check_decay(decay: Float[Array, ""]) -> None:
    """Raise ValueError unless a concrete decay is between 0 and 1."""
    if is_concrete(decay) and not 0 < float(decay) < 1:
        raise ValueError(f"decay = {decay}: must be between 0 and 1")
