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

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift._types import Position
from geodrift.driver._closed_part import names_of
from geodrift.manifolds import Manifold, PositiveOrthant, Simplex, leaf_manifolds


class EdgedPart(eqx.Module):
    """The leaves of a position that are probability vectors or positive numbers, as one vector."""

    places: tuple[int, ...] = eqx.field(static=True)
    shapes: tuple[tuple[int, ...], ...] = eqx.field(static=True)
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

    @property
    def size(self) -> int:
        """Of the vector."""
        return sum(math.prod(shape) for shape in self.shapes)

    def flat(self, tree: Position) -> Float[Array, " n"]:
        """The vector of a position."""
        leaves = jax.tree.leaves(tree)
        return jnp.concatenate([jnp.ravel(leaves[i]) for i in self.places])

    def terms(
        self, position: Position, gradient: Position, numbers: tuple[Float[Array, "..."], ...]
    ) -> tuple[Float[Array, " n"], ...]:
        """The terms of both fields, with the sign of what is too much, and w.

        Args:
            position: A draw.
            gradient: An estimate of the log density's there.
            numbers: The centre m.
        """
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

    def names(self, position: Position) -> np.ndarray:
        """Of the numbers of the vector."""
        return names_of(position, self.places, self.shapes)
