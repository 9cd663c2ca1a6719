"""The pilot: a short Langevin run on a subsample, which finds the bulk of the posterior and its curvature."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from geodrift import _tree
from geodrift._types import Batch, Position, RandomKey, Scalar, Tangent
from geodrift.estimators import Estimator, Full
from geodrift.integrators import Phase, composition_named, integrate
from geodrift.manifolds import Manifold, leaf_manifolds
from geodrift.manifolds._walls import has_walls
from geodrift.tuning._curvature import extremes, hessian_product, lanczos
from geodrift.tuning._energy import Energy
from geodrift.tuning._width import has_width, width

ROWS = 2048
"""Data in the subsample, or the batch size where that is larger."""

_ROUNDS, _STEPS = 8, 128  # the pilot's rounds, and the steps of each
_LATE = 4  # rounds, the last ones, that tell what is typical
_MOST_ROUNDS = 32  # where the pilot still falls
_FALL, _FALL_A_ROOT = 10.0, 5.0  # nats of a fall, and more with the root of the dimension: no chance
_STEP = 0.3  # step size times the root of the largest curvature at the start of a round
_UNSTABLE = 1.5  # largest such product at the end of a round; the integrator is unstable beyond 2
_ATTEMPTS = 12  # step sizes tried in a round, each a third of the last


class Frame(NamedTuple):
    """Coordinates in which a round of the pilot moves, where it starts, and the target in them."""

    estimator: Estimator  # on its manifold
    manifold: Manifold
    position: Position  # in these coordinates
    estimator_state: Any
    batch: Batch  # the subsample, whose posterior, scaled to all data, is sampled without gradient noise
    back: Callable[[Position], Position] = lambda end: end  # from these coordinates


class Curvature(NamedTuple):
    """Of -log p, with what the size and the walls of the space add to it; 1/length^2."""

    largest: float
    least: float
    of_walls: float  # the most that a wall adds


class Pilot(NamedTuple):
    """The pilot's positions and the curvatures there."""

    positions: list[Position]  # at the start and after each round
    curvatures: list[Curvature]  # at each position

    @property
    def typical(self) -> Curvature:
        """Medians over the last rounds."""
        return Curvature(*np.median(self.curvatures[-_LATE:], axis=0).tolist())


def run_pilot(key: RandomKey, frame_at: Callable[[Position], Frame], position: Position) -> Pilot:
    """Run the pilot: rounds of Langevin steps.

    The step size of a round follows from the curvature at its start; a round that fails is repeated with a
    smaller one. Within walls, where steps are short and a start may be far in units of them, there are more
    rounds until some have not fallen into the mass any more.

    Args:
        key: Random key.
        frame_at: The coordinates of a round that starts at a position.
        position: Where to start.

    Raises:
        ValueError: No step size works, or the density is flat.
    """
    frame = frame_at(position)
    positions, curvatures, settled = [position], [_curvature(key, frame)], 0
    much = _FALL + _FALL_A_ROOT * math.sqrt(frame.manifold.dim(_tree.shapes(frame.position)))
    for i in range(_MOST_ROUNDS):
        frame, at_end, fall = _round(jax.random.fold_in(key, i + 1), frame_at, frame, curvatures[-1])
        positions.append(frame.back(frame.position))
        curvatures.append(at_end)
        settled = settled + 1 if fall < much else 0
        if i + 1 >= _ROUNDS and settled >= _LATE:
            break
    return Pilot(positions, curvatures)


def _curvature(key: RandomKey, frame: Frame) -> Curvature:
    """Where a frame starts; infinite where it is not finite."""
    *matrix, of_walls = lanczos_at(key, *frame[:-1])
    largest, least = extremes(*matrix)
    found = Curvature(largest, least, float(of_walls))
    return found if math.isfinite(largest) else Curvature(math.inf, math.inf, math.inf)


def _round(
    key: RandomKey, frame_at: Callable[[Position], Frame], frame: Frame, at_start: Curvature
) -> tuple[Frame, Curvature, float]:
    """The frame at the end of a round that did not fail, the curvature there, and how far -log p fell."""
    largest, least, _ = at_start
    if not (math.isfinite(largest) and largest > 0):
        why = "not finite" if not math.isfinite(largest) else "flat"
        raise ValueError(
            f"step_size = None: the log density is {why} where the pilot stands; give a step size, or another"
            " initial position"
        )
    h, friction = _STEP / math.sqrt(largest), math.sqrt(least)
    for attempt in range(_ATTEMPTS):
        key_try = jax.random.fold_in(key, attempt)
        # As arrays: each new number would compile a new program.
        end, valid, fall = _langevin(key_try, *frame[:-1], jnp.asarray(h), jnp.asarray(friction))
        if valid:
            ended = frame_at(frame.back(end))
            at_end = _curvature(key_try, ended)
            if h * math.sqrt(at_end.largest) <= _UNSTABLE:
                return ended, at_end, float(fall)
        h /= 3
    raise ValueError(
        f"step_size = None: a pilot of {_STEPS} steps fails at every step size down to {h:.2g}; check the log"
        " density and its gradient, or give a step size"
    )


@eqx.filter_jit
def lanczos_at(
    key: RandomKey,
    estimator: Estimator,
    manifold: Manifold,
    position: Position,
    estimator_state: Any,
    batch: Batch,
) -> tuple[Float[Array, " products"], Float[Array, " products"], Float[Array, ""]]:
    """`lanczos` of the curvature of -log p, with the gradient of a batch, compiled.

    What the size and the walls of the space add is included; the last number is the most that a wall adds.
    """
    prepared, _ = estimator.prepare(key, estimator_state, position, batch)

    product, of_walls = _curvature_product(estimator, manifold, position, prepared)
    return *lanczos(key, manifold, position, product), of_walls


@eqx.filter_jit
def leaf_lanczos_at(
    key: RandomKey, target: Full, manifold: Manifold, position: Position, chosen: Bool[Array, " leaf"]
) -> tuple[Float[Array, " products"], Float[Array, " products"]]:
    """As `lanczos_at`, of the curvature among the vectors of the chosen leaves."""
    product, _ = _curvature_product(target, manifold, position, ())

    def alone(u: Tangent) -> Tangent:
        leaves, structure = jax.tree.flatten(u)
        kept = [jnp.where(chosen[i], leaf, 0) for i, leaf in enumerate(leaves)]
        return jax.tree.unflatten(structure, kept)

    return lanczos(key, manifold, position, lambda u: alone(product(alone(u))))


def _curvature_product(
    estimator: Estimator, manifold: Manifold, position: Position, prepared: Any
) -> tuple[Callable[[Tangent], Tangent], Float[Array, ""]]:
    """The curvature times a tangent vector, and the most that a wall adds to it."""

    def curvature(u: Tangent) -> Tangent:
        return hessian_product(estimator, manifold, position, prepared, u)

    if not has_width(manifold, position):
        return curvature, jnp.zeros(())
    gradient = manifold.riemannian_gradient(position, estimator.gradient(position, prepared))
    of_width, of_walls = width(manifold, position, gradient)
    return lambda u: _tree.add(curvature(u), of_width(u)), of_walls


@eqx.filter_jit
def _langevin(
    key: RandomKey,
    estimator: Estimator,
    manifold: Manifold,
    position: Position,
    estimator_state: Any,
    batch: Batch,
    step_size: Scalar,
    friction: Scalar,
) -> tuple[Position, Bool[Array, ""], Float[Array, ""]]:
    """The position after one round, whether it is valid, and within walls how far -log p fell.

    It is where it is on the manifold, all numbers are finite, and the steps have made no energy at walls.
    """
    key_start, key_prepare, key_steps = jax.random.split(key, 3)
    prepared, _ = estimator.prepare(key_prepare, estimator_state, position, batch)
    dtype = jax.tree.leaves(position)[0].dtype
    h, c = step_size.astype(dtype), friction.astype(dtype)

    def gradient(x: Position) -> Tangent:
        return estimator.gradient(x, prepared)

    def step(phase: Phase, i: Array) -> Phase:
        key_step = jax.random.fold_in(key_steps, i)
        return integrate(
            key_step, composition_named("ABOBA"), manifold, phase, h, c, gradient, lambda x: None
        )[0]

    def watched(carry: tuple, i: Array) -> tuple[tuple, None]:
        phase, energy, slope = carry
        moved = step(phase, i)
        slopes = slope, gradient(moved.position)
        return (moved, energy.after(manifold, phase, moved, slopes), slopes[1]), None

    start = Phase(position, manifold.random_tangent(key_start, position), None)
    energy = Energy.of(manifold, start)
    if any(map(has_walls, leaf_manifolds(manifold, position))):
        carry = start, energy, gradient(position)
        (end, energy, _), _ = jax.lax.scan(watched, carry, jnp.arange(_STEPS))
    else:
        end, _ = jax.lax.scan(lambda phase, i: (step(phase, i), None), start, jnp.arange(_STEPS))
    finite = jax.tree.reduce(jnp.logical_and, jax.tree.map(lambda x: jnp.all(jnp.isfinite(x)), end[:2]))
    valid = finite & (manifold.residual(end.position) < 1e-2) & ~energy.made
    return end.position, valid, -energy.potential
