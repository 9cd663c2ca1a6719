"""Coordinates between bounds."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._errors import is_concrete
from geodrift._types import RandomKey, Scalar
from geodrift.manifolds._embedded import Flat


def _as_array(bounds: object) -> Array:
    return jnp.asarray(bounds, float)


class Box(Flat):
    """Vectors between a lower and an upper bound for each coordinate; geodesics are reflected at the walls.

    The metric is flat and densities are with respect to Lebesgue measure in the box, up to the walls: a
    truncated normal is the normal log density as it is. The reflected geodesic has a closed form. Lan, Zhou
    and Shahbaba (2014) reach such sets through a sphere, whose change of measure is infinite at the walls;
    reflection has none and is exact.

    Args:
        lower: Lower bounds ``[n]``; minus infinity for none.
        upper: Upper bounds ``[n]``; infinity for none.

    Raises:
        ValueError: The bounds are not two vectors of the same length, or a lower one is not below its upper
            one.
    """

    lower: Float[Array, " n"] = eqx.field(converter=_as_array)
    upper: Float[Array, " n"] = eqx.field(converter=_as_array)

    def __check_init__(self) -> None:
        if self.lower.ndim != 1 or self.lower.shape != self.upper.shape or not self.lower.size:
            raise ValueError(
                f"lower has shape {self.lower.shape}, upper {self.upper.shape}: both must be [n], n 1 or more"
            )
        if is_concrete(self.lower < self.upper) and not jnp.all(self.lower < self.upper):
            raise ValueError(
                f"lower = {self.lower}, upper = {self.upper}: each lower bound must be below its upper bound"
            )

    @property
    def point_shape(self) -> tuple[int, ...]:
        """``(n,)``."""
        return self.lower.shape

    def project(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        """Each coordinate to the nearest value within its bounds."""
        self.check_shape(x)
        return jnp.clip(x, *self._bounds(x))

    def geodesic(
        self, x: Float[Array, "*batch n"], v: Float[Array, "*batch n"], t: float | Scalar
    ) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"]]:
        """A straight line, folded back at the walls: a triangle wave in each coordinate."""
        self.check_shape(x)
        lower, upper = self._bounds(x)
        straight = x + jnp.asarray(t, x.dtype) * v
        passed = (straight < lower) | (straight > upper)
        # Between two walls the path is a wave of period twice the width; at a single one it is mirrored once.
        between = jnp.isfinite(upper - lower)
        origin, width = jnp.where(between, lower, 0), jnp.where(between, upper - lower, 1)
        phase = jnp.mod(straight - origin, 2 * width)
        wave = origin + jnp.where(phase > width, 2 * width - phase, phase)
        mirrored = 2 * jnp.where(straight < lower, lower, upper) - straight
        folded = jnp.clip(jnp.where(between, wave, mirrored), lower, upper)
        turned = passed & jnp.where(between, phase > width, True)
        return jnp.where(passed, folded, straight), jnp.where(turned, -v, v)

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "*batch n"]:
        """Uniform between two bounds; at exponential distance of mean 1 from a single one; else normal."""
        shape, keys = (*shape, *self.point_shape), jax.random.split(key, 3)
        below, above = jnp.isfinite(self.lower), jnp.isfinite(self.upper)
        lower, upper = jnp.where(below, self.lower, 0), jnp.where(above, self.upper, 0)
        distance = jax.random.exponential(keys[1], shape)
        single = jnp.where(below, lower + distance, upper - distance)
        uniform = lower + (upper - lower) * jax.random.uniform(keys[0], shape)
        free = jax.random.normal(keys[2], shape)
        return jnp.select([below & above, below | above], [uniform, single], free)

    def residual(self, x: Float[Array, "*batch n"]) -> Scalar:
        """How far an entry is outside its bounds."""
        lower, upper = self._bounds(x)
        return jnp.maximum(jnp.max(jnp.maximum(lower - x, x - upper)), 0)

    def _bounds(self, x: Array) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        return self.lower.astype(x.dtype), self.upper.astype(x.dtype)
