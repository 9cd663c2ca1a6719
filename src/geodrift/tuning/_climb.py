"""From any start in R^n to where the posterior's mass is, and its scales there.

Newton's method in coordinates that are made anew at each step, so that every direction has curvature 1:
rounding then costs a direction no more digits than the others. Where the curvature is negative its absolute
value is taken (Dauphin et al. 2014), which leads away from saddles.

A position is within the mass where a Newton step would gain no more than draws lie below the mode: the
squared length of the gradient in these coordinates, whose mean over the posterior is the dimension, is at
most that. A mode may lie far from the mass, or at infinity; nothing here goes on to look for it. Toward
infinity a density in few digits may be nothing but rounding, whose bumps look like modes: where the density
scatters from place to place by more than the last digits of its value explain no climb has arrived. Where a
density grows without bound, as into the neck of a funnel, a climb goes on up and away from the mass: once
what lies about it is much less than it was (`_mass`) it is dropped, and has ended where that was most.
"""

import math
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from geodrift.estimators._affine import Layout
from geodrift.tuning._climb_questions import PLACES, Answer, Question, at_places, ends, expansion
from geodrift.tuning._mass import Place

ITERATIONS = 60
_LENGTHS = 2.0 ** -np.arange(PLACES)  # of a Newton step that are tried
_SLOW = 0.25  # of the squared slope left by a step: above it the curvature is measured anew
_SLOPE_LENGTHS = 2.0**16  # over each of which the density changes by a factor e
_NEAR = 1e-3  # standard deviations: between places as far away the density is smooth
# What rounding may add to the log density, in nats: so much whatever its value, and so many units of the last
# digit of it, as a sum over very many data has; more, and terms have cancelled. Beyond the last number the
# steps of a sampler mean nothing.
_SCATTER, _LAST_DIGITS, _MOST_SCATTER = 0.25, 8.0, 2.0
_LEAST_CURVATURE = {"float32": 1e-6, "float64": 1e-14}  # over the largest: below lies rounding


class NotFiniteError(ValueError):
    """The log density or its gradient is not finite where a climb starts."""


def raise_unless_finite(value: float, gradient: Float[np.ndarray, " d"]) -> None:
    """Raise NotFiniteError where the log density or its gradient at a start is not finite."""
    if not (np.isfinite(value) and np.isfinite(gradient).all()):
        raise NotFiniteError(
            f"step_size = None: the log density at the start is {value:.3g} with a gradient of length"
            f" {np.linalg.norm(gradient):.3g}; give another initial position"
        )


class Climbed(NamedTuple):
    """Where a climb ended.

    Attributes:
        position: Its numbers, [d].
        factor: Coordinates about the position in which curvatures are 1, [d, d].
        log_density: There, up to a constant.
        arrived: Whether it is within the mass, where the density is not rounding.
        convex: Whether all curvatures of -log p are positive there.
        passes: Gradients of the density that were taken; a product of its Hessian counts as two.
        pole: Where it was dropped, [d], having left the mass: toward it the density grows. None: it was not,
            and otherwise all above is of the place with the most mass that it passed.
    """

    position: Float[np.ndarray, " d"]
    factor: Float[np.ndarray, "d d"]
    log_density: float
    arrived: bool
    convex: bool
    passes: int
    pole: Float[np.ndarray, " d"] | None = None

    @property
    def log_mass(self) -> float:
        """Of the mode, or of the place, that it is near, up to a constant; -inf if near none."""
        if not self.arrived and self.pole is None:
            return -math.inf
        return Place(self.position, self.factor, self.log_density).log_mass


def climb(
    estimator: Any,
    layout: Layout,
    start: Float[np.ndarray, " d"],
    most: int = ITERATIONS,
    factor: Float[np.ndarray, "d d"] | None = None,
) -> Climbed:
    """Newton steps from a start.

    Args:
        estimator: Its ``value`` is the log density of a position.
        layout: The position's.
        start: Its numbers.
        most: Steps, at most; with 0 the scales at the start are all that is found.
        factor: Coordinates to begin with; None: those of the position, in which rounding hides the curvature
            of directions that are more than a thousand times as wide as others.

    Raises:
        NotFiniteError: The log density or its gradient is not finite at the start.
        ValueError: No curvature was met.
    """
    factor = np.eye(len(start)) if factor is None else factor
    (found,) = ends(estimator, layout, [_path(np.asarray(start, np.float64), factor, layout, most)])
    if isinstance(found, NotFiniteError):
        raise found
    return found


def climb_together(
    estimator: Any, layout: Layout, starts: Sequence[Float[np.ndarray, " d"]]
) -> list[Climbed | NotFiniteError]:
    """The same from some starts, at most `TOGETHER`, with little more calls than the longest climb has.

    Args:
        estimator: See `climb`.
        layout: See there.
        starts: See there.

    Returns:
        For each start where the climb ended, or why there was none.

    Raises:
        ValueError: No curvature was met.
    """
    return ends(estimator, layout, [_path(start, np.eye(len(start)), layout, ITERATIONS) for start in starts])


def _path(
    position: Float[np.ndarray, " d"], factor: Float[np.ndarray, "d d"], layout: Layout, most: int
) -> Generator[Question, Answer, Climbed | NotFiniteError]:
    """Newton steps."""
    dtype, nowhere = np.dtype(layout.dtypes[0]), np.zeros((PLACES, len(position)))
    curved, passes, heaviest = False, 0, None
    for iteration in range(most + 1):
        value, gradient, hessian = yield Question(expansion, position, factor, nowhere)
        passes += 1 + 2 * len(position)
        if iteration == 0:
            try:
                raise_unless_finite(float(value), gradient)
            except NotFiniteError as error:
                return error
        if not np.isfinite(hessian).all():
            arrived = convex = False
            break
        curvatures, directions = np.linalg.eigh(-(hessian + hessian.T) / 2)
        slope, sizes = directions.T @ gradient, np.abs(curvatures)
        curved = curved or bool(sizes.max() > 0)
        least = _LEAST_CURVATURE[dtype.name] * sizes.max() + np.finfo(dtype).tiny
        # In a direction that has nothing but a slope a step goes so many times its length.
        sizes = np.where(sizes > least, sizes, np.maximum(least, slope**2 / _SLOPE_LENGTHS))
        factor, slope = factor @ directions / np.sqrt(sizes), slope / np.sqrt(sizes)
        here = Place.at(position, factor, slope, float(value))
        heaviest = here.heavier(heaviest)
        if here.has_lost(heaviest):
            # Among rounding's bumps the mass nearby is a bump's: such a place tells of no mass.
            smooth = yield from _smooth(heaviest, dtype)
            pole = position if smooth else None
            return Climbed(*heaviest, arrived=False, convex=False, passes=passes, pole=pole)
        convex = bool(curvatures[0] > 0)
        arrived = bool(slope @ slope <= len(slope)) and convex
        if arrived or iteration == most:
            break
        moved = yield from _steps(position, factor, slope, float(value), convex)
        passes += moved.passes
        if moved.position is position:
            break
        position = moved.position
    if arrived:
        arrived = yield from _smooth(Place(position, factor, float(value)), dtype)
    if not curved:
        raise ValueError(
            "step_size = None: the log density is flat: a climb found no curvature in any direction; check"
            " it, or give a step size"
        )
    return Climbed(position, factor, float(value), arrived, convex, passes)


def _smooth(place: Place, dtype: np.dtype) -> Generator[Question, Answer, bool]:
    """Whether the density near a place is more than rounding."""
    size = len(place.position)
    # Directions that are all different.
    places = _NEAR * np.cos(np.outer(np.arange(1, PLACES + 1), np.arange(1, size + 1)))
    values, _ = yield Question(at_places, place.position, place.factor, places)
    of_digits = _LAST_DIGITS * np.finfo(dtype).eps * abs(place.log_density)
    return float(np.std(values)) < min(_SCATTER + of_digits, _MOST_SCATTER)


class _Moved(NamedTuple):
    position: Float[np.ndarray, " d"]
    passes: int


def _steps(
    position: Float[np.ndarray, " d"],
    factor: Float[np.ndarray, "d d"],
    slope: Float[np.ndarray, " d"],
    value: float,
    convex: bool,
) -> Generator[Question, Answer, _Moved]:
    """A step along the slope in coordinates, and more as long as each leaves a small part of the slope.

    Their gradients are in the coordinates too: a Hessian, which costs as much as two gradients for every
    dimension, is only worth it where the curvature has changed.
    """
    passes = 0
    while True:
        values, slopes = yield Question(at_places, position, factor, np.outer(_LENGTHS, slope))
        values = np.where(np.isfinite(values) & np.isfinite(slopes).all(axis=1), values, -np.inf)
        passes += PLACES
        best = int(values.argmax())
        if not values[best] > value:
            return _Moved(position, passes)
        position, value = position + factor @ slope * _LENGTHS[best], float(values[best])
        square, slope = slope @ slope, slopes[best]
        if not convex or slope @ slope > _SLOW * square or slope @ slope <= len(slope):
            return _Moved(position, passes)
