"""Units for the leaves of a position, so that one step size suits them all."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float

from geodrift._types import Position


class LeafScales(eqx.Module):
    """Positions whose leaves are ``units`` times those of the coordinates; one where a leaf keeps its own.

    Args:
        units: Of each leaf, in the order of the leaves.
    """

    units: tuple[Float[Array, ""], ...]

    def __call__(self, coordinates: Position) -> Position:
        """The position of the coordinates."""
        return self._times(coordinates, self.units)

    def coordinates(self, position: Position) -> Position:
        """The coordinates of a position."""
        return self._times(position, tuple(1 / unit for unit in self.units))

    def _times(self, tree: Position, factors: tuple[Any, ...]) -> Position:
        leaves, structure = jax.tree.flatten(tree)
        scaled = [(f * x).astype(x.dtype) for f, x in zip(factors, leaves, strict=True)]
        return jax.tree.unflatten(structure, scaled)
