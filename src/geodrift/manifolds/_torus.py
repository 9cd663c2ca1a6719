"""Angles."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey, Scalar
from geodrift._whole import as_whole, is_whole
from geodrift.manifolds._embedded import Flat


class Torus(Flat):
    r"""The product of n circles, as angles in :math:`[-\pi, \pi)` with the flat metric.

    Densities are with respect to Lebesgue measure of the angles, and should have the period :math:`2 \pi` in
    each.

    Args:
        n: Number of angles, the length of the last axis.

    Raises:
        ValueError: ``n`` is less than 1.
    """

    n: int = eqx.field(static=True, converter=as_whole)

    def __check_init__(self) -> None:
        if not is_whole(self.n, 1):
            raise ValueError(f"n = {self.n!r}: the number of angles must be a whole number, 1 or more")

    @property
    def point_shape(self) -> tuple[int, ...]:
        """``(n,)``."""
        return (self.n,)

    def project(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        r"""Angles modulo :math:`2 \pi`, in :math:`[-\pi, \pi)`."""
        self.check_shape(x)
        return x - 2 * jnp.pi * jnp.floor((x + jnp.pi) / (2 * jnp.pi))

    def geodesic(
        self, x: Float[Array, "*batch n"], v: Float[Array, "*batch n"], t: float | Scalar
    ) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"]]:
        """Turning at constant speed."""
        return self.project(x + jnp.asarray(t, x.dtype) * v), v

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "*batch n"]:
        """Independent uniform angles."""
        return jax.random.uniform(key, (*shape, self.n), minval=-jnp.pi, maxval=jnp.pi)

    def residual(self, x: Float[Array, "*batch n"]) -> Scalar:
        r"""How far an angle is outside :math:`[-\pi, \pi]`."""
        return jnp.maximum(jnp.max(jnp.abs(x)) - jnp.pi, 0)
