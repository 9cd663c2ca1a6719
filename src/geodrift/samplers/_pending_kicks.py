"""What of the last kick belongs to the step that comes, where a sampler's steps end after a whole kick.

BAOAB, OBABO and Euler's scheme are run from a point of their cycles that needs one gradient a step. Their
steps end half a kick after the point at which velocities have their law: that half is of the target at which
the step was taken. A state that goes on with another target has to have it from that one, or velocities are
off by it at first order in the step size, and positions with them.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift import _tree
from geodrift._types import Batch, RandomKey, Tangent
from geodrift.integrators import composition_named
from geodrift.samplers._in_coordinates import InCoordinates, moving_state
from geodrift.samplers._inner_steps import InnerSteps
from geodrift.samplers._kinetic import KineticSampler


def pending_share(sampler: Any) -> float:
    """The part of a step's kick that belongs to the next step."""
    moving = sampler.moving if isinstance(sampler, InCoordinates) else sampler
    return composition_named(moving.composition).kick_ahead if isinstance(moving, KineticSampler) else 0.0


def pending_kicks(key: RandomKey, sampler: Any, before: Any, after: Any, batch: Batch) -> Tangent:
    """That part after a step, of the target that the sampler's estimator has.

    Args:
        key: Random key of the estimator's preparation.
        sampler: Whose `pending_share` is not 0.
        before: Its state before the step: of what it keeps there the last batch is independent.
        after: Its state after the step.
        batch: Of the step.
    """
    share, moving = pending_share(sampler), sampler.moving if isinstance(sampler, InCoordinates) else sampler
    before, position = moving_state(before), moving_state(after).position
    estimator = moving.estimator.on(moving.manifold)
    prepared, _ = estimator.prepare(key, before.estimator, position, _last(moving, batch))
    gradient = moving.manifold.riemannian_gradient(position, estimator.gradient(position, prepared))
    length = share * moving.step_size(before.count + 1)
    return _tree.axpy(length, gradient, jax.tree.map(jnp.zeros_like, position))


def with_changed_kicks(state: Any, kicks: Tangent, change: Float[Array, " replica"]) -> Any:
    """States of replicas, with so much more of these kicks in their velocities."""

    def changed(v: Array, kick: Array) -> Array:
        return v + change.reshape(-1, *(1,) * (v.ndim - 1)).astype(v.dtype) * kick

    velocity = jax.tree.map(changed, moving_state(state).velocity, kicks)
    return eqx.tree_at(lambda s: moving_state(s).velocity, state, velocity)


def _last(sampler: InnerSteps, batch: Batch) -> Batch:
    """The batch of the last inner step."""
    return jax.tree.map(lambda a: a[-1], batch) if sampler.batch_axes else batch
