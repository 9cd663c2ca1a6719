"""Stochastic gradient geodesic Monte Carlo; Liu, Zhu & Song (2016), sections 3.2 and 3.3, Algorithm 1."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from geodrift._tree import as_float_arrays
from geodrift._types import Batch, Count, Position, RandomKey, Tangent
from geodrift.estimators import Estimator
from geodrift.integrators import Phase
from geodrift.manifolds import Manifold
from geodrift.samplers._base import Sampler, StepInfo, check_position
from geodrift.samplers._kinetic import KineticSettings, check_kinetic, kinetic_step
from geodrift.schedules import Schedule, as_schedule


class SGGMCState(NamedTuple):
    """State of `SGGMC`."""

    position: Position
    velocity: Tangent
    estimator: Any  # the estimator's kept state
    count: Count  # steps taken


class SGGMC(Sampler):
    r"""Langevin dynamics with friction on a manifold, from noisy gradients.

    .. math:: dx = v\,dt, \quad dv = \nabla \log p\,dt - C v\,dt + \sqrt{2C}\,dW

    with all terms in the tangent space. The gradient noise V that the estimator states is subtracted from
    the injected noise exactly; the bias is then of second order in the step size, and of first order where V
    is ignored.

    Args:
        estimator: Gradient of the log density of all the data.
        manifold: Where the positions are.
        step_size: h, the time of an inner step; a number or a `Schedule` of the count.
        friction: C, 1/time: a number, a symmetric positive definite matrix ``[n, n]`` (or ``[..., n, n]``),
            which acts as :math:`\Lambda C \Lambda`, or a prefix of the position's tree of such. An array is
            always a matrix, for a leaf ``[n, n]`` too.
        num_steps: L, inner steps in one draw.
        composition: ``"ABOBA"``, ``"BAOAB"``, ``"OBABO"`` or ``"liu"``, the paper's own, which is cooler.
        reuse_batch: Hold one batch over the L inner steps. This saves ``prepare`` where it is dear; its
            noise is then not white, so V is not what it seems and the law is biased.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: exact as h -> 0.

    Example:
        >>> sampler = SGGMC(Full(log_density), Sphere(3), step_size=0.1, friction=1.0, num_steps=10)
        >>> state = sampler.init(key, position)
        >>> state, info = sampler.step(key, state)
    """

    estimator: Estimator
    manifold: Manifold
    step_size: Schedule = eqx.field(converter=as_schedule)
    friction: PyTree = eqx.field(converter=as_float_arrays, default=1.0)
    num_steps: int = eqx.field(static=True, default=1)
    composition: str = eqx.field(static=True, default="ABOBA")
    reuse_batch: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        check_kinetic(self._settings(jnp.zeros((), jnp.int32)))

    @property
    def batch_axes(self) -> tuple[int, ...]:
        """``(L,)`` where each of several inner steps takes its own batch."""
        return () if self.num_steps == 1 or self.reuse_batch else (self.num_steps,)

    def on_all_data(self) -> "SGGMC":
        """The same sampler with one batch for all inner steps, all of the data being the same at each."""
        return dataclasses.replace(self, estimator=self.estimator.on_all_data(), reuse_batch=True)

    def init(self, key: RandomKey, position: Position) -> SGGMCState:
        """A state with a velocity drawn at temperature 1."""
        position = check_position(self.manifold, position)
        key_velocity, key_estimator = jax.random.split(key)
        return SGGMCState(
            position=position,
            velocity=self.manifold.random_tangent(key_velocity, position),
            estimator=self.estimator.on(self.manifold).init(key_estimator, position),
            count=jnp.zeros((), jnp.int32),
        )

    def step(self, key: RandomKey, state: SGGMCState, batch: Batch = None) -> tuple[SGGMCState, StepInfo]:
        """L inner steps of the composition."""
        phase = Phase(state.position, state.velocity, None)
        phase, kept, info = kinetic_step(key, self._settings(state.count), phase, state.estimator, batch)
        return SGGMCState(phase.position, phase.velocity, kept, state.count + 1), info

    def _settings(self, count: Count) -> KineticSettings:
        return KineticSettings(
            estimator=self.estimator,
            manifold=self.manifold,
            step_size=self.step_size(count),
            friction=self.friction,
            num_steps=self.num_steps,
            composition=self.composition,
            reuse_batch=self.reuse_batch,
        )
