"""The posterior's mass near a position, by which a climb tells that it has left it.

Where the density grows without bound, as that of a hierarchical model does where the spread of its groups
goes to 0, each step up leads to less mass: the density rises more slowly than the space narrows in which it
is so large. The curvature grows, too, so that no Newton step ends the climb before the dtype's digits do.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

LOST = 5.0  # nats: a climb that has come from so many times the mass (150) is dropped


class Place(NamedTuple):
    """A position that a climb passes.

    Attributes:
        position: Its numbers, [d].
        factor: Coordinates about it, [d, d], whose unit is the distance within which the log density changes
            by about 1.
        log_density: There, up to a constant.
    """

    position: Float[np.ndarray, " d"]
    factor: Float[np.ndarray, "d d"]
    log_density: float

    @classmethod
    def at(
        cls,
        position: Float[np.ndarray, " d"],
        factor: Float[np.ndarray, "d d"],
        slope: Float[np.ndarray, " d"],
        log_density: float,
    ) -> "Place":
        """The place where coordinates have curvatures 1 and the density a slope in them.

        Where the slope is more than 1 it, and not the curvature, makes the width.
        """
        return cls(position, factor / np.maximum(np.abs(slope), 1.0), log_density)

    @property
    def log_mass(self) -> float:
        """Of what lies about it, up to a constant: Laplace's approximation, where it is a mode."""
        mass = self.log_density + float(np.linalg.slogdet(self.factor)[1])
        return mass if math.isfinite(mass) else -math.inf

    def heavier(self, other: "Place | None") -> "Place":
        """The one with more mass about it; this one, where there is no other."""
        return self if other is None or self.log_mass > other.log_mass else other

    def has_lost(self, heaviest: "Place") -> bool:
        """Whether a climb that has passed the other should have stayed there."""
        return self.log_mass < heaviest.log_mass - LOST
