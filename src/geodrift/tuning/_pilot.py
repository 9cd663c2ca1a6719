"""The pilot: a short Langevin run on a subsample, which finds where the mass is and how curved it is."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from geodrift._types import Batch, Position, RandomKey, Scalar
from geodrift.estimators import Estimator
from geodrift.integrators import Phase, composition_named, integrate
from geodrift.manifolds import Euclidean, Manifold, leaf_manifolds
from geodrift.tuning._curvature import extremes, lanczos

ROWS = 2048
"""Data in the subsample, or the batch size where that is larger."""

_ROUNDS, _STEPS = 8, 128
_STEP = 0.3  # times the narrowest scale
_UNSTABLE = 1.5  # the same, where the curvature turns out larger; the method's limit is 2
_TRIES = 12


class Pilot(NamedTuple):
    """Where the pilot went and what it measured."""

    positions: list[Position]  # at the start and after each round
    curvatures: list[tuple[float, float]]  # largest and least, at each

    @property
    def typical(self) -> tuple[float, float]:
        """Largest and least curvature: medians over the later half of the rounds."""
        late = np.array(self.curvatures[-(_ROUNDS // 2) :])
        return float(np.median(late[:, 0])), float(np.median(late[:, 1]))


def run_pilot(
    key: RandomKey, estimator: Estimator, manifold: Manifold, position: Position, kept: Any, batch: Batch
) -> Pilot:
    """Rounds of steps at the curvature of the round's start, repeated with a smaller step where that fails.

    Args:
        key: Random key.
        estimator: On its manifold.
        manifold: The manifold.
        position: Where to start.
        kept: The estimator's state.
        batch: The subsample, whose posterior (scaled to all data) the pilot samples without noise.

    Raises:
        ValueError: No step size works, or the density is flat.
    """
    floor = 0.0 if all(isinstance(m, Euclidean) for m in leaf_manifolds(manifold, position)) else 1.0

    def curvature(key: RandomKey, x: Position) -> tuple[float, float]:
        largest, least = extremes(*_lanczos(key, estimator, manifold, x, kept, batch))
        if not math.isfinite(largest):
            return math.inf, math.inf
        # A curved space of unit size has a scale of its own, also where the density is flat.
        return max(largest, floor), max(least, floor)

    positions, curvatures = [position], [curvature(key, position)]
    for i in range(_ROUNDS):
        key_round = jax.random.fold_in(key, i + 1)
        start, found = positions[-1], curvatures[-1]
        position, found = _round(key_round, estimator, manifold, start, kept, batch, found, curvature)
        positions.append(position)
        curvatures.append(found)
    return Pilot(positions, curvatures)


def _round(
    key: RandomKey,
    estimator: Estimator,
    manifold: Manifold,
    position: Position,
    kept: Any,
    batch: Batch,
    found: tuple[float, float],
    curvature: Callable[[RandomKey, Position], tuple[float, float]],
) -> tuple[Position, tuple[float, float]]:
    """The position after one round that went well, and the curvatures there."""
    largest, least = found
    if not (math.isfinite(largest) and largest > 0):
        why = "not finite" if not math.isfinite(largest) else "flat"
        raise ValueError(
            f"step_size = None: the log density is {why} where the pilot stands; give a step size, or another"
            " initial position"
        )
    h, friction = _STEP / math.sqrt(largest), math.sqrt(least)
    for attempt in range(_TRIES):
        key_try = jax.random.fold_in(key, attempt)
        # As arrays: numbers would be constants of the compiled program.
        numbers = jnp.asarray(h), jnp.asarray(friction)
        end, sound = _langevin(key_try, estimator, manifold, position, kept, batch, *numbers)
        if sound:
            at_end = curvature(key_try, end)
            if h * math.sqrt(at_end[0]) <= _UNSTABLE:
                return end, at_end
        h /= 3
    raise ValueError(
        f"step_size = None: a pilot of {_STEPS} steps fails at every step size down to {h:.2g}; check the log"
        " density and its gradient, or give a step size"
    )


@eqx.filter_jit
def _lanczos(
    key: RandomKey, estimator: Estimator, manifold: Manifold, position: Position, kept: Any, batch: Batch
) -> tuple[Float[Array, " products"], Float[Array, " products"]]:
    prepared, _ = estimator.prepare(key, kept, position, batch)
    return lanczos(key, estimator, manifold, position, prepared)


@eqx.filter_jit
def _langevin(
    key: RandomKey,
    estimator: Estimator,
    manifold: Manifold,
    position: Position,
    kept: Any,
    batch: Batch,
    step_size: Scalar,
    friction: Scalar,
) -> tuple[Position, Bool[Array, ""]]:
    """The position after one round, and whether all numbers are finite and on the manifold."""
    key_start, key_prepare, key_steps = jax.random.split(key, 3)
    prepared, _ = estimator.prepare(key_prepare, kept, position, batch)
    dtype = jax.tree.leaves(position)[0].dtype
    h, c = step_size.astype(dtype), friction.astype(dtype)

    def step(phase: Phase, i: Array) -> tuple[Phase, None]:
        moved, _ = integrate(
            jax.random.fold_in(key_steps, i),
            composition_named("ABOBA"),
            manifold,
            phase,
            h,
            c,
            lambda x: estimator.gradient(x, prepared),
            lambda x: None,
        )
        return moved, None

    start = Phase(position, manifold.random_tangent(key_start, position), None)
    end, _ = jax.lax.scan(step, start, jnp.arange(_STEPS))
    finite = jax.tree.reduce(jnp.logical_and, jax.tree.map(lambda x: jnp.all(jnp.isfinite(x)), end[:2]))
    return end.position, finite & (manifold.residual(end.position) < 1e-2)
