"""Step size and friction from measured curvature and gradient noise."""

from geodrift.tuning._adapted import Adapted as Adapted
from geodrift.tuning._tune import tune as tune
from geodrift.tuning._tuned import Tuned as Tuned

__all__ = ["Adapted", "Tuned", "tune"]
