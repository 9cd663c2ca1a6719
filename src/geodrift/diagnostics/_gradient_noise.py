"""How large the noise of minibatch gradients is next to the noise that a sampler injects."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from geodrift._types import Position, RandomKey
from geodrift.tuning._noise import measure_noise
from geodrift.tuning._pilot_data import PilotData


class GradientNoiseRatio(NamedTuple):
    """Noise over injected noise, in a step. Each is also a relative change of temperature."""

    total: float
    """Of all the noise, the mean over the tangent space."""
    stated: float
    """Of what the estimator states, which the sampler subtracts."""
    unaccounted: float
    """Of the difference, along the direction where it is largest: by so much is that direction's temperature
    wrong. A thermostat takes up the mean difference; this is then that of the rest."""


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

    :math:`h V / 2 C` for samplers with friction: the kicks' variance h^2 V over 2 C h. For first-order
    samplers :math:`h V / 2`. Well below 1 all noise that is subtracted can be; well below
    0.1 it may be ignored.

    Args:
        key: Random key.
        sampler: With an estimator, a step size, and a friction that is a number where it has one.
        position: Where to measure, such as a draw. The start of a run may be far noisier.
        data: A pytree of arrays with leading axis N.
        batch_size: B.
        count: Step count, where the step size is a schedule.

    Raises:
        ValueError: The sampler has no estimator or step size, or its friction is a matrix.
    """
    if not hasattr(sampler, "estimator") or not hasattr(sampler, "step_size"):
        raise ValueError(f"sampler = {type(sampler).__name__}: needs an estimator and a step_size")
    friction = getattr(sampler, "friction", jnp.ones(()))
    if not hasattr(friction, "ndim") or friction.ndim:
        raise ValueError("friction must be one number, for one ratio")
    estimator, manifold = sampler.estimator.on(sampler.manifold), sampler.manifold
    rows = PilotData(jax.tree.map(jnp.asarray, data), batch_size, getattr(estimator, "replacement", True))
    key_init, key_noise = jax.random.split(key)
    kept = estimator.init(key_init, position)
    noise = measure_noise(key_noise, estimator, manifold, position, kept, rows)
    per_variance = float(sampler.step_size(jnp.asarray(count))) / (2 * float(friction))
    worst = noise.worst_anisotropic if hasattr(sampler, "thermostat") else noise.worst
    return GradientNoiseRatio(*(per_variance * value for value in (noise.mean, noise.stated, worst)))
