r"""The part of a position that are angles, and identities of Stein on circles.

The fields :math:`e_j` and :math:`\sin(x_j - m_j)\, e_j`, m the circular mean, have the period of the angles.
So :math:`E[\partial_j \log p] = 0` and
:math:`E[\sin(x_j - m_j)\, \partial_j \log p + \cos(x_j - m_j)] = 0`: where angles are concentrated the shift
of the mean and what the variance lacks, as on R^n.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift._types import Position
from geodrift.driver._position_part import Known, PositionPart, SteinTerms, Terms
from geodrift.manifolds import Manifold, Torus


class AnglesPart(PositionPart):
    """The leaves of a position that are on a torus; its directions are the angles."""

    @staticmethod
    def knows(manifold: Manifold) -> bool:
        """Whether its points are angles."""
        return isinstance(manifold, Torus)

    def numbers(self, early: Float[np.ndarray, "draw n"]) -> Known:
        """The circular mean m."""
        return (np.angle(np.exp(1j * early).mean(axis=0)),)

    def terms(self, position: Position, gradient: Position, numbers: Known) -> tuple[Float[Array, " n"], ...]:
        """With the sign of what is too much; also what is 1 of concentrated angles, 1/2 of uniform ones."""
        off = self.flat(position) - numbers[0]
        slope = jnp.concatenate([jnp.ravel(jax.tree.leaves(gradient)[i]) for i in self.places])
        return -slope, -jnp.sin(off) * slope - jnp.cos(off), (1 + jnp.cos(off)) / 2

    def measured(
        self,
        terms: Terms,
        numbers: Known,
        values: Float[np.ndarray, "chain draw n"],
        names: list[str],
    ) -> SteinTerms:
        """Along every angle."""
        shift, excess, weights = terms
        wrapped = np.angle(np.exp(1j * (values - numbers[0])))
        return SteinTerms(excess / weights.mean(axis=(0, 1)), shift * wrapped.std(axis=(0, 1)), names)
