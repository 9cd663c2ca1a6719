"""The base of the samplers with friction: a composition of flows on a manifold as the inner step."""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from geodrift import _tree
from geodrift._errors import is_concrete
from geodrift._tree import broadcast_prefix
from geodrift._types import Batch, Count, Position, RandomKey, Tangent
from geodrift.integrators import Phase, StepOutcome, composition_named, integrate
from geodrift.integrators._friction import check_friction_fits
from geodrift.integrators._normals import Ahead
from geodrift.manifolds import Manifold, Product
from geodrift.metrics._dense import is_positive_definite
from geodrift.samplers._base import StepInfo, check_position, result_code
from geodrift.samplers._inner_steps import InnerSteps, inner_steps
from geodrift.schedules import Constant, Schedule


class KineticSampler(InnerSteps):
    """A sampler whose inner step is a composition of flows on a manifold.

    A subclass declares the fields ``manifold``, ``step_size``, ``friction`` and ``composition`` too.
    """

    if TYPE_CHECKING:

        @property
        def step_size(self) -> Schedule: ...
        @property
        def friction(self) -> PyTree: ...
        @property
        def composition(self) -> str: ...

    def __check_init__(self) -> None:
        composition_named(self.composition)
        for leaf in jax.tree.leaves(self.friction):
            _check_friction(leaf)
            # Which leaf of a product a matrix belongs to is known with a position: `integrate` checks it.
            if not isinstance(self.manifold, Product):
                check_friction_fits(self.manifold, leaf)

    def _start(self, key: RandomKey, position: Position) -> tuple[Position, Tangent, Any]:
        """The position checked, a velocity drawn at temperature 1, and the estimator's state."""
        position = check_position(self.manifold, position)
        broadcast_prefix(self.friction, position, name="friction")
        key_velocity, key_estimator = jax.random.split(key)
        velocity = self.manifold.random_tangent(key_velocity, position)
        return position, velocity, self.estimator.on(self.manifold).init(key_estimator, position)

    def _move(
        self, key: RandomKey, count: Count, phase: Phase, estimator_state: Any, batch: Batch
    ) -> tuple[Phase, Any, StepInfo]:
        """L inner steps: the new phase, the estimator's new state, and the information on the step."""
        estimator = self.estimator.on(self.manifold)
        composition, h = composition_named(self.composition), self.step_size(count)

        def inner_step(key: RandomKey | Ahead, phase: Phase, prepared: Any) -> tuple[Phase, StepOutcome]:
            return integrate(
                key,
                composition,
                self.manifold,
                phase,
                h,
                self.friction,
                lambda position: estimator.gradient(position, prepared),
                lambda position: estimator.noise_variance(position, prepared),
            )

        on = self.manifold if composition.num_injections == 1 else None
        phase, estimator_state, outcome = inner_steps(
            key, self, estimator, inner_step, phase, estimator_state, batch, one_normal_on=on
        )
        if composition.kick_ahead and not isinstance(self.step_size, Constant):
            # The half of the kick that belongs to the next step has that one's length.
            change = composition.kick_ahead * (self.step_size(count + 1) - h)
            phase = phase._replace(velocity=_tree.axpy(change, outcome.gradient, phase.velocity))
        return phase, estimator_state, phase_info(self.manifold, phase, outcome)


def phase_info(manifold: Manifold, phase: Phase, outcome: StepOutcome) -> StepInfo:
    """The information on a step with velocities and without a Metropolis test."""
    temperature = outcome.temperature
    norm = jnp.sqrt(manifold.inner(outcome.position, outcome.gradient, outcome.gradient))
    code, residual = result_code(manifold, phase.position, temperature + norm, outcome.negative_variance)
    return StepInfo(
        result=code,
        residual=residual,
        kinetic_temperature=temperature,
        gradient_norm=norm,
        acceptance=jnp.full((), jnp.nan, temperature.dtype),
    )


def _check_friction(friction: Array) -> None:
    """Raise ValueError unless a leaf of the friction is a positive number or positive definite matrices."""
    if friction.ndim == 1 or (friction.ndim > 1 and friction.shape[-1] != friction.shape[-2]):
        raise ValueError(f"friction has shape {friction.shape}: must be a number or a matrix [..., n, n]")
    if not is_concrete(friction):
        return
    if friction.ndim == 0:
        if not (friction > 0 and jnp.isfinite(friction)):
            raise ValueError(f"friction = {friction}: must be positive and finite")
        return
    if not is_positive_definite(friction):
        raise ValueError("friction: a matrix must be symmetric and positive definite")
