"""The step size of a recipe of the user's own H, D and Q (Ma, Chen and Fox 2015): `LinearStep`'s largest.

The posterior's centre and scales are those that a warm-up finds, as for other samplers on R^n; D and Q are
taken at some places in its mass.
"""

import math
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from geodrift._types import Position, RandomKey
from geodrift.estimators import Full, Minibatch
from geodrift.estimators._likelihood import LikelihoodEstimator
from geodrift.estimators._noise import Fisher
from geodrift.recipe import Recipe
from geodrift.recipe._frozen import frozen
from geodrift.tuning._choice import MAX_SUBTRACTED
from geodrift.tuning._linear_step import LinearStep
from geodrift.tuning._pilot_data import PilotData
from geodrift.tuning._posterior_noise import has_posterior_noise, posterior_noise
from geodrift.tuning._scales import Scales, scales_by_windows
from geodrift.tuning._scales_of_data import scales_by_parts
from geodrift.tuning._tuned import Tuned

MOST_BIAS, OF_ALL = 0.05, 0.3  # of a variance; the second over the root of the dimension
PLACES = 4
MOST_NUMBERS = 500  # of z: a trial of a step size takes their third power


def recipe_step(key: RandomKey, sampler: Recipe, data: PilotData, starts: Position) -> Tuned:
    """The step size of a recipe, and positions within the mass.

    Args:
        key: Random key.
        sampler: With ``step_size=None``.
        data: What the run's batches are drawn from.
        starts: Starting positions, leading axis [start].

    Raises:
        ValueError: There is no rule for the target, the batch size is to be chosen, z has too many numbers,
            or steps come to rest nowhere.
    """
    key_scales, key_places, key_noise = jax.random.split(key, 3)
    _check(sampler, data, jax.tree.map(lambda x: x[0], starts))
    estimator: Any = sampler.estimator
    if isinstance(estimator, Full):
        scales = scales_by_windows(key_scales, estimator, starts)
    else:
        scales = scales_by_parts(key_scales, estimator, data, starts)
    layout, covariance = scales.affine.layout, scales.factor @ scales.factor.T
    noise, unsubtracted, subtracted = _noise(key_noise, estimator, scales, data)
    positions = layout.positions(scales.starts[:: max(1, len(scales.starts) // PLACES)], PLACES)
    steps = []
    for place in range(PLACES):
        position = jax.tree.map(lambda x, place=place: x[place], positions)
        at = frozen(jax.random.fold_in(key_places, place), sampler, position)
        steps.append(LinearStep(at, covariance, unsubtracted, subtracted))
    most = min(MOST_BIAS, OF_ALL / math.sqrt(layout.size))
    h = float(np.median([step.largest(most, MAX_SUBTRACTED) for step in steps]))
    if h == 0:
        raise ValueError(
            "step_size = None: near the posterior's mass this recipe's steps come to rest nowhere: D adds no"
            " noise that reaches every direction, or less than is subtracted; change D or Q, or give a step"
            " size"
        )
    return Tuned(
        sampler=type(sampler).__name__,
        step_size=h,
        start_step_size=h,
        start_steps=0,
        friction=None,
        relaxation=float(np.median([step.relaxation(h) for step in steps])),
        curvature=float(1 / np.linalg.eigvalsh(covariance)[0]),
        noise_variance=noise,
        reason=f"of a normal law as wide as the posterior no variance is off by more than {most:.1%}",
        starts=scales.starts,
    )


def _check(sampler: Recipe, data: PilotData, position: Position) -> None:
    """Raise ValueError where there is no rule."""
    of_data = isinstance(sampler.estimator, LikelihoodEstimator) and data.size > 0
    known = isinstance(sampler.estimator, Minibatch) or has_posterior_noise(sampler.estimator)
    if not isinstance(sampler.estimator, Full) and not (of_data and (known or not data.noisy)):
        raise ValueError(
            f"step_size = None: there is no rule for a Recipe with {type(sampler.estimator).__name__}; give a"
            " step size, or take a density, Minibatch or ControlVariate"
        )
    if data.smaller:
        raise ValueError("batch_size = 'auto': there is no rule for a Recipe; give a batch size")
    numbers = sum(x.size for x in jax.tree.leaves(sampler.point(jax.random.key(0), position)))
    if numbers > MOST_NUMBERS:
        raise ValueError(
            f"step_size = None: z has {numbers:,} numbers, and the rule for a Recipe takes {MOST_NUMBERS};"
            " give a step size"
        )


def _noise(
    key: RandomKey, estimator: Any, scales: Scales, data: PilotData
) -> tuple[float, Float[np.ndarray, "d d"], Float[np.ndarray, "d d"]]:
    """V's mean over the directions, and the two parts of V: what is not subtracted, and what is."""
    dim = scales.affine.layout.size
    if isinstance(estimator, Full) or not data.noisy:
        return 0.0, np.zeros((dim, dim)), np.zeros((dim, dim))
    found = posterior_noise(key, estimator.in_coordinates(scales.affine), scales.coordinates, data).mean
    inverse = np.linalg.inv(np.asarray(scales.factor))
    variance = inverse.T @ found @ inverse  # of the position's gradient
    stated = np.zeros_like(variance)
    if isinstance(estimator.variance, Fisher):
        stated = np.diag(np.diag(variance))
        if estimator.variance.kind == "scalar-fisher":
            stated = np.eye(dim) * np.trace(variance) / dim
    return float(np.trace(variance)) / dim, variance - stated, stated
