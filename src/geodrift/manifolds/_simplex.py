"""Probability vectors with the flat metric; free motion is a billiard."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from geodrift._types import RandomKey, Scalar
from geodrift.manifolds._base import Manifold, check_last_axis


class Simplex(Manifold):
    """Probability vectors of length n with the flat metric of R^n; dimension n - 1.

    The geodesic is a straight line, reflected at the faces within the simplex. This keeps volume and is
    reversible, so samplers stay exact for any density (with respect to Lebesgue measure) up to the boundary.

    Args:
        n: Number of coordinates, the length of the last axis.
        max_bounces: A geodesic that would bounce more often than this stays where it was and turns round,
            which keeps volume and reversibility too, so that it always ends.

    Raises:
        ValueError: ``n`` is less than 2 or ``max_bounces`` less than 1.

    Note:
        The geodesic has a loop of unknown length: differentiable forward (`jax.jvp`), not backward.
    """

    n: int = eqx.field(static=True)
    max_bounces: int = eqx.field(static=True, default=10_000)

    def __check_init__(self) -> None:
        if self.n < 2:
            raise ValueError(f"n = {self.n}: a simplex needs n of 2 or more")
        if self.max_bounces < 1:
            raise ValueError(f"max_bounces = {self.max_bounces}: must be 1 or more")

    def project(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        """Negative entries to 0, then division by the sum."""
        check_last_axis(f"Simplex({self.n})", self.n, x)
        positive = jnp.maximum(x, 0)
        return positive / jnp.sum(positive, axis=-1, keepdims=True)

    def to_tangent(
        self, x: Float[Array, "*batch n"], u: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch n"]:
        """``u`` less its mean."""
        del x
        return u - jnp.mean(u, axis=-1, keepdims=True)

    def inner(
        self, x: Float[Array, "*batch n"], u: Float[Array, "*batch n"], v: Float[Array, "*batch n"]
    ) -> Scalar:
        """The dot product."""
        del x
        return jnp.sum(u * v)

    def riemannian_gradient(
        self, x: Float[Array, "*batch n"], g: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch n"]:
        """The tangent part of the derivative."""
        return self.to_tangent(x, g)

    def geodesic(
        self, x: Float[Array, "*batch n"], v: Float[Array, "*batch n"], t: float | Scalar
    ) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"]]:
        """A straight line with exact reflections."""
        check_last_axis(f"Simplex({self.n})", self.n, x)
        t = jnp.asarray(t, x.dtype)
        direction = jnp.where(t < 0, -1, 1).astype(x.dtype)
        arrived, velocity, done = _billiard(x, direction * v, direction * t, self.max_bounces)
        arrived = self.project(jnp.where(done, arrived, x))
        return arrived, self.to_tangent(arrived, jnp.where(done, direction * velocity, -v))

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "*batch n"]:
        """A uniform probability vector."""
        return self.project(jax.random.exponential(key, (*shape, self.n)))

    def random_tangent(self, key: RandomKey, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        """A standard normal draw less its mean."""
        check_last_axis(f"Simplex({self.n})", self.n, x)
        return self.to_tangent(x, jax.random.normal(key, x.shape, x.dtype))

    def dim(self, shape: tuple[int, ...]) -> int:
        """``n - 1`` for each point."""
        return math.prod(shape[:-1]) * (self.n - 1)

    def residual(self, x: Float[Array, "*batch n"]) -> Scalar:
        """Largest deviation of a sum from 1, or of an entry from being non-negative."""
        return jnp.maximum(jnp.max(jnp.abs(jnp.sum(x, axis=-1) - 1)), jnp.max(-x))


class _Ball(NamedTuple):
    x: Float[Array, "*batch n"]
    v: Float[Array, "*batch n"]
    time_left: Float[Array, "*batch 1"]
    bounces: Int[Array, ""]


def _billiard(
    x: Float[Array, "*batch n"], v: Float[Array, "*batch n"], t: Scalar, max_bounces: int
) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"], Bool[Array, "*batch 1"]]:
    """Motion for time ``t >= 0``; the third value says which points used all of it."""
    start = _Ball(x, v, jnp.full((*x.shape[:-1], 1), t, x.dtype), jnp.zeros((), jnp.int32))

    def moving(ball: _Ball) -> Bool[Array, ""]:
        return jnp.any(ball.time_left > 0) & (ball.bounces <= max_bounces)

    # The first move is outside the loop, so that the derivative at t = 0 is the velocity and not 0.
    end = jax.lax.while_loop(moving, _to_next_face, _to_next_face(start))
    return end.x, end.v, jnp.logical_not(end.time_left > 0)


def _to_next_face(ball: _Ball) -> _Ball:
    """Moves to the next face or to the end of the time, and reflects at the face.

    Within the plane of the simplex the face x_j = 0 has the normal e_j - 1/n, of squared length (n-1)/n. A
    velocity that sums to 0 has v_j along it, so the reflection is v_j -> -v_j and v_i -> v_i + 2 v_j / (n-1)
    for the others.
    """
    x, v = ball.x, ball.v
    n = x.shape[-1]
    inward = v < 0
    times = jnp.where(inward, x / jnp.where(inward, -v, 1), jnp.inf)
    # Rounding may leave an entry just below 0, whose face is then reached now, not in the past.
    times = jnp.maximum(times, 0)
    face = jax.nn.one_hot(jnp.argmin(times, axis=-1), n, dtype=bool)
    time = jnp.min(times, axis=-1, keepdims=True)
    reflect = time < ball.time_left
    x = jnp.maximum(x + jnp.minimum(time, ball.time_left) * v, 0)
    x = jnp.where(reflect & face, 0, x)
    along = jnp.sum(jnp.where(face, v, 0), axis=-1, keepdims=True)
    v = jnp.where(reflect, jnp.where(face, -v, v + 2 * along / (n - 1)), v)
    return _Ball(x, v, jnp.where(reflect, ball.time_left - time, 0), ball.bounces + 1)
