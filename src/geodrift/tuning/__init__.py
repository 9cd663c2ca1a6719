"""Step size and friction from measured curvature and gradient noise."""

from geodrift.tuning._adapted import Adapted as Adapted
from geodrift.tuning._tune import Tuned as Tuned
from geodrift.tuning._tune import tune as tune

__all__ = ["Adapted", "Tuned", "tune"]
