r"""The part of a position that has edges, and identities of Stein whose fields vanish there.

On probability vectors :math:`R_j = x_j (e_j - x)` is tangent and crosses no face, and on positive numbers
:math:`R_j = x_j e_j` crosses none. So :math:`E[R_j \cdot \nabla \log p + \mathrm{div} R_j] = 0` for every
density p of which :math:`x_j p \to 0` at the edge, be its gradient without bound there or not. With
:math:`w_j = R_j \cdot \nabla x_j`, which is :math:`x_j (1 - x_j)` or :math:`x_j`,

* the term of :math:`R_j`, over :math:`E[w_j]` and times the standard deviation of :math:`x_j`, is the shift
  of the mean in standard deviations;
* that of :math:`(x_j - m_j) R_j`, over :math:`E[w_j]`, is what the variance lacks of the target's.

Where the target is a Dirichlet law, or the numbers have gamma laws, both are exact of small differences.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift._types import Position
from geodrift.driver._position_part import PositionPart, SteinTerms
from geodrift.manifolds import Manifold, PositiveOrthant, Simplex, leaf_manifolds


class EdgedPart(PositionPart):
    """The leaves that are probability vectors or positive numbers; its directions are the numbers."""

    are_shares: tuple[bool, ...] = eqx.field(static=True)  # and not positive numbers

    @classmethod
    def of(cls, manifold: Manifold, position: Position) -> "EdgedPart":
        """Of draws, leading axes [chain, draw]."""
        one = jax.tree.map(lambda x: x[0, 0], position)
        leaves = enumerate(zip(leaf_manifolds(manifold, one), jax.tree.leaves(one), strict=True))
        chosen = [
            (i, np.shape(x), isinstance(m, Simplex))
            for i, (m, x) in leaves
            if isinstance(m, Simplex | PositiveOrthant)
        ]
        return cls(*zip(*chosen, strict=True)) if chosen else cls((), (), ())

    def numbers(self, early: Float[np.ndarray, "draw n"]) -> tuple[Float[np.ndarray, "..."], ...]:
        """The mean m."""
        return (early.mean(axis=0),)

    def terms(
        self, position: Position, gradient: Position, numbers: tuple[Float[Array, "..."], ...]
    ) -> tuple[Float[Array, " n"], ...]:
        """With the sign of what is too much; also w."""
        points, slopes, found = jax.tree.leaves(position), jax.tree.leaves(gradient), []
        for i, of_shares in zip(self.places, self.are_shares, strict=True):
            x, g = points[i], slopes[i]
            along, divergence, weight = x * g, jnp.ones_like(x), x
            if of_shares:
                along = along - x * jnp.sum(x * g, axis=-1, keepdims=True)
                divergence, weight = 1 - x.shape[-1] * x, x * (1 - x)
            found.append((jnp.ravel(along + divergence), jnp.ravel(weight)))
        shift, weights = (jnp.concatenate(each) for each in zip(*found, strict=True))
        return -shift, -(self.flat(position) - numbers[0]) * shift - weights, weights

    def measured(
        self,
        terms: tuple[Float[np.ndarray, "chain draw k"], ...],
        numbers: tuple[Float[np.ndarray, "..."], ...],
        values: Float[np.ndarray, "chain draw n"],
        names: list[str],
    ) -> SteinTerms:
        """Along every number."""
        shift, excess, weights = terms
        mean = weights.mean(axis=(0, 1))
        return SteinTerms(excess / mean, shift * values.std(axis=(0, 1)) / mean, names)
