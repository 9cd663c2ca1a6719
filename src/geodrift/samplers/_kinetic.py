"""The step that the samplers with friction share: L passes of a composition, each with a minibatch."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from geodrift._errors import is_concrete
from geodrift._types import Batch, Count, RandomKey, Scalar
from geodrift.estimators import Estimator
from geodrift.integrators import Phase, StepOutcome, composition_named, integrate
from geodrift.manifolds import Manifold
from geodrift.samplers._base import StepInfo, kinetic_temperature, result_code


class KineticSettings(NamedTuple):
    """What a kinetic step needs of its sampler."""

    estimator: Estimator
    manifold: Manifold
    step_size: Scalar  # at this count
    friction: PyTree
    num_steps: int
    composition: str
    reuse_batch: bool


def kinetic_step(
    key: RandomKey, settings: KineticSettings, phase: Phase, kept: Any, batch: Batch
) -> tuple[Phase, Any, StepInfo]:
    """L inner steps.

    Args:
        key: Random key.
        settings: The sampler's.
        phase: Position, velocity and thermostat.
        kept: The estimator's state.
        batch: ``[L, batch]`` where each inner step has its own, else ``[batch]``.

    Returns:
        The new phase, the estimator's new state, and the information of the step.
    """
    estimator, steps = settings.estimator.on(settings.manifold), settings.num_steps
    if steps == 1:
        phase, kept, outcome = _prepare_and_move(key, settings, estimator, phase, kept, batch)
    elif settings.reuse_batch:
        key_prepare, key_move = jax.random.split(key)
        prepared, kept = estimator.prepare(key_prepare, kept, phase.position, batch)

        def move(phase: Phase, i: Count) -> tuple[Phase, StepOutcome]:
            return _move(jax.random.fold_in(key_move, i), settings, estimator, phase, prepared)

        phase, outcomes = jax.lax.scan(move, phase, jnp.arange(steps))
        outcome = _last(outcomes)
    else:

        def inner(carry: tuple[Phase, Any], xs: tuple) -> tuple[tuple[Phase, Any], StepOutcome]:
            i, rows = xs
            key_inner = jax.random.fold_in(key, i)
            phase, kept, outcome = _prepare_and_move(key_inner, settings, estimator, *carry, rows)
            return (phase, kept), outcome

        (phase, kept), outcomes = jax.lax.scan(inner, (phase, kept), (jnp.arange(steps), batch))
        outcome = _last(outcomes)
    return phase, kept, _info(settings, phase, outcome)


def check_kinetic(settings: KineticSettings) -> None:
    """Raise ValueError where an argument of the constructor is outside its range."""
    composition_named(settings.composition)
    if not isinstance(settings.num_steps, int) or settings.num_steps < 1:
        raise ValueError(f"num_steps = {settings.num_steps!r}: must be a whole number, 1 or more")
    for leaf in jax.tree.leaves(settings.friction):
        _check_friction(leaf)


def _prepare_and_move(
    key: RandomKey, settings: KineticSettings, estimator: Estimator, phase: Phase, kept: Any, batch: Batch
) -> tuple[Phase, Any, StepOutcome]:
    key_prepare, key_move = jax.random.split(key)
    prepared, kept = estimator.prepare(key_prepare, kept, phase.position, batch)
    phase, outcome = _move(key_move, settings, estimator, phase, prepared)
    return phase, kept, outcome


def _move(
    key: RandomKey, settings: KineticSettings, estimator: Estimator, phase: Phase, prepared: Any
) -> tuple[Phase, StepOutcome]:
    return integrate(
        key,
        composition_named(settings.composition),
        settings.manifold,
        phase,
        settings.step_size,
        settings.friction,
        lambda position: estimator.gradient(position, prepared),
        lambda position: estimator.noise_variance(position, prepared),
    )


def _last(outcomes: StepOutcome) -> StepOutcome:
    return StepOutcome(outcomes.gradient_norm[-1], jnp.any(outcomes.negative_variance))


def _info(settings: KineticSettings, phase: Phase, outcome: StepOutcome) -> StepInfo:
    temperature = kinetic_temperature(settings.manifold, phase.position, phase.velocity)
    code, residual = result_code(
        settings.manifold, phase.position, temperature + outcome.gradient_norm, outcome.negative_variance
    )
    return StepInfo(
        result=code,
        residual=residual,
        kinetic_temperature=temperature,
        gradient_norm=outcome.gradient_norm,
        acceptance=jnp.full((), jnp.nan, temperature.dtype),
    )


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
