"""Unit vectors."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey, Scalar
from geodrift._whole import as_whole, is_whole
from geodrift.manifolds._embedded import Embedded

# Below this squared angle the Taylor series of cos and sin(a)/a, cut after a^4, are exact to float64
# rounding.
_SMALL_SQUARED_ANGLE = 1e-4


class Sphere(Embedded):
    """The unit sphere of R^n, which has dimension n - 1; its volume is the area.

    Args:
        n: Number of ambient coordinates, the length of the last axis.

    Raises:
        ValueError: ``n`` is no whole number, or less than 2.
    """

    n: int = eqx.field(static=True, converter=as_whole)

    def __check_init__(self) -> None:
        if not is_whole(self.n, 2):
            raise ValueError(f"n = {self.n!r}: a sphere of unit vectors of R^n needs a whole n of 2 or more")

    @property
    def point_shape(self) -> tuple[int, ...]:
        """``(n,)``."""
        return (self.n,)

    @property
    def point_dim(self) -> int:
        """``n - 1``."""
        return self.n - 1

    def project(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        """Division by the norm."""
        self.check_shape(x)
        return x * jax.lax.rsqrt(jnp.sum(x * x, axis=-1, keepdims=True))

    def to_tangent(
        self, x: Float[Array, "*batch n"], u: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch n"]:
        """``(I - x x') u``."""
        return u - x * jnp.sum(x * u, axis=-1, keepdims=True)

    def geodesic(
        self, x: Float[Array, "*batch n"], v: Float[Array, "*batch n"], t: float | Scalar
    ) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"]]:
        """The great circle of velocity ``v`` through ``x``; Liu et al. (2016), eq. (7)."""
        t = jnp.asarray(t, x.dtype)
        speed_squared = jnp.sum(v * v, axis=-1, keepdims=True)
        cosine, sinc = _cos_and_sinc(speed_squared * t * t)
        arrived = self.project(cosine * x + (t * sinc) * v)
        return arrived, self.to_tangent(arrived, cosine * v - (speed_squared * t * sinc) * x)

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "*batch n"]:
        """A uniform unit vector."""
        return self.project(jax.random.normal(key, (*shape, self.n)))

    def residual(self, x: Float[Array, "*batch n"]) -> Scalar:
        """Largest deviation of a squared norm from 1."""
        return jnp.max(jnp.abs(jnp.sum(x * x, axis=-1) - 1))


def _cos_and_sinc(squared_angle: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """``cos(a)`` and ``sin(a) / a`` as smooth functions of ``a^2``."""
    small = squared_angle < _SMALL_SQUARED_ANGLE
    # The root's derivative at 0 is infinite, so the unused branch must not see 0.
    angle = jnp.sqrt(jnp.where(small, 1.0, squared_angle))
    cosine = jnp.where(small, 1 - squared_angle / 2 + squared_angle**2 / 24, jnp.cos(angle))
    sinc = jnp.where(small, 1 - squared_angle / 6 + squared_angle**2 / 120, jnp.sin(angle) / angle)
    return cosine, sinc
