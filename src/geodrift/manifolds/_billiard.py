"""Billiards: straight lines with exact reflection at flat walls."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from geodrift._types import Scalar


class Wall(NamedTuple):
    """The wall that a point meets next."""

    time: Float[Array, "*batch 1"]  # until it is met, infinite where none will be
    velocity: Float[Array, "*batch n"]  # after reflection


class _Flight(NamedTuple):
    """A flight under way."""

    x: Float[Array, "*batch n"]
    v: Float[Array, "*batch n"]
    time_left: Float[Array, "*batch 1"]
    bounces: Int[Array, ""]


def billiard_flow(
    x: Float[Array, "*batch n"],
    v: Float[Array, "*batch n"],
    t: float | Scalar,
    next_wall: Callable[[Array, Array], Wall],
    max_bounces: int,
) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"]]:
    """Position and velocity after time ``t``, of either sign.

    Reflection keeps volume and is reversible. A flight that would bounce more than ``max_bounces`` times ends
    in the middle of a leg, with the velocity it has there. Its speed is then far beyond what the law of
    velocities gives, from a force that is infinite at a wall, and its kinetic energy fails any Metropolis
    test. To stay put and turn round would be reversible, but the same kick follows, and a chain with friction
    would never leave the wall.

    Args:
        x: Positions.
        v: Velocities.
        t: Time.
        next_wall: ``next_wall(x, v)``: the wall that is met next.
        max_bounces: Largest number of reflections.
    """
    t = jnp.asarray(t, x.dtype)
    direction = jnp.where(t < 0, -1, 1).astype(x.dtype)
    time = jnp.full((*x.shape[:-1], 1), direction * t, x.dtype)
    start = _Flight(x, direction * v, time, jnp.zeros((), jnp.int32))

    def moving(flight: _Flight) -> Bool[Array, ""]:
        return jnp.any(flight.time_left > 0) & (flight.bounces <= max_bounces)

    def leg(flight: _Flight) -> _Flight:
        wall = next_wall(flight.x, flight.v)
        bounce = wall.time < flight.time_left
        moved = flight.x + jnp.minimum(wall.time, flight.time_left) * flight.v
        left = jnp.where(bounce, flight.time_left - wall.time, 0)
        return _Flight(moved, jnp.where(bounce, wall.velocity, flight.v), left, flight.bounces + 1)

    # The first leg is outside the loop, so that the derivative at t = 0 is the velocity and not 0.
    end = jax.lax.while_loop(moving, leg, leg(start))
    # At the end of a leg that is not the last the point is on a wall, where a force may be infinite.
    half_leg = jnp.minimum(next_wall(end.x, end.v).time, end.time_left) / 2
    return end.x + half_leg * end.v, direction * end.v


def time_to_wall(distance: Float[Array, "..."], approach: Float[Array, "..."]) -> Float[Array, "..."]:
    """Time until a wall is met, from its distance and the speed towards it; infinite if that is 0 or less."""
    towards = approach > 0
    times = jnp.where(towards, distance / jnp.where(towards, approach, 1), jnp.inf)
    # Rounding may leave a point just behind a wall, which is then met now, not in the past.
    return jnp.maximum(times, 0)
