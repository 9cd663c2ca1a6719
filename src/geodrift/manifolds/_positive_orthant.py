"""Vectors of positive numbers."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey, Scalar
from geodrift._whole import as_whole, is_whole
from geodrift.manifolds._embedded import Flat


class PositiveOrthant(Flat):
    """Vectors of n non-negative numbers, with the flat metric of R^n; geodesics are reflected at the walls.

    Densities are with respect to Lebesgue measure, as a Gamma's or a truncated normal's is written, up to and
    including the walls, where they need not vanish. That is why the metric is the flat one. Under the other
    usual metric, that of the logarithms, every density would need the factor x. A density whose gradient is
    infinite at a wall (a Gamma of shape other than 1) needs a Metropolis test here, as in ``GMC``: the other
    samplers are thrown far by a step near the wall. For them take ``Euclidean`` with x the logarithm.

    Args:
        n: Number of coordinates, the length of the last axis.

    Raises:
        ValueError: ``n`` is less than 1.
    """

    n: int = eqx.field(static=True, converter=as_whole)

    def __check_init__(self) -> None:
        if not is_whole(self.n, 1):
            raise ValueError(f"n = {self.n!r}: the number of coordinates must be a whole number, 1 or more")

    @property
    def point_shape(self) -> tuple[int, ...]:
        """``(n,)``."""
        return (self.n,)

    def project(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        """Negative entries to 0."""
        self.check_shape(x)
        return jnp.maximum(x, 0)

    def geodesic(
        self, x: Float[Array, "*batch n"], v: Float[Array, "*batch n"], t: float | Scalar
    ) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"]]:
        """A straight line, reflected where a coordinate passes 0."""
        self.check_shape(x)
        straight = x + jnp.asarray(t, x.dtype) * v
        sign = jnp.where(straight < 0, -1, 1).astype(x.dtype)
        return sign * straight, sign * v

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "*batch n"]:
        """Independent exponential draws of mean 1, the orthant having no uniform law."""
        return jax.random.exponential(key, (*shape, self.n))

    def residual(self, x: Float[Array, "*batch n"]) -> Scalar:
        """How far an entry is below 0."""
        return jnp.maximum(jnp.max(-x), 0)
