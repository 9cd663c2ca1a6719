"""Coordinates in which a sampler's own metric is 1, for the pilot and for the noise that it measures.

A sampler in a metric G moves by :math:`G^{-1/2}`: at a position x the coordinates are those of
:math:`x + G^{-1/2}(x) y`, in which curvatures and noise are what its steps see of them.
"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift._types import Position, RandomKey
from geodrift.estimators import Full
from geodrift.estimators._affine import Affine, Layout
from geodrift.manifolds import Euclidean
from geodrift.metrics import Metric
from geodrift.samplers import SGRHMC
from geodrift.tuning._choice import Choice
from geodrift.tuning._noise import NO_NOISE, Noise, measure_noise
from geodrift.tuning._pilot import Frame, Pilot, run_pilot
from geodrift.tuning._pilot_data import PilotData
from geodrift.tuning._posterior_noise import has_posterior_noise
from geodrift.tuning._whole_target import whole_target

MOST_DIMENSIONS = 2048  # of which a matrix of all pairs is made
MOST_DAMPING = 0.2  # in one step of SGRHMC in a dense metric, where variances are 1% too small then


class Chart(Affine):
    """Affine coordinates, mirrored into the metric's chart."""

    metric: Metric = eqx.field(kw_only=True)

    def __call__(self, coordinates: Any) -> Position:
        """The position of the coordinates."""
        return self.metric.reflect(super().__call__(coordinates))[0]


def chart_at(metric: Metric, position: Position) -> Chart:
    """The coordinates at a position, which is their origin."""
    layout = Layout.of(position)
    return Chart(layout.flat(position), _factor(metric, position, layout), layout, metric=metric)


def measure_in_metric(
    key: RandomKey, sampler: Any, data: PilotData, initial: Position
) -> tuple[Pilot, tuple[Noise, Noise]]:
    """A pilot in the metric, and the noise at its start and at its end as the sampler's steps see it.

    Raises:
        ValueError: There are too many dimensions, or the estimator cannot be given coordinates.
    """
    key_rows, key_pilot, key_start, key_end = jax.random.split(key, 4)
    initial, _ = sampler.metric.reflect(initial)  # a start may be outside the metric's chart
    target = whole_target(key_rows, sampler.estimator, data)
    pilot = run_pilot(key_pilot, lambda x: frame_in_metric(target, sampler.metric, x), initial)
    if not data.noisy:
        return pilot, (NO_NOISE, NO_NOISE)
    at_start, before, at_end = (pilot.positions[i] for i in (0, -2, -1))
    # At the end what an estimator keeps is of an earlier position, and a centre that stays that of the start.
    kept = at_start if has_posterior_noise(sampler.estimator) else before
    noises = [
        _noise_at(key_here, sampler, position, earlier, data)
        for key_here, position, earlier in ((key_start, at_start, at_start), (key_end, at_end, kept))
    ]
    return pilot, (noises[0], noises[1])


def friction_in_metric(chosen: Choice, metric: Metric, pilot: Pilot) -> Choice:
    """Friction and step size of `SGRHMC`, which damps by :math:`C G^{-1}`, for a choice of damping by C.

    Where the eigenvalues of :math:`G^{-1}` differ, no number is critical for all directions; that for the
    geometric mean of the largest and the least is as far from both.
    """
    position, least, h = pilot.positions[-1], pilot.typical.least, chosen.step_size
    eigenvalues = _eigenvalues(metric, position)
    narrowest, widest = float(eigenvalues[0]), float(eigenvalues[-1])
    damping = min(chosen.friction * math.sqrt(widest / narrowest), 1 / h)  # of the widest direction
    if metric.inverse_diagonal(position) is None:
        # The step is then right to second order in damping times h only. Where noise asks for the friction,
        # it grows with h: what it heats is the same at a smaller h.
        smaller = math.sqrt(min(1.0, MOST_DAMPING / (damping * h)))
        h, damping = h * smaller, damping * smaller
    relaxation = max(damping / least, widest / (narrowest * damping)) / h
    return chosen._replace(step_size=h, friction=damping / widest, relaxation=relaxation)


def frame_in_metric(target: Full, metric: Metric, position: Position) -> Frame:
    """The pilot's coordinates at a position."""
    size = Layout.of(position).size
    if size > MOST_DIMENSIONS:
        raise ValueError(
            f"step_size = None: the position has {size:,} numbers, and the pilot in a metric takes up to"
            f" {MOST_DIMENSIONS:,}; give a step size"
        )
    chart = chart_at(metric, position)
    return Frame(target.in_coordinates(chart), Euclidean(size), jnp.zeros_like(chart.centre), (), None, chart)


def _noise_at(key: RandomKey, sampler: Any, position: Position, earlier: Position, data: PilotData) -> Noise:
    """The gradient noise at a position, as a step there sees it, of an estimator with an earlier state."""
    if isinstance(sampler, SGRHMC):
        # Noise and friction reach the momentum through the same root of the metric, so that their ratio is
        # that of the position's own coordinates, and the choice's friction is that of the widest direction.
        estimator = sampler.estimator.on(sampler.manifold)
        noise = measure_noise(key, estimator, sampler.manifold, position, estimator.init(key, earlier), data)
        return noise.times(float(_eigenvalues(sampler.metric, position)[-1]))
    return noise_in_metric(key, sampler.estimator, sampler.metric, position, earlier, data)


def noise_in_metric(
    key: RandomKey, estimator: Any, metric: Metric, position: Position, earlier: Position, data: PilotData
) -> Noise:
    """The gradient noise at a position, in coordinates there in which the metric is 1.

    Args:
        key: Random key.
        estimator: Of positions.
        metric: G.
        position: Where to measure.
        earlier: Where the estimator's state is made.
        data: The data and how the run draws batches.
    """
    chart = chart_at(metric, position)
    flat, origin = Euclidean(chart.layout.size), jnp.zeros_like(chart.centre)
    if getattr(estimator, "centre", position) is None:
        estimator = estimator._replace(centre=earlier)
    estimator = estimator.in_coordinates(chart).on(flat)
    state = estimator.init(key, chart.coordinates(earlier))
    return measure_noise(key, estimator, flat, origin, state, data)


def _eigenvalues(metric: Metric, position: Position) -> Float[np.ndarray, " d"]:
    """Of :math:`G^{-1}`, ascending; in the position's unit squared."""
    factor = np.asarray(_factor(metric, position, Layout.of(position)), np.float64)
    return np.linalg.eigvalsh(factor) ** 2


@eqx.filter_jit
def _factor(metric: Metric, position: Position, layout: Layout) -> Float[Array, "d d"]:
    """:math:`G^{-1/2}` as a matrix, over the position's numbers leaf after leaf."""
    columns = jax.vmap(lambda unit: layout.flat(metric.inverse_sqrt(position, layout.position(unit))))
    return columns(jnp.eye(layout.size, dtype=layout.dtypes[0])).T
