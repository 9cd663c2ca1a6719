"""L inner steps in one draw, each with a minibatch of its own."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from geodrift._types import Batch, RandomKey
from geodrift.estimators import Estimator
from geodrift.integrators import Phase, StepOutcome
from geodrift.integrators._normals import Ahead, draw_ahead
from geodrift.manifolds import Manifold
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
    flow: Callable[[RandomKey | Ahead, Phase, Any], tuple[Phase, StepOutcome]],
    phase: Phase,
    kept: Any,
    batch: Batch,
    *,
    one_normal_on: Manifold | None = None,
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
        one_normal_on: The manifold, where a flow draws one standard normal for each leaf and nothing else:
            those of all inner steps are then drawn at once. None where it draws something else.

    Returns:
        The new phase, the estimator's new state, and the last outcome.
    """
    steps = sampler.num_steps

    def prepare_and_flow(
        key_prepare: RandomKey, key_flow: RandomKey | Ahead, phase: Phase, kept: Any, rows: Batch
    ) -> tuple[Phase, Any, StepOutcome]:
        prepared, kept = estimator.prepare(key_prepare, kept, phase.position, rows)
        phase, outcome = flow(key_flow, phase, prepared)
        return phase, kept, outcome

    def ahead(keys: Key[Array, " L"]) -> RandomKey | Ahead:
        return keys if one_normal_on is None else draw_ahead(keys, one_normal_on, phase.position)

    # All keys at once: one by one they would take a fifth of the time of a step on a small batch.
    if steps == 1:
        key_prepare, key_flow = jax.random.split(key)
        return prepare_and_flow(key_prepare, key_flow, phase, kept, batch)
    if sampler.reuse_batch:
        keys = jax.random.split(key, steps + 1)
        prepared, kept = estimator.prepare(keys[0], kept, phase.position, batch)

        def again(carry: tuple[Phase, Array], key: RandomKey | Ahead) -> tuple[tuple, None]:
            phase, outcome = flow(key, carry[0], prepared)
            return (phase, carry[1] | outcome.negative_variance), None

        # The last step stands outside: a loop writes all that it carries, and only the last outcome counts.
        noise = ahead(keys[1:])
        others, last = (jax.tree.map(lambda a, part=part: a[part], noise) for part in (slice(-1), -1))
        (phase, negative), _ = jax.lax.scan(again, (phase, jnp.zeros((), bool)), others)
        phase, outcome = flow(last, phase, prepared)
        return phase, kept, outcome._replace(negative_variance=outcome.negative_variance | negative)

    def afresh(carry: tuple[Phase, Any, StepOutcome], xs: tuple) -> tuple[tuple, None]:
        key_prepare, key_flow, rows = xs
        phase, kept, outcome = prepare_and_flow(key_prepare, key_flow, *carry[:2], rows)
        return (phase, kept, _either(carry[2], outcome)), None

    # Here the last step stays inside, as batches cut off the others would be copied.
    nothing = jax.tree.map(jnp.zeros_like, phase.position)
    start = StepOutcome(phase.position, nothing, jnp.zeros((), bool))
    keys = jax.random.split(key, (steps, 2))
    return jax.lax.scan(afresh, (phase, kept, start), (keys[:, 0], ahead(keys[:, 1]), batch))[0]


def _either(earlier: StepOutcome, last: StepOutcome) -> StepOutcome:
    """The last one, with any negative variance."""
    return last._replace(negative_variance=earlier.negative_variance | last.negative_variance)
