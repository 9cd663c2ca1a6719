"""The noise of minibatch gradients compared with the noise that a sampler injects."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from geodrift._types import Position, RandomKey
from geodrift._whole import is_whole
from geodrift.estimators import SAGA, ControlVariate
from geodrift.estimators._batch_rows import batch_length
from geodrift.estimators._noise import Fisher
from geodrift.recipe import Recipe
from geodrift.samplers import SGFS, SGLD, PreconditionedSGLD
from geodrift.samplers._in_coordinates import InCoordinates
from geodrift.tuning._metric_frame import noise_in_metric
from geodrift.tuning._noise import measure_noise
from geodrift.tuning._pilot_data import PilotData


class GradientNoiseRatio(NamedTuple):
    """Variance of the gradient noise divided by that of the injected noise, in a step.

    Noise that is not subtracted changes the temperature by this ratio, relative to the temperature.
    """

    total: float
    """The ratio for all of the noise, averaged over the tangent space."""
    stated: float
    """The ratio for the noise that the estimator states and the sampler subtracts."""
    unaccounted: float
    """The ratio for the difference of the two, along the direction where it is largest: the relative error of
    the temperature in that direction. A thermostat corrects for the mean difference; the ratio is then for
    what differs from the mean."""


def gradient_noise_ratio(
    key: RandomKey,
    sampler: Any,
    position: Position,
    data: PyTree,
    *,
    batch_size: int,
    count: int = 0,
) -> GradientNoiseRatio:
    r"""Variance of the minibatch gradient's noise at a position, over the noise injected in a step.

    :math:`h V / 2 C` for samplers with friction: the variance :math:`h^2 V` of the kicks, divided by
    :math:`2 C h`. For first-order samplers :math:`h V / 2`. Noise can be subtracted while its ratio is well
    below 1, and ignored while it is well below 0.1. Of a sampler that moves in coordinates, such as
    ``tune(...).apply(sampler)``, or in a metric, V is that of the coordinates in which it injects so much.

    Args:
        key: Random key.
        sampler: With an estimator, a step size, and a friction that is a number where it has one. Not a
            `Recipe`, `PreconditionedSGLD` or `SGFS`, whose injected noise is another matrix, nor with `SAGA`,
            `SVRG` or a `ControlVariate` without a ``centre``, whose noise depends on what they keep of a run.
        position: Where to measure, such as a draw; at the start of a run the noise may be much larger.
        data: A pytree of arrays with leading axis N.
        batch_size: B, from 1 to N.
        count: Step count at which to evaluate a step size that is a schedule.

    Returns:
        The ratios, without a unit.

    Raises:
        ValueError: The sampler has no estimator, step size or ratio, its friction is a matrix, or
            ``batch_size`` is outside its range.
    """
    if isinstance(sampler, InCoordinates):
        sampler, position = sampler.moving, sampler.affine.coordinates(position)
    if isinstance(sampler, Recipe | PreconditionedSGLD | SGFS):
        raise ValueError(
            f"sampler = {type(sampler).__name__}: its injected noise is not 2 h or 2 C h in every direction,"
            " and there is no ratio; give SGLD, SGRLD or a sampler with friction"
        )
    if not hasattr(sampler, "estimator") or not hasattr(sampler, "step_size"):
        raise ValueError(f"sampler = {type(sampler).__name__}: needs an estimator and a step_size")
    friction = getattr(sampler, "friction", jnp.ones(()))
    if not hasattr(friction, "ndim") or friction.ndim:
        raise ValueError("friction must be one number, for one ratio")
    estimator, manifold = sampler.estimator.on(sampler.manifold), sampler.manifold
    _check_noise(estimator, batch_size, batch_length(data))
    rows = PilotData(jax.tree.map(jnp.asarray, data), batch_size, getattr(estimator, "replacement", True))
    key_init, key_noise = jax.random.split(key)
    # Of SGRHMC noise and friction come by the same root of the metric, so that it has no say.
    if isinstance(sampler, SGLD) and sampler.metric is not None:
        _check_coordinates(estimator)
        here = sampler.metric, position, position
        noise = noise_in_metric(key_noise, sampler.estimator, *here, rows)
    else:
        state = estimator.init(key_init, position)
        noise = measure_noise(key_noise, estimator, manifold, position, state, rows)
    per_variance = float(sampler.step_size(jnp.asarray(count))) / (2 * float(friction))
    worst = noise.worst_anisotropic if hasattr(sampler, "thermostat") else noise.worst
    return GradientNoiseRatio(*(per_variance * value for value in (noise.mean, noise.stated, worst)))


def _check_coordinates(estimator: Any) -> None:
    """Raise ValueError where V is given as numbers, which are those of positions."""
    variance = getattr(estimator, "variance", None)
    if variance is not None and not isinstance(variance, Fisher):
        raise ValueError(
            "noise_variance is given as numbers, and the ratio of a sampler in a metric is that of other"
            ' coordinates; give the estimator "scalar-fisher" or None'
        )


def _check_noise(estimator: Any, batch_size: Any, size: int) -> None:
    """Raise ValueError for batches that cannot be drawn, or where noise depends on what a run has kept."""
    if not is_whole(batch_size, 1) or batch_size > size:
        raise ValueError(
            f"batch_size = {batch_size!r}: must be a whole number from 1 to {size}, the number of data"
        )
    moves = isinstance(estimator, ControlVariate) and estimator.refresh_every is not None
    if isinstance(estimator, SAGA) or moves or getattr(estimator, "centre", ()) is None:
        raise ValueError(
            f"estimator = {'SVRG' if moves else type(estimator).__name__}: its noise at a position is that of"
            " the way from where the run made what it keeps, and 0 there; multiply the ratio of Minibatch by"
            " noise_ratio(estimator, state, position, data) with the state of a chain of the run, or give"
            " ControlVariate a centre"
        )
