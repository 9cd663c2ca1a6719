"""What the samplers with friction share: L passes of a flow, each with a minibatch of its own."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from geodrift._errors import is_concrete
from geodrift._types import Batch, Count, Position, RandomKey, Tangent
from geodrift.estimators import Estimator
from geodrift.integrators import Phase, StepOutcome, composition_named, integrate
from geodrift.integrators._friction import check_friction_fits
from geodrift.manifolds import Manifold, Product
from geodrift.samplers._base import Sampler, StepInfo, check_position, kinetic_temperature, result_code


class InnerSteps(Sampler):
    """A sampler whose draw is L inner steps, each with a minibatch of its own unless ``reuse_batch``.

    It has the fields ``estimator``, ``num_steps`` and ``reuse_batch``. They are not declared here, because
    a sampler chooses the order of its arguments.
    """

    def __check_init__(self: Any) -> None:
        if not isinstance(self.num_steps, int) or self.num_steps < 1:
            raise ValueError(f"num_steps = {self.num_steps!r}: must be a whole number, 1 or more")

    @property
    def batch_axes(self: Any) -> tuple[int, ...]:
        """``(L,)`` where each of several inner steps takes its own batch."""
        return () if self.num_steps == 1 or self.reuse_batch else (self.num_steps,)

    def on_all_data(self: Any) -> Any:
        """The same sampler with one batch for all inner steps, all of the data being the same at each."""
        return dataclasses.replace(self, estimator=self.estimator.on_all_data(), reuse_batch=True)


class KineticSampler(InnerSteps):
    """A sampler whose inner step is a composition on a manifold.

    It has the fields ``manifold``, ``step_size``, ``friction`` and ``composition`` too.
    """

    def __check_init__(self: Any) -> None:
        composition_named(self.composition)
        for leaf in jax.tree.leaves(self.friction):
            _check_friction(leaf)
            # For which leaf of a product a matrix is, only a position tells: `integrate` checks it.
            if not isinstance(self.manifold, Product):
                check_friction_fits(self.manifold, leaf)

    def _start(self: Any, key: RandomKey, position: Position) -> tuple[Position, Tangent, Any]:
        """The position checked, a velocity drawn at temperature 1, and the estimator's state."""
        position = check_position(self.manifold, position)
        key_velocity, key_estimator = jax.random.split(key)
        velocity = self.manifold.random_tangent(key_velocity, position)
        return position, velocity, self.estimator.on(self.manifold).init(key_estimator, position)

    def _move(
        self: Any, key: RandomKey, count: Count, phase: Phase, kept: Any, batch: Batch
    ) -> tuple[Phase, Any, StepInfo]:
        """L inner steps from a phase: the new phase, the estimator's new state, and the information."""
        estimator = self.estimator.on(self.manifold)
        composition, h = composition_named(self.composition), self.step_size(count)

        def flow(key: RandomKey, phase: Phase, prepared: Any) -> tuple[Phase, StepOutcome]:
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

        phase, kept, outcome = inner_steps(key, self, estimator, flow, phase, kept, batch)
        return phase, kept, phase_info(self.manifold, phase, outcome)


def inner_steps(
    key: RandomKey,
    sampler: Any,
    estimator: Estimator,
    flow: Callable[[RandomKey, Phase, Any], tuple[Phase, StepOutcome]],
    phase: Phase,
    kept: Any,
    batch: Batch,
) -> tuple[Phase, Any, StepOutcome]:
    """L times the preparation of a batch and a flow.

    Args:
        key: Random key.
        sampler: Gives L and whether a batch is kept over the L steps.
        estimator: The sampler's, on its manifold.
        flow: One inner step, given a key, the phase and what the estimator prepared.
        phase: Where to start.
        kept: The estimator's state.
        batch: ``[L, batch]`` where each inner step has its own, else ``[batch]``.

    Returns:
        The new phase, the estimator's new state, and the last outcome.
    """
    steps = sampler.num_steps

    def prepare_and_flow(key: RandomKey, phase: Phase, kept: Any, rows: Batch) -> tuple:
        key_prepare, key_move = jax.random.split(key)
        prepared, kept = estimator.prepare(key_prepare, kept, phase.position, rows)
        phase, outcome = flow(key_move, phase, prepared)
        return phase, kept, outcome

    if steps == 1:
        return prepare_and_flow(key, phase, kept, batch)
    if sampler.reuse_batch:
        key_prepare, key_move = jax.random.split(key)
        prepared, kept = estimator.prepare(key_prepare, kept, phase.position, batch)
        phase, outcomes = jax.lax.scan(
            lambda phase, i: flow(jax.random.fold_in(key_move, i), phase, prepared), phase, jnp.arange(steps)
        )
        return phase, kept, _last(outcomes)

    def inner(carry: tuple[Phase, Any], xs: tuple) -> tuple[tuple[Phase, Any], StepOutcome]:
        i, rows = xs
        phase, kept, outcome = prepare_and_flow(jax.random.fold_in(key, i), *carry, rows)
        return (phase, kept), outcome

    (phase, kept), outcomes = jax.lax.scan(inner, (phase, kept), (jnp.arange(steps), batch))
    return phase, kept, _last(outcomes)


def phase_info(manifold: Manifold, phase: Phase, outcome: StepOutcome) -> StepInfo:
    """The information of a step without a Metropolis test."""
    temperature = kinetic_temperature(manifold, phase.position, phase.velocity)
    code, residual = result_code(
        manifold, phase.position, temperature + outcome.gradient_norm, outcome.negative_variance
    )
    return StepInfo(
        result=code,
        residual=residual,
        kinetic_temperature=temperature,
        gradient_norm=outcome.gradient_norm,
        acceptance=jnp.full((), jnp.nan, temperature.dtype),
    )


def _last(outcomes: StepOutcome) -> StepOutcome:
    return StepOutcome(outcomes.gradient_norm[-1], jnp.any(outcomes.negative_variance))


def _check_friction(friction: Array) -> None:
    if friction.ndim == 1 or (friction.ndim > 1 and friction.shape[-1] != friction.shape[-2]):
        raise ValueError(f"friction has shape {friction.shape}: must be a number or a matrix [..., n, n]")
    if not is_concrete(friction):
        return
    if friction.ndim == 0:
        if not (friction > 0 and jnp.isfinite(friction)):
            raise ValueError(f"friction = {friction}: must be positive and finite")
        return
    transposed = jnp.swapaxes(friction, -1, -2)
    if not jnp.allclose(friction, transposed) or not jnp.all(jnp.linalg.eigvalsh(friction) > 0):
        raise ValueError("friction: a matrix must be symmetric and positive definite")
