r"""The part of a position that has edges, and identities of Stein whose fields vanish there.

Let l and u be the ends of the chord through x along its number j (`manifolds._walls`). The field
:math:`R_j = w_j e_j` with :math:`w_j = (x_j - l)(u - x_j)` crosses no wall; where one of the ends is infinite
its factor is left out. On a simplex the chord leads from 0 to 1 along :math:`e_j - x`, and
:math:`R_j = x_j (e_j - x)`. So :math:`E[R_j \cdot \nabla \log p + \mathrm{div} R_j] = 0` for every density p
of which :math:`w_j p \to 0` at the walls, be its gradient without bound there or not. With m the mean

* the term of :math:`R_j`, over :math:`E[w_j]` and times the standard deviation of :math:`x_j`, is the shift
  of the mean in standard deviations;
* that of :math:`(x_j - m_j) R_j`, over :math:`E[w_j]`, is what the variance lacks of the target's.

Where the target is a Dirichlet law, or the numbers have gamma laws, both are exact of small differences.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift._types import Position
from geodrift.driver._position_part import Known, PositionPart, SteinTerms, Terms
from geodrift.manifolds import Manifold, Simplex
from geodrift.manifolds._walls import chords, has_walls


class EdgedPart(PositionPart):
    """The leaves of a position whose manifolds have walls; its directions are the numbers."""

    @staticmethod
    def knows(manifold: Manifold) -> bool:
        """Whether it has walls."""
        return has_walls(manifold)

    def numbers(self, early: Float[np.ndarray, "draw n"]) -> Known:
        """The mean m."""
        return (early.mean(axis=0),)

    def terms(self, position: Position, gradient: Position, numbers: Known) -> tuple[Float[Array, " n"], ...]:
        """With the sign of what is too much; also w."""
        points, slopes = jax.tree.leaves(position), jax.tree.leaves(gradient)
        found = [_term(m, points[i], slopes[i]) for i, m in zip(self.places, self.manifolds, strict=True)]
        shift, weights = (jnp.concatenate(each) for each in zip(*found, strict=True))
        return -shift, -(self.flat(position) - numbers[0]) * shift - weights, weights

    def measured(
        self,
        terms: Terms,
        numbers: Known,
        values: Float[np.ndarray, "chain draw n"],
        names: list[str],
    ) -> SteinTerms:
        """Along every number."""
        shift, excess, weights = terms
        mean = weights.mean(axis=(0, 1))
        return SteinTerms(excess / mean, shift * values.std(axis=(0, 1)) / mean, names)


def _term(
    manifold: Manifold, x: Float[Array, "..."], gradient: Float[Array, "..."]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """The term of each R_j, and w_j."""
    if isinstance(manifold, Simplex):
        along = x * (gradient - jnp.sum(x * gradient, axis=-1, keepdims=True))
        return jnp.ravel(along + 1 - x.shape[-1] * x), jnp.ravel(x * (1 - x))
    lower, upper = chords(manifold, x)
    is_below, is_above = jnp.isfinite(lower), jnp.isfinite(upper)
    from_lower, to_upper = jnp.where(is_below, x - lower, 1), jnp.where(is_above, upper - x, 1)
    weight = from_lower * to_upper
    divergence = jnp.where(is_below, to_upper, 0) - jnp.where(is_above, from_lower, 0)
    return jnp.ravel(weight * gradient + divergence), jnp.ravel(weight)
