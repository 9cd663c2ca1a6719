r"""From curvatures and noise to a step size and a friction.

With the largest curvature :math:`\lambda`, the least :math:`\mu`, dimension m, and gradient noise:

* the step's own error is :math:`h^2 \lambda / 4` in a variance (:math:`h \lambda / 2` at first order). That
  of a sum over all coordinates grows with m while its scatter grows with :math:`\sqrt m`, hence the fourth
  root (the square root) of m in the limit;
* noise of variance V that nobody accounts for heats by :math:`h V / 2C` (:math:`h V / 2`): at most `HEAT`;
* noise that is subtracted may take up to `SUBTRACTED` of what is injected, since its estimates scatter;
* :math:`C h` is at most 1.

Beyond that, friction is critical for the widest direction, :math:`C = \sqrt\mu`. Where noise decides, the
number of steps to forget that direction does not depend on the step size, only on V and `HEAT`.
"""

import math
from typing import NamedTuple

from geodrift.tuning._noise import Noise

HEAT = 0.04
SUBTRACTED = 0.5


class Measured(NamedTuple):
    """What the pilot found at one place."""

    largest: float  # curvature of -log p
    least: float
    dim: int
    noise: Noise


class Choice(NamedTuple):
    """Numbers for a sampler, and what limited them."""

    step_size: float
    friction: float | None
    relaxation: float  # steps in which the widest direction is forgotten
    limits: dict[str, float]  # the step size that each bound alone would allow


def choose(dynamics: str, measured: Measured) -> Choice:
    """The step size, and the friction where there is one.

    Args:
        dynamics: ``"friction"``, ``"thermostat"`` or ``"first-order"``.
        measured: From the pilot.
    """
    if dynamics == "first-order":
        return _first_order(measured)
    noise, absorbed = measured.noise, 0.0
    unaccounted = noise.worst
    if dynamics == "thermostat":
        # It raises its damping by h V / 2 for the mean of what is left; only the rest is an error.
        absorbed, unaccounted = max(noise.mean - noise.stated, 0.0), noise.worst_anisotropic
    limits = {"curvature": curvature_limit(dynamics, measured)}
    if unaccounted > 0:
        limits["noise not subtracted"] = math.sqrt(2 * HEAT / unaccounted)
    if noise.stated_max > 0:
        limits["noise subtracted"] = math.sqrt(2 * SUBTRACTED / noise.stated_max)
    if absorbed > 0:
        limits["noise absorbed"] = math.sqrt(1 / absorbed)
    h = min(limits.values())
    own = h * absorbed / 2
    friction = max(
        math.sqrt(measured.least),
        h * unaccounted / (2 * HEAT) - own,
        h * noise.stated_max / (2 * SUBTRACTED),
    )
    damping = friction + own
    return Choice(h, friction, max(damping / measured.least, 1 / damping) / h, limits)


def curvature_limit(dynamics: str, measured: Measured) -> float:
    """The step size that the curvature allows."""
    if dynamics == "first-order":
        return min(0.08, 0.3 / math.sqrt(measured.dim)) / measured.largest
    return min(0.3, 0.5 * measured.dim**-0.25) / math.sqrt(measured.largest)


def safe_start(dynamics: str, chosen: Choice, start: Measured) -> float:
    """The step size at the start: the chosen one, or less where curvature or stated noise is larger there."""
    h = min(chosen.step_size, curvature_limit(dynamics, start))
    if start.noise.stated_max > 0:
        damping = 1.0 if chosen.friction is None else chosen.friction
        # On the way from there estimates scatter over many more batches than were looked at.
        h = min(h, SUBTRACTED / 2 * damping / start.noise.stated_max)
    return h


def _first_order(measured: Measured) -> Choice:
    noise = measured.noise
    limits = {"curvature": curvature_limit("first-order", measured)}
    if noise.worst > 0:
        limits["noise not subtracted"] = 2 * HEAT / noise.worst
    if noise.stated_max > 0:
        limits["noise subtracted"] = 2 * SUBTRACTED / noise.stated_max
    h = min(limits.values())
    return Choice(h, None, 1 / (measured.least * h), limits)
