"""Vectors whose entries increase."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey, Scalar
from geodrift._whole import as_whole, is_whole
from geodrift.manifolds._embedded import Flat


class Ordered(Flat):
    r"""The x of R^n with :math:`x_1 \le x_2 \le \dots \le x_n`: cut points, or means without label switching.

    The metric is flat and densities are with respect to Lebesgue measure, up to the walls where two entries
    are equal. A geodesic is reflected there, which swaps the two entries: it is the free straight line,
    sorted. A density of R^n that does not depend on the order of the entries can be taken as it is.

    Args:
        n: Number of entries, the length of the last axis.

    Raises:
        ValueError: ``n`` is less than 1.
    """

    n: int = eqx.field(static=True, converter=as_whole)

    def __check_init__(self) -> None:
        if not is_whole(self.n, 1):
            raise ValueError(f"n = {self.n!r}: the number of entries must be a whole number, 1 or more")

    @property
    def point_shape(self) -> tuple[int, ...]:
        """``(n,)``."""
        return (self.n,)

    def project(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        """The entries in order."""
        self.check_shape(x)
        return jnp.sort(x, axis=-1)

    def geodesic(
        self, x: Float[Array, "*batch n"], v: Float[Array, "*batch n"], t: float | Scalar
    ) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"]]:
        """A straight line, sorted, and the velocities of its entries in the same order."""
        self.check_shape(x)
        straight = x + jnp.asarray(t, x.dtype) * v
        order = jnp.argsort(straight, axis=-1)
        return jnp.take_along_axis(straight, order, axis=-1), jnp.take_along_axis(v, order, axis=-1)

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "*batch n"]:
        """Independent standard normal draws in order, the set having no uniform law."""
        return jnp.sort(jax.random.normal(key, (*shape, self.n)), axis=-1)

    def residual(self, x: Float[Array, "*batch n"]) -> Scalar:
        """How far an entry is below the one before it."""
        return jnp.maximum(jnp.max(-jnp.diff(x, axis=-1), initial=0.0), 0)
