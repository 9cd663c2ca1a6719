"""The warm-up of samplers on R^n: coordinates first (`_scales`), then the sampler's numbers in them.

Everything is a function of the key, the starts and the data, whatever the number of chains of the run.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geodrift._types import Position, RandomKey
from geodrift.estimators import Full
from geodrift.estimators._affine import Layout
from geodrift.estimators._likelihood import LikelihoodEstimator
from geodrift.estimators._low_rank import LowRank
from geodrift.manifolds import Euclidean
from geodrift.samplers import GMC, GSGNHT, SGGMC, SGLD
from geodrift.samplers._langevin import is_flat
from geodrift.tuning._adapted import Adapted
from geodrift.tuning._batch_size import smallest_batch
from geodrift.tuning._choice import Measured, choose
from geodrift.tuning._curvature import PRODUCTS, extremes
from geodrift.tuning._dynamics import dynamics_of
from geodrift.tuning._many_dimensions import scales_by_scaled_windows
from geodrift.tuning._many_dimensions_of_data import scales_by_scaled_parts
from geodrift.tuning._noise import NO_NOISE
from geodrift.tuning._pilot import ROWS, lanczos_at
from geodrift.tuning._pilot_data import PilotData
from geodrift.tuning._run_noise import DENSE, MEASURED, RunNoise
from geodrift.tuning._scales import Scales, scales_by_windows
from geodrift.tuning._scales_of_data import scales_by_parts
from geodrift.tuning._windows import JITTER, MOST_LEAPS, TIME

MOST_DIMENSIONS = 100_000  # beyond, the windows' draws take gigabytes
WARM_UP = 20  # steps of the run's chains, each of a relaxation time
MOST_INNER_STEPS = 64
# Of a step size, where the density has no mode: of eight schools what is narrower than a step that suits the
# mass holds a tenth of the mass, and of a quarter of it a fiftieth.
IN_NARROWS = 0.25


def adapts(sampler: Any, data: PilotData | None, starts: Position) -> bool:
    """Whether this is the warm-up of a sampler: on R^n, by exact gradients or by those of rows in memory.

    Not where the draws of windows are out of reach: there is the pilot then.
    """
    if sum(x[0].size for x in jax.tree.leaves(starts)) > MOST_DIMENSIONS:
        return False
    if not isinstance(sampler, GMC | GSGNHT | SGGMC | SGLD) or not is_flat(sampler.manifold):
        return False
    if isinstance(sampler, SGLD) and sampler.metric is not None:
        return False
    rows = isinstance(sampler.estimator, LikelihoodEstimator) and data is not None and data.size > 0
    return rows or isinstance(sampler.estimator, Full)


def adapt(key: RandomKey, sampler: Any, data: PilotData | None, starts: Position) -> Adapted:
    """Coordinates, the sampler's numbers in them, and starting positions.

    Args:
        key: Random key.
        sampler: One that `adapts` says yes to, with ``step_size=None``.
        data: What the run's batches are drawn from; None where the estimator needs none.
        starts: Starting positions, leading axis [`CLIMBS`].

    Raises:
        ValueError: The log density is finite at no start, or the sampler was given a friction or a mass.
    """
    _check_free(sampler)
    key_scales, key_noise = jax.random.split(key)
    dense = Layout.of(jax.tree.map(lambda x: x[0], starts)).size <= DENSE
    if isinstance(sampler.estimator, Full):
        by_windows = scales_by_windows if dense else scales_by_scaled_windows
        scales = by_windows(key_scales, sampler.estimator, starts)
    else:
        by_parts = scales_by_parts if dense else scales_by_scaled_parts
        scales = by_parts(key_scales, sampler.estimator, data, starts)
    variances, batch_size = None, None
    if isinstance(sampler, GMC):
        chosen = _exact(scales)
    else:
        noises = RunNoise(key_noise, sampler.estimator, data)
        scales, noise, variances = noises.found(scales, None if data is None else data.batch_size)
        scales, largest, least = _with_curvature(key_noise, sampler.estimator, scales, data)
        # A dense factor makes the least curvature 1.
        measured = Measured(largest, 1.0 if dense else least, scales.affine.layout.size, noise)
        if data is not None and data.smaller:
            dynamics = dynamics_of(sampler)
            batch_size = smallest_batch(dynamics, measured, data)
            if variances is None and noises.scatters(batch_size):  # more than those of larger batches
                scales, noise, variances = noises.found(scales, batch_size)
                measured = measured._replace(noise=noise)
                batch_size = smallest_batch(dynamics, measured, data)
            factor = data.factor(batch_size)
            measured = measured._replace(noise=noise.times(factor))
            variances = None if variances is None else factor * variances
        chosen = _noisy(sampler, measured, _of_pole(scales))
    return Adapted(
        sampler=type(sampler).__name__,
        widest=scales.widest,
        centre=scales.centre,
        factor=scales.factor,
        starts=scales.starts,
        noise_variance=variances,
        batch_size=batch_size,
        gradients=scales.gradients,
        layout=scales.affine.layout,
        pole=_pole_of(scales),
        **chosen,
    )


def _check_free(sampler: Any) -> None:
    """Raise ValueError where the sampler was given what is to be found."""
    if not isinstance(sampler, GMC):
        dynamics_of(sampler)
        return
    mass = getattr(sampler, "mass", 1.0)
    if any(np.any(np.asarray(leaf) != 1) for leaf in jax.tree.leaves(mass)):
        raise ValueError("mass with step_size = None: the warm-up finds all scales; leave mass out")


def _of_pole(scales: Scales) -> float:
    """The part of a step size that suits the mass to take, where a density that has a pole narrows."""
    return 1.0 if scales.pole is None else IN_NARROWS


def _pole_of(scales: Scales) -> str | None:
    """The number of a position that went farthest from the mass where the density grew, and its value."""
    if scales.pole is None or isinstance(scales.factor, LowRank):
        return None
    widths = np.linalg.norm(scales.factor, axis=1)
    number = int(np.argmax(np.abs(scales.pole - scales.centre) / widths))
    return f"{scales.affine.layout.name(number)} = {scales.pole[number]:.3g}"


def _exact(scales: Scales) -> dict[str, Any]:
    step_size = scales.step_size * _of_pole(scales)
    steps = math.ceil(TIME / step_size)
    return {
        "step_size": step_size,
        "jitter": JITTER,
        "friction": None,
        "num_steps": min(max(steps, 1), MOST_LEAPS),
        "warm_up": 0,
        "reason": f"acceptance {scales.acceptance:.2f}",
    }


def _noisy(sampler: Any, measured: Measured, part: float) -> dict[str, Any]:
    # As if all directions were so much narrower.
    chosen = choose(dynamics_of(sampler), measured._replace(largest=measured.largest / part**2))
    noise = measured.noise
    steps = sampler.num_steps
    if steps == 1:
        steps = min(max(math.ceil(chosen.relaxation), 1), MOST_INNER_STEPS)
    limit = min(chosen.limits, key=chosen.limits.get)
    told = "" if noise is NO_NOISE else f", noise variance {noise.mean:.3g}, of it stated {noise.stated:.3g}"
    return {
        "step_size": chosen.step_size,
        "jitter": 0.0,
        "friction": chosen.friction,
        "num_steps": steps,
        "warm_up": WARM_UP * math.ceil(chosen.relaxation / steps),
        "reason": (
            f"limited by {limit} (curvature up to {measured.largest:.3g}{told}; {measured.dim} dimensions)"
        ),
    }


def _with_curvature(
    key: RandomKey, estimator: Any, scales: Scales, data: PilotData | None
) -> tuple[Scales, float, float]:
    """The largest curvature at some positions within the mass, and at least 1; the least, and at most 1."""
    layout, largest, least = scales.affine.layout, 1.0, 1.0
    flat = Euclidean(layout.size)
    estimator, batch, size = estimator.in_coordinates(scales.affine).on(flat), None, 0
    if data is not None and data.size:
        size = min(data.size, max(ROWS, data.batch_size or 0))
        batch = jax.tree.map(lambda a: a[0], data.rows(jax.random.fold_in(key, MEASURED), 1, size))
    places = jnp.asarray(scales.coordinates[:MEASURED], scales.affine.centre.dtype)
    state = estimator.init(key, places[0])  # of one centre: a constant in the gradient has no curvature
    for number, y in enumerate(places):
        key_here = jax.random.fold_in(key, number)
        most, fewest = extremes(*lanczos_at(key_here, estimator, flat, y, state, batch)[:2])
        largest, least = max(largest, float(most)), min(least, float(fewest))
    whole = size and hasattr(estimator, "centre") and data.size
    return scales.after(2 * MEASURED * min(PRODUCTS, layout.size) * size + whole), largest, least
