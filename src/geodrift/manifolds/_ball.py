"""The inside of the unit sphere."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey, Scalar
from geodrift._whole import as_whole, is_whole
from geodrift.manifolds._embedded import Flat


class Ball(Flat):
    """Vectors of R^n of norm 1 or less, with the flat metric; geodesics are reflected at the sphere.

    Densities are with respect to Lebesgue measure in the ball, up to the sphere. The reflected geodesic
    has a closed form, for any number of bounces. Lan, Zhou and Shahbaba (2014) lift the ball to a sphere of
    one more dimension, whose change of measure is infinite at the boundary; reflection has none and is exact.

    Args:
        n: Number of coordinates, the length of the last axis.

    Raises:
        ValueError: ``n`` is less than 2: an interval is a `Box`.
    """

    n: int = eqx.field(static=True, converter=as_whole)

    def __check_init__(self) -> None:
        if not is_whole(self.n, 2):
            raise ValueError(
                f"n = {self.n!r}: a ball needs a whole n of 2 or more; an interval is Box([-1], [1])"
            )

    @property
    def point_shape(self) -> tuple[int, ...]:
        """``(n,)``."""
        return (self.n,)

    def project(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        """Division by the norm where that is above 1."""
        self.check_shape(x)
        return x / jnp.sqrt(jnp.maximum(_dot(x, x), 1))

    def geodesic(
        self, x: Float[Array, "*batch n"], v: Float[Array, "*batch n"], t: float | Scalar
    ) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"]]:
        """A straight line, then equal chords of the circle in which it first meets the sphere."""
        self.check_shape(x)
        t = jnp.asarray(t, x.dtype)
        straight = x + t * v
        meets = _dot(straight, straight) > 1
        # A line that never meets the sphere must not divide by its speed, not even in the unused branch.
        direction = jnp.where(t < 0, -1, 1).astype(x.dtype)
        safe = jnp.where(meets, direction * v, jnp.ones_like(v))
        bounced, velocity = _bounce(x, safe, jnp.abs(t))
        bounced = self.project(bounced)
        return jnp.where(meets, bounced, straight), jnp.where(meets, direction * velocity, v)

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "*batch n"]:
        """A draw of the uniform law."""
        key_direction, key_radius = jax.random.split(key)
        direction = jax.random.normal(key_direction, (*shape, self.n))
        radius = jax.random.uniform(key_radius, (*shape, 1)) ** (1 / self.n)
        return direction * (radius / jnp.sqrt(_dot(direction, direction)))

    def residual(self, x: Float[Array, "*batch n"]) -> Scalar:
        """How far a squared norm is above 1."""
        return jnp.maximum(jnp.max(jnp.sum(x * x, axis=-1)) - 1, 0)


def _bounce(
    x: Float[Array, "*batch n"], v: Float[Array, "*batch n"], t: Scalar
) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"]]:
    """Position and velocity after a time ``t > 0`` in which the sphere is met.

    At the point p of the first bounce the velocity is ``w + q p`` with w tangent and q > 0, and ``w - q p``
    after it. The chord that follows takes the time ``2 q / |v|^2`` and turns p by the angle a with
    ``tan(a / 2) = q / |w|``; so does each further one, in the plane of p and w.
    """
    squared_speed, along = _dot(v, v), _dot(x, v)
    gap = jnp.maximum(1 - _dot(x, x), 0)
    tiny = jnp.finfo(x.dtype).eps * jnp.sqrt(squared_speed)
    q = jnp.maximum(jnp.sqrt(along * along + squared_speed * gap), tiny)
    # Of the two forms of the root, the one that does not cancel.
    outward = along > 0
    first = jnp.where(outward, gap / jnp.where(outward, q + along, 1), (q - along) / squared_speed)
    first = jnp.minimum(first, t)
    p = x + first * v
    p = p / jnp.sqrt(_dot(p, p))
    w = v - p * _dot(p, v)
    tangent_speed = jnp.sqrt(jnp.maximum(squared_speed - q * q, tiny * tiny))
    chord = 2 * q / squared_speed
    bounces = jnp.floor((t - first) / chord)
    angle = bounces * 2 * jnp.arctan2(q, tangent_speed)
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    turned = cosine * p + (sine / tangent_speed) * w
    velocity = cosine * w - (sine * tangent_speed) * p - q * turned
    return turned + (t - first - bounces * chord) * velocity, velocity


def _dot(u: Float[Array, "*batch n"], v: Float[Array, "*batch n"]) -> Float[Array, "*batch 1"]:
    return jnp.sum(u * v, axis=-1, keepdims=True)
