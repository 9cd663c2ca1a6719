"""Probability vectors with the flat metric; free motion is a billiard."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey, Scalar
from geodrift._whole import as_whole, is_whole, whole
from geodrift.manifolds._billiard import Wall, billiard_flow, time_to_wall
from geodrift.manifolds._embedded import Embedded


class Simplex(Embedded):
    """Probability vectors of length n with the flat metric of R^n; dimension n - 1.

    The geodesic is a straight line, reflected at the faces within the simplex. This keeps volume and is
    reversible, so samplers with a Metropolis test are exact for any density (with respect to Lebesgue
    measure) up to the boundary. Others are not where the gradient grows without bound towards a face, as that
    of any Dirichlet law with a parameter other than 1 does: no step is small enough there.

    Args:
        n: Number of coordinates, the length of the last axis.
        max_bounces: A geodesic that would be reflected more often ends early, between two faces. Only a very
            long time needs as many, or a speed that comes from a force infinite at a face.

    Raises:
        ValueError: ``n`` is less than 2 or ``max_bounces`` less than 1.

    Note:
        The geodesic has a loop of unknown length: differentiable forward (`jax.jvp`), not backward.
    """

    n: int = eqx.field(static=True, converter=as_whole)
    max_bounces: int = eqx.field(static=True, default=1000)

    def __check_init__(self) -> None:
        if not is_whole(self.n, 2):
            raise ValueError(f"n = {self.n!r}: a simplex needs a whole n of 2 or more")
        whole("max_bounces", self.max_bounces)

    @property
    def point_shape(self) -> tuple[int, ...]:
        """``(n,)``."""
        return (self.n,)

    @property
    def point_dim(self) -> int:
        """``n - 1``."""
        return self.n - 1

    def project(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        """Negative entries to 0, then division by the sum."""
        self.check_shape(x)
        positive = jnp.maximum(x, 0)
        return positive / jnp.sum(positive, axis=-1, keepdims=True)

    def to_tangent(
        self, x: Float[Array, "*batch n"], u: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch n"]:
        """``u`` less its mean."""
        del x
        return u - jnp.mean(u, axis=-1, keepdims=True)

    def geodesic(
        self, x: Float[Array, "*batch n"], v: Float[Array, "*batch n"], t: float | Scalar
    ) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"]]:
        """A straight line with exact reflections."""
        self.check_shape(x)
        arrived, velocity = billiard_flow(x, v, t, _next_face, self.max_bounces)
        arrived = self.project(arrived)
        return arrived, self.to_tangent(arrived, velocity)

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "*batch n"]:
        """A uniform probability vector."""
        return self.project(jax.random.exponential(key, (*shape, self.n)))

    def residual(self, x: Float[Array, "*batch n"]) -> Scalar:
        """Largest deviation of a sum from 1, or of an entry from being non-negative."""
        return jnp.maximum(jnp.max(jnp.abs(jnp.sum(x, axis=-1) - 1)), jnp.max(-x))


def _next_face(x: Float[Array, "*batch n"], v: Float[Array, "*batch n"]) -> Wall:
    """The face that is reached next.

    Within the plane of the simplex the face x_j = 0 has the normal e_j - 1/n, of squared length (n-1)/n. A
    velocity that sums to 0 has v_j along it, so the reflection is v_j -> -v_j and v_i -> v_i + 2 v_j / (n-1)
    for the others.
    """
    n = x.shape[-1]
    times = time_to_wall(x, -v)
    face = jax.nn.one_hot(jnp.argmin(times, axis=-1), n, dtype=bool)
    along = jnp.sum(jnp.where(face, v, 0), axis=-1, keepdims=True)
    return Wall(jnp.min(times, axis=-1, keepdims=True), jnp.where(face, -v, v + 2 * along / (n - 1)))
