"""L inner steps in one draw, each with a minibatch of its own."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from geodrift._types import Batch, RandomKey
from geodrift.estimators import Estimator
from geodrift.integrators import Phase, StepOutcome
from geodrift.samplers._base import Sampler


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
        phase: Where to start; without inertia its velocity is ``()``.
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


def _last(outcomes: StepOutcome) -> StepOutcome:
    return StepOutcome(outcomes.gradient_norm[-1], jnp.any(outcomes.negative_variance))
