"""From any start in R^n to where the posterior's mass is, and its scales there.

Newton's method in coordinates that are made anew at each step, so that every direction has curvature 1:
rounding then costs a direction no more digits than the others. Where the curvature is negative its absolute
value is taken (Dauphin et al. 2014), which leads away from saddles.

A position is within the mass where a Newton step would gain no more than draws lie below the mode: the
squared length of the gradient in these coordinates, whose mean over the posterior is the dimension, is at
most that. A mode may lie far from the mass, or at infinity; nothing here goes on to look for it. Toward
infinity a density in few digits may be nothing but rounding, whose bumps look like modes: where the density
scatters by nats from place to place no climb has arrived.
"""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift.estimators._affine import Affine, Layout

ITERATIONS = 60
_LENGTHS = 2.0 ** -np.arange(20)  # of a Newton step that are tried
_SLOW = 0.25  # of the squared slope left by a step: above it the curvature is measured anew
_SLOPE_LENGTHS = 2.0**16  # over each of which the density changes by a factor e
_NEAR, _PLACES = 1e-3, 16  # standard deviations, and places as far away, between which the density is smooth
_MOST_SCATTER = 2.0  # nats, of what rounding adds to the log density
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
    """

    position: Float[np.ndarray, " d"]
    factor: Float[np.ndarray, "d d"]
    log_density: float
    arrived: bool
    convex: bool
    passes: int

    @property
    def log_mass(self) -> float:
        """Of the mode that it is near, by Laplace's approximation, up to a constant; -inf if near none."""
        if not self.arrived:
            return -math.inf
        return self.log_density + float(np.linalg.slogdet(self.factor)[1])


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
    dtype = np.dtype(layout.dtypes[0])
    position, factor = np.asarray(start, np.float64), np.eye(len(start)) if factor is None else factor
    curved, passes = False, 0
    for iteration in range(most + 1):
        value, gradient, hessian = (
            np.asarray(a, np.float64) for a in _expansion(estimator, Affine.of(position, factor, layout))
        )
        passes += 1 + 2 * len(start)
        if iteration == 0:
            raise_unless_finite(float(value), gradient)
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
        convex = bool(curvatures[0] > 0)
        arrived = bool(slope @ slope <= len(slope)) and convex
        if arrived or iteration == most:
            break
        moved = _steps(estimator, layout, position, factor, slope, value, convex)
        passes += moved.passes
        if moved.position is position:
            break
        position = moved.position
    arrived = arrived and _scatter(estimator, Affine.of(position, factor, layout)) < _MOST_SCATTER
    if not curved:
        raise ValueError(
            "step_size = None: the log density is flat: a climb found no curvature in any direction; check"
            " it, or give a step size"
        )
    return Climbed(position, factor, float(value), arrived, convex, passes)


def _scatter(estimator: Any, affine: Affine) -> float:
    """The standard deviation of the log density over places next to each other."""
    number = affine.layout.size
    # Directions that are all different.
    places = _NEAR * np.cos(np.outer(np.arange(1, _PLACES + 1), np.arange(1, number + 1)))
    return float(np.std(np.asarray(_values(estimator, affine, places.astype(affine.layout.dtypes[0])))))


class _Moved(NamedTuple):
    position: Float[np.ndarray, " d"]
    passes: int


def _steps(
    estimator: Any,
    layout: Layout,
    position: Float[np.ndarray, " d"],
    factor: Float[np.ndarray, "d d"],
    slope: Float[np.ndarray, " d"],
    value: Any,
    convex: bool,
) -> _Moved:
    """A step along the slope in coordinates, and more as long as each leaves a small part of the slope.

    Their gradients are in the coordinates too: a Hessian, which costs as much as two gradients for every
    dimension, is only worth it where the curvature has changed.
    """
    passes, dtype = 0, np.dtype(layout.dtypes[0])
    while True:
        values, slopes = (
            np.asarray(a, np.float64)
            for a in _along(estimator, Affine.of(position, factor, layout), slope.astype(dtype))
        )
        values = np.where(np.isfinite(values) & np.isfinite(slopes).all(axis=1), values, -np.inf)
        passes += len(_LENGTHS)
        best = int(values.argmax())
        if not values[best] > value:
            return _Moved(position, passes)
        position, value = position + factor @ slope * _LENGTHS[best], values[best]
        square, slope = slope @ slope, slopes[best]
        if not convex or slope @ slope > _SLOW * square or slope @ slope <= len(slope):
            return _Moved(position, passes)


@eqx.filter_jit
def _expansion(
    estimator: Any, affine: Affine
) -> tuple[Float[Array, ""], Float[Array, " d"], Float[Array, "d d"]]:
    """The log density at coordinates 0, its gradient and its Hessian."""

    def log_density(y: Float[Array, " d"]) -> Float[Array, ""]:
        return estimator.value(affine(y))

    zero = jnp.zeros_like(affine.centre)
    value, gradient = jax.value_and_grad(log_density)(zero)
    return value, gradient, jax.jacfwd(jax.grad(log_density))(zero)


@eqx.filter_jit
def _values(estimator: Any, affine: Affine, places: Float[np.ndarray, "places d"]) -> Float[Array, " places"]:
    """The log density at some coordinates."""
    return jax.vmap(lambda y: estimator.value(affine(y)))(places)


@eqx.filter_jit
def _along(
    estimator: Any, affine: Affine, step: Float[np.ndarray, " d"]
) -> tuple[Float[Array, " lengths"], Float[Array, "lengths d"]]:
    """The log density and its gradient after some lengths of a step."""
    at = jax.value_and_grad(lambda y: estimator.value(affine(y)))
    return jax.vmap(lambda length: at(length * step))(jnp.asarray(_LENGTHS, step.dtype))
