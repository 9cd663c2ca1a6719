"""Stochastic gradient geodesic Monte Carlo; Liu, Zhu & Song (2016), sections 3.2 and 3.3, Algorithm 1."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PyTree

from geodrift._tree import as_float_arrays
from geodrift._types import Batch, Count, Position, RandomKey, Shared, Tangent
from geodrift._whole import as_whole
from geodrift.estimators import Estimator
from geodrift.integrators import Phase
from geodrift.manifolds import Manifold
from geodrift.samplers._base import StepInfo
from geodrift.samplers._kinetic import KineticSampler
from geodrift.schedules import Schedule, as_schedule


class SGGMCState(NamedTuple):
    """State of `SGGMC`."""

    position: Position
    velocity: Tangent
    estimator: Any  # the estimator's kept state
    count: Shared[Count]  # steps taken


class SGGMC(KineticSampler):
    r"""Langevin dynamics with friction on a manifold, from noisy gradients.

    .. math:: dx = v\,dt, \quad dv = \nabla \log p\,dt - C v\,dt + \sqrt{2C}\,dW

    with all terms in the tangent space; Liu, Zhu & Song (2016), sections 3.2 and 3.3, Algorithm 1. The
    gradient noise V that the estimator states is subtracted from the injected noise exactly; the bias is then
    of second order in the step size, and of first order where V is ignored.

    Args:
        estimator: Gradient of the log density of all the data.
        manifold: Where the positions are.
        step_size: h (the paper's epsilon), the time of an inner step in the equation above; in the
            position's unit, as velocities have variance 1. A number or a `Schedule` of the count.
        friction: C, 1/time: a number; a symmetric positive definite matrix ``[n, n]`` (or ``[..., n, n]``),
            which acts as :math:`\Lambda C \Lambda` with :math:`\Lambda` the projection on the tangent space;
            or a prefix of the position's tree of such. An array is always a matrix, for a leaf ``[n, n]``
            too.
        num_steps: L, inner steps in one draw.
        composition: The order of the flows of one inner step: ``"ABOBA"``, ``"BAOAB"``, ``"OBABO"`` or
            ``"liu"``, the paper's own, whose positions are too cold.
        reuse_batch: Use one batch for all L inner steps, which saves L - 1 calls of the estimator's
            ``prepare``. The gradient noise of the inner steps is then correlated, so that subtracting V does
            not remove it, and the law is biased.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: the target as h -> 0.

    Example:
        >>> sampler = SGGMC(Full(log_density), Sphere(3), step_size=0.1, friction=1.0, num_steps=10)
        >>> state = sampler.init(key, position)
        >>> state, info = sampler.step(key, state)
    """

    estimator: Estimator
    manifold: Manifold
    step_size: Schedule = eqx.field(converter=as_schedule)
    friction: PyTree = eqx.field(converter=as_float_arrays, default=1.0)
    num_steps: int = eqx.field(static=True, default=1, converter=as_whole)
    composition: str = eqx.field(static=True, default="ABOBA")
    reuse_batch: bool = eqx.field(static=True, default=False)

    def init(self, key: RandomKey, position: Position) -> SGGMCState:
        """The state before the first step, with a velocity drawn at temperature 1."""
        position, velocity, estimator_state = self._start(key, position)
        return SGGMCState(position, velocity, estimator_state, jnp.zeros((), jnp.int32))

    def step(self, key: RandomKey, state: SGGMCState, batch: Batch = None) -> tuple[SGGMCState, StepInfo]:
        """L inner steps of the composition."""
        phase = Phase(state.position, state.velocity, None)
        phase, estimator_state, info = self._move(key, state.count, phase, state.estimator, batch)
        return SGGMCState(phase.position, phase.velocity, estimator_state, state.count + 1), info
