r"""Step size and friction from measured curvatures and noise.

With the largest curvature :math:`\lambda`, the least :math:`\mu`, dimension m, gradient noise and, for the
samplers with friction, friction C (in brackets: for the first-order samplers):

* discretisation: the relative error of a variance is :math:`h^2 \lambda / 4` [:math:`h \lambda / 2`]. The
  error of a sum over all coordinates grows with m while its standard deviation grows with :math:`\sqrt m`,
  hence the fourth root [square root] of m in the limit. Not where the integrator leaves a normal law as it is
  (``"exact friction"``): there the error is that of what is not normal;
* a kick before a reflection at a wall heats: with the slope s of log p along the wall's normal the
  temperature rises by about :math:`k h^2 s^3 / C`, k = `WALL_HEATING` (measured of exponential laws): at most
  `MAX_HEATING`;
* noise of variance V that is not subtracted raises the temperature by :math:`h V / 2C` [:math:`h V / 2`]: at
  most `MAX_HEATING`;
* noise that is subtracted may be at most `MAX_SUBTRACTED` of the injected noise, since its estimates vary;
* :math:`C h` is at most 1, and h at most `MOST_OF_THERMOSTAT` where there is a thermostat, whose mass is 1.

Otherwise friction is critical for the direction of the least curvature, :math:`C = \sqrt\mu`. Where noise
limits the step size, the number of steps to forget that direction depends only on V and `MAX_HEATING`.
"""

import math
from typing import NamedTuple

from geodrift.tuning._noise import Noise

MAX_HEATING = 0.04
WALL_HEATING = 0.16
MOST_OF_THERMOSTAT = 0.3  # of the time in which it swings, which has no unit
MAX_SUBTRACTED = 0.5


class Measured(NamedTuple):
    """What the pilot measured at one position."""

    largest: float  # largest curvature of -log p
    least: float  # least curvature of -log p
    dim: int  # of the manifold
    noise: Noise
    of_walls: float = 0.0  # the most that a wall adds to the curvature, the square of a slope


class Choice(NamedTuple):
    """Step size and friction, and what limited the step size."""

    step_size: float  # h, time
    friction: float | None  # C, 1/time; None for a first-order sampler
    relaxation: float  # relaxation time, in steps, of the direction of the least curvature
    limits: dict[str, float]  # the step size that each bound alone would allow


def choose(dynamics: str, measured: Measured) -> Choice:
    """The step size, and the friction of a sampler that has one.

    Args:
        dynamics: ``"friction"``, ``"exact friction"``, ``"thermostat"`` or ``"first-order"``.
        measured: What the pilot measured.
    """
    if dynamics == "first-order":
        return _first_order(measured)
    noise, absorbed = measured.noise, 0.0
    unaccounted = noise.worst
    if dynamics == "thermostat":
        # Its damping rises by h V / 2, with V the mean noise left after the subtraction; only noise beyond
        # that mean is an error.
        absorbed, unaccounted = max(noise.mean - noise.stated, 0.0), noise.worst_anisotropic
    limits = {"curvature": curvature_limit(dynamics, measured)}
    if dynamics == "thermostat":
        limits["thermostat"] = MOST_OF_THERMOSTAT
    if measured.of_walls > 0:
        limits["walls"] = math.sqrt(MAX_HEATING / WALL_HEATING * math.sqrt(measured.least))
        limits["walls"] *= measured.of_walls**-0.75
    if unaccounted > 0:
        limits["noise not subtracted"] = math.sqrt(2 * MAX_HEATING / unaccounted)
    if noise.stated_max > 0:
        limits["noise subtracted"] = math.sqrt(2 * MAX_SUBTRACTED / noise.stated_max)
    if absorbed > 0:
        limits["noise absorbed"] = math.sqrt(1 / absorbed)
    h = min(limits.values())
    adapted = h * absorbed / 2  # the friction that the thermostat adds by itself
    friction = max(
        math.sqrt(measured.least),
        h * unaccounted / (2 * MAX_HEATING) - adapted,
        h * noise.stated_max / (2 * MAX_SUBTRACTED),
    )
    damping = friction + adapted
    return Choice(h, friction, max(damping / measured.least, 1 / damping) / h, limits)


def curvature_limit(dynamics: str, measured: Measured) -> float:
    """The largest step size that the curvature allows."""
    if dynamics == "first-order":
        return min(0.08, 0.3 / math.sqrt(measured.dim)) / measured.largest
    if dynamics == "exact friction":
        return 0.3 / math.sqrt(measured.largest)
    return min(0.3, 0.5 * measured.dim**-0.25) / math.sqrt(measured.largest)


def safe_start(dynamics: str, chosen: Choice, start: Measured) -> float:
    """The step size at the start: the chosen one, or less where the curvature or the noise is larger there.

    Args:
        dynamics: As for `choose`.
        chosen: The choice for the rest of the run.
        start: What was measured at the start.
    """
    h = min(chosen.step_size, curvature_limit(dynamics, start))
    if start.noise.stated_max > 0:
        damping = 1.0 if chosen.friction is None else chosen.friction
        # A margin of 2: the way from there takes many more batches than the few whose estimates were seen.
        h = min(h, MAX_SUBTRACTED / 2 * damping / start.noise.stated_max)
    return h


def _first_order(measured: Measured) -> Choice:
    noise = measured.noise
    limits = {"curvature": curvature_limit("first-order", measured)}
    if noise.worst > 0:
        limits["noise not subtracted"] = 2 * MAX_HEATING / noise.worst
    if noise.stated_max > 0:
        limits["noise subtracted"] = 2 * MAX_SUBTRACTED / noise.stated_max
    h = min(limits.values())
    return Choice(h, None, 1 / (measured.least * h), limits)
