"""L inner steps in one draw, each with a minibatch of its own."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from geodrift._types import Batch, RandomKey
from geodrift._whole import is_whole
from geodrift.estimators import Estimator
from geodrift.integrators import Phase, StepOutcome
from geodrift.integrators._interpreter import outcome_without_velocities
from geodrift.integrators._normals import Ahead, draw_ahead
from geodrift.manifolds import Manifold
from geodrift.samplers._base import Sampler

InnerStep: TypeAlias = Callable[[Any, Phase, Any], tuple[Phase, StepOutcome]]
"""One inner step from a random key (or `Ahead`), a phase and what the estimator prepared."""


class InnerSteps(Sampler):
    """A sampler whose step is L inner steps, each with a minibatch of its own unless ``reuse_batch``.

    A subclass declares the fields ``estimator``, ``num_steps`` and ``reuse_batch``, in the order of its
    arguments.
    """

    if TYPE_CHECKING:

        @property
        def estimator(self) -> Estimator: ...
        @property
        def num_steps(self) -> int: ...
        @property
        def reuse_batch(self) -> bool: ...

    def __check_init__(self) -> None:
        if not is_whole(self.num_steps, 1):
            raise ValueError(f"num_steps = {self.num_steps!r}: must be a whole number, 1 or more")

    @property
    def batch_axes(self) -> tuple[int, ...]:
        """``(L,)`` where each of several inner steps has its own minibatch, else ``()``."""
        return () if self.num_steps == 1 or self.reuse_batch else (self.num_steps,)

    def on_all_data(self) -> Any:
        """The same sampler with the whole data set as the one batch of all inner steps."""
        changes: dict[str, Any] = {"estimator": self.estimator.on_all_data(), "reuse_batch": True}
        return dataclasses.replace(self, **changes)


def inner_steps(
    key: RandomKey,
    sampler: InnerSteps,
    estimator: Estimator,
    inner_step: InnerStep,
    phase: Phase,
    estimator_state: Any,
    batch: Batch,
    *,
    one_normal_on: Manifold | None = None,
) -> tuple[Phase, Any, StepOutcome]:
    """Run L inner steps, each after the estimator's preparation of its minibatch.

    Args:
        key: Random key.
        sampler: Gives L and ``reuse_batch``.
        estimator: The sampler's, on its manifold.
        inner_step: One inner step.
        phase: Where to start; the velocity of a first-order sampler is ``()``.
        estimator_state: The estimator's state.
        batch: ``[L, batch]`` where each inner step has its own minibatch, else ``[batch]``.
        one_normal_on: The manifold, if an inner step draws one standard normal for each leaf and nothing
            else: those of all inner steps are then drawn at once, and it gets them as `Ahead` in place of a
            key. None if it draws anything else.

    Returns:
        The new phase, the estimator's new state, and the last inner step's outcome, with
        ``negative_variance`` true if that of any inner step was.
    """
    steps = sampler.num_steps

    def ahead(keys: Key[Array, " L"]) -> Key[Array, " L"] | Ahead:
        return keys if one_normal_on is None else draw_ahead(keys, one_normal_on, phase.position)

    # All keys at once: one by one they would take a fifth of the time of a step on a small batch.
    if steps == 1:
        key_prepare, key_step = jax.random.split(key)
        prepared, estimator_state = estimator.prepare(key_prepare, estimator_state, phase.position, batch)
        phase, outcome = inner_step(key_step, phase, prepared)
        return phase, estimator_state, outcome
    if sampler.reuse_batch:
        keys = jax.random.split(key, steps + 1)
        prepared, estimator_state = estimator.prepare(keys[0], estimator_state, phase.position, batch)
        phase, outcome = _with_one_batch(inner_step, phase, prepared, ahead(keys[1:]))
        return phase, estimator_state, outcome
    _check_batches(batch, steps)
    keys = jax.random.split(key, (steps, 2))
    inputs = keys[:, 0], ahead(keys[:, 1]), batch
    return _with_new_batches(estimator, inner_step, phase, estimator_state, inputs)


def _check_batches(batch: Batch, steps: int) -> None:
    """Raise ValueError unless there is a minibatch for each inner step."""
    for leaf in jax.tree.leaves(batch):
        if jnp.shape(leaf)[:1] != (steps,):
            raise ValueError(
                f"batch has an array of shape {jnp.shape(leaf)}: each of num_steps = {steps} inner steps"
                f" takes a minibatch of its own; give leading axes [{steps}, batch], or the sampler"
                " reuse_batch=True"
            )


def _with_one_batch(
    inner_step: InnerStep, phase: Phase, prepared: Any, keys: Key[Array, " L"] | Ahead
) -> tuple[Phase, StepOutcome]:
    """All inner steps on the batch that the estimator prepared."""

    def step(carry: tuple[Phase, Array], key: RandomKey | Ahead) -> tuple[tuple, None]:
        phase, outcome = inner_step(key, carry[0], prepared)
        return (phase, carry[1] | outcome.negative_variance), None

    # The last step stands outside: a loop writes all that it carries, and only the last outcome counts.
    others, last = (jax.tree.map(lambda a, part=part: a[part], keys) for part in (slice(-1), -1))
    (phase, negative), _ = jax.lax.scan(step, (phase, jnp.zeros((), bool)), others)
    phase, outcome = inner_step(last, phase, prepared)
    return phase, outcome._replace(negative_variance=outcome.negative_variance | negative)


def _with_new_batches(
    estimator: Estimator, inner_step: InnerStep, phase: Phase, estimator_state: Any, inputs: tuple
) -> tuple[Phase, Any, StepOutcome]:
    """All inner steps, each on its own batch.

    Args:
        estimator: On its manifold.
        inner_step: One inner step.
        phase: Where to start.
        estimator_state: The estimator's state.
        inputs: The keys of the preparations, the keys (or `Ahead`) of the steps, and the batches, all with a
            leading axis ``[L]``.
    """

    def step(carry: tuple[Phase, Any, StepOutcome], inputs: tuple) -> tuple[tuple, None]:
        phase, estimator_state, earlier = carry
        key_prepare, key_step, rows = inputs
        prepared, estimator_state = estimator.prepare(key_prepare, estimator_state, phase.position, rows)
        phase, outcome = inner_step(key_step, phase, prepared)
        negative = earlier.negative_variance | outcome.negative_variance
        return (phase, estimator_state, outcome._replace(negative_variance=negative)), None

    # Here the last step stays inside: the batches of the others would have to be copied.
    nothing = jax.tree.map(jnp.zeros_like, phase.position)
    start = outcome_without_velocities(phase.position, nothing, jnp.zeros((), bool))
    return jax.lax.scan(step, (phase, estimator_state, start), inputs)[0]
