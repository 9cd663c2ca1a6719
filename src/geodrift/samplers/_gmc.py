"""Geodesic Monte Carlo: Hamiltonian Monte Carlo on a manifold; Byrne & Girolami (2013), Algorithm 1."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from geodrift._types import Batch, Count, Position, RandomKey, Scalar, Shared, Tangent
from geodrift._whole import as_whole, is_whole
from geodrift.estimators import Full
from geodrift.integrators import drift, kick
from geodrift.integrators._interpreter import kinetic_temperature
from geodrift.manifolds import Manifold
from geodrift.samplers._base import Sampler, StepInfo, check_position, result_code
from geodrift.samplers._metropolis import metropolis
from geodrift.schedules import Schedule, as_schedule


class GMCState(NamedTuple):
    """State of `GMC`."""

    position: Position
    log_density: Scalar  # at the position
    gradient: Tangent  # at the position, in ambient coordinates
    count: Shared[Count]  # steps taken


class _Point(NamedTuple):
    position: Position
    velocity: Tangent
    log_density: Scalar
    gradient: Tangent


class GMC(Sampler):
    r"""Hamiltonian Monte Carlo along the geodesics of a manifold, with a Metropolis test.

    .. math:: dx = v\,dt, \quad dv = \nabla \log p\,dt

    Byrne & Girolami (2013), Algorithm 1. Each step draws a new velocity at temperature 1, makes L steps of
    half a kick, a geodesic drift and half a kick, and accepts the end with the probability
    ``min(1, exp(-change of energy))``. A proposal that is not finite is rejected.

    Args:
        estimator: `Full`, because the Metropolis test needs the log density itself.
        manifold: Where the positions are.
        step_size: h (the paper's epsilon), the time of one of the L steps in the equation above; in the
            position's unit, as velocities have variance 1. A number or a `Schedule` of the count.
        num_steps: L, steps of one trajectory.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: the target, exactly, at any step size.
    """

    estimator: Full
    manifold: Manifold
    step_size: Schedule = eqx.field(converter=as_schedule)
    num_steps: int = eqx.field(static=True, default=1, converter=as_whole)

    def __check_init__(self) -> None:
        if not isinstance(self.estimator, Full):
            raise ValueError(
                f"estimator = {type(self.estimator).__name__}: {type(self).__name__} needs Full, for its log"
                " density"
            )
        if not is_whole(self.num_steps, 1):
            raise ValueError(f"num_steps = {self.num_steps!r}: must be a whole number, 1 or more")

    def init(self, key: RandomKey, position: Position) -> GMCState:
        """The state, with the log density and its gradient at the position."""
        del key
        position = check_position(self.manifold, position)
        value, gradient = self.estimator.value_and_gradient(position)
        return GMCState(position, value, gradient, jnp.zeros((), jnp.int32))

    def step(self, key: RandomKey, state: GMCState, batch: Batch = None) -> tuple[GMCState, StepInfo]:
        """One trajectory and its Metropolis test; ``batch`` is ignored."""
        del batch
        key_velocity, key_test = jax.random.split(key)
        velocity = self.manifold.random_tangent(key_velocity, state.position)
        start = _Point(state.position, velocity, state.log_density, state.gradient)
        end = self._trajectory(start, self.step_size(state.count))
        log_ratio = self._energy(start) - self._energy(end)
        valid = jnp.isfinite(end.log_density)
        point, probability = metropolis(key_test, log_ratio, valid, end, start)
        info = self._info(point, kinetic_temperature(self.manifold, state.position, velocity), probability)
        return GMCState(point.position, point.log_density, point.gradient, state.count + 1), info

    def retarget(self, state: GMCState) -> GMCState:
        """The state with its log density and gradient recomputed."""
        value, gradient = self.estimator.value_and_gradient(state.position)
        return state._replace(log_density=value, gradient=gradient)

    def _trajectory(self, point: _Point, h: Scalar) -> _Point:
        def leapfrog(_: Count | int, start: _Point) -> _Point:
            velocity = kick(self.manifold, start.position, start.velocity, start.gradient, h / 2)
            position, velocity = drift(self.manifold, start.position, velocity, h)
            value, gradient = self.estimator.value_and_gradient(position)
            return _Point(position, kick(self.manifold, position, velocity, gradient, h / 2), value, gradient)

        if self.num_steps == 1:
            return leapfrog(0, point)
        return jax.lax.fori_loop(0, self.num_steps, leapfrog, point)

    def _energy(self, point: _Point) -> Scalar:
        kinetic = self.manifold.inner(point.position, point.velocity, point.velocity) / 2
        return kinetic - point.log_density

    def _info(self, point: _Point, temperature: Scalar, probability: Scalar) -> StepInfo:
        gradient = self.manifold.riemannian_gradient(point.position, point.gradient)
        norm = jnp.sqrt(self.manifold.inner(point.position, gradient, gradient))
        code, residual = result_code(
            self.manifold, point.position, norm + point.log_density, jnp.zeros((), bool)
        )
        return StepInfo(
            result=code,
            residual=residual,
            kinetic_temperature=temperature,
            gradient_norm=norm,
            acceptance=probability,
        )
