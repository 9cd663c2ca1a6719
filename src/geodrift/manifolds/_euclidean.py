"""Plain R^n."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey, Scalar
from geodrift._whole import as_whole, is_whole
from geodrift.manifolds._embedded import Flat


class Euclidean(Flat):
    """R^n with the identity metric.

    Args:
        n: Length of the last axis; None takes any shape, scalars included.

    Raises:
        ValueError: ``n`` is less than 1.
    """

    n: int | None = eqx.field(static=True, default=None, converter=as_whole)

    def __check_init__(self) -> None:
        if self.n is not None and not is_whole(self.n, 1):
            raise ValueError(
                f"n = {self.n!r}: the number of coordinates must be a whole number, 1 or more, or None"
            )

    @property
    def point_shape(self) -> tuple[int, ...]:
        """``(n,)``, or ``()`` when ``n`` was not given."""
        return () if self.n is None else (self.n,)

    def project(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The point itself."""
        self.check_shape(x)
        return x

    def geodesic(
        self, x: Float[Array, "..."], v: Float[Array, "..."], t: float | Scalar
    ) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """A straight line."""
        self.check_shape(x)
        return x + jnp.asarray(t, x.dtype) * v, v

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
        """A standard normal draw, R^n having no uniform law.

        Raises:
            ValueError: ``n`` was not given.
        """
        if self.n is None:
            raise ValueError(
                "Euclidean() has no shape to draw a point of: give Euclidean(n), or an initial position"
                " (of a NumPyro model: initial=target.initial)"
            )
        return jax.random.normal(key, (*shape, self.n))

    def dim(self, shape: tuple[int, ...]) -> int:
        """The number of coordinates."""
        return math.prod(shape)

    def residual(self, x: Float[Array, "..."]) -> Scalar:
        """Always 0, or NaN where a coordinate is not finite."""
        self.check_shape(x)
        return jnp.max(x - x, initial=0.0)  # of no coordinates too

    def check_shape(self, x: Float[Array, "..."]) -> None:
        """Any shape will do when ``n`` was not given."""
        if self.n is not None:
            super().check_shape(x)
