"""Plain R^n."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey, Scalar
from geodrift.manifolds._base import Manifold, check_last_axis


class Euclidean(Manifold):
    """R^n with the identity metric.

    Args:
        n: Length of the last axis; None takes any shape, scalars included.

    Raises:
        ValueError: ``n`` is less than 1.
    """

    n: int | None = eqx.field(static=True, default=None)

    def __check_init__(self) -> None:
        if self.n is not None and self.n < 1:
            raise ValueError(f"n = {self.n}: the number of coordinates must be 1 or more, or None")

    def project(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The point itself."""
        self._check(x)
        return x

    def to_tangent(self, x: Float[Array, "..."], u: Float[Array, "..."]) -> Float[Array, "..."]:
        """The vector itself."""
        del x
        return u

    def inner(self, x: Float[Array, "..."], u: Float[Array, "..."], v: Float[Array, "..."]) -> Scalar:
        """The dot product."""
        del x
        return jnp.sum(u * v)

    def riemannian_gradient(self, x: Float[Array, "..."], g: Float[Array, "..."]) -> Float[Array, "..."]:
        """The derivative itself."""
        del x
        return g

    def geodesic(
        self, x: Float[Array, "..."], v: Float[Array, "..."], t: float | Scalar
    ) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """A straight line."""
        self._check(x)
        return x + jnp.asarray(t, x.dtype) * v, v

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
        """A standard normal draw, R^n having no uniform law.

        Raises:
            ValueError: ``n`` was not given.
        """
        if self.n is None:
            raise ValueError(
                "Euclidean() has no shape to draw a point of: give Euclidean(n), or an initial position"
            )
        return jax.random.normal(key, (*shape, self.n))

    def random_tangent(self, key: RandomKey, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """A standard normal draw."""
        self._check(x)
        return jax.random.normal(key, x.shape, x.dtype)

    def dim(self, shape: tuple[int, ...]) -> int:
        """The number of coordinates."""
        return math.prod(shape)

    def residual(self, x: Float[Array, "..."]) -> Scalar:
        """Always 0, or NaN where a coordinate is not finite."""
        return jnp.max(x - x)

    def _check(self, x: Array) -> None:
        if self.n is not None:
            check_last_axis(f"Euclidean({self.n})", self.n, x)
