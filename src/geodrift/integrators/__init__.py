"""Exact sub-flows on any manifold, and their compositions as data.

The letters are the field's: A drift, B kick, O exact Ornstein-Uhlenbeck.
"""

from geodrift.integrators._compositions import COMPOSITIONS as COMPOSITIONS
from geodrift.integrators._compositions import Composition as Composition
from geodrift.integrators._compositions import composition_named as composition_named
from geodrift.integrators._flows import drift as drift
from geodrift.integrators._flows import friction_noise as friction_noise
from geodrift.integrators._flows import kick as kick
from geodrift.integrators._interpreter import Phase as Phase
from geodrift.integrators._interpreter import StepOutcome as StepOutcome
from geodrift.integrators._interpreter import integrate as integrate

__all__ = [
    "COMPOSITIONS",
    "Composition",
    "Phase",
    "StepOutcome",
    "composition_named",
    "drift",
    "friction_noise",
    "integrate",
    "kick",
]
