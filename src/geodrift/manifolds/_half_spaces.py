"""Intersections of half-spaces."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from geodrift._types import RandomKey, Scalar
from geodrift.manifolds._billiard import Wall, billiard_flow, time_to_wall
from geodrift.manifolds._embedded import Flat


class HalfSpaces(Flat):
    r"""The x of R^n with :math:`A x \le b`, a polytope if bounded; geodesics are reflected at the walls.

    The metric is flat and densities are with respect to Lebesgue measure in the set, up to the walls: a
    normal law truncated by linear inequalities is the normal log density as it is. A geodesic is
    reflected exactly at each wall, one after the other; where the walls are those of a box, `Box` is faster.

    Args:
        normals: A, ``[m, n]``: the outward normal of each wall, of any length except 0.
        offsets: b, ``[m]``.
        interior: A point strictly inside, ``[n]``, where random points start. None takes the centre of the
            largest ball that fits in the set, or of some ball of radius 1 if there is no largest.
        max_bounces: A geodesic that would be reflected more often than this ends early, between two walls.
            Only a very long time needs as many, or a speed that comes from a force infinite at a wall.

    Raises:
        ValueError: The shapes do not fit, a normal is 0, nothing is inside, or ``interior`` is not.

    Note:
        The geodesic has a loop of unknown length: differentiable forward (`jax.jvp`), not backward.
    """

    normals: Float[Array, "m n"]
    offsets: Float[Array, " m"]
    interior: Float[Array, " n"]
    max_bounces: int = eqx.field(static=True)

    def __init__(
        self,
        normals: ArrayLike,
        offsets: ArrayLike,
        interior: ArrayLike | None = None,
        max_bounces: int = 1000,
    ) -> None:
        a, b = np.asarray(normals, float), np.asarray(offsets, float)
        if a.ndim != 2 or b.shape != a.shape[:1] or not a.size:
            raise ValueError(
                f"normals have shape {a.shape}, offsets {b.shape}: must be [m, n] and [m], each 1 or more"
            )
        lengths = np.linalg.norm(a, axis=1)
        if not (np.all(lengths > 0) and np.all(np.isfinite(a)) and np.all(np.isfinite(b))):
            raise ValueError(f"normals = {a}, offsets = {b}: must be finite, and no normal 0")
        if max_bounces < 1:
            raise ValueError(f"max_bounces = {max_bounces}: must be 1 or more")
        a, b = a / lengths[:, None], b / lengths
        inside = _largest_ball(a, b) if interior is None else np.asarray(interior, float)
        if inside.shape != a.shape[1:] or not np.all(a @ inside < b):
            raise ValueError(
                f"interior = {inside}: must be a point [{a.shape[1]}] with normals @ x < offsets"
            )
        self.normals, self.offsets, self.interior = jnp.asarray(a), jnp.asarray(b), jnp.asarray(inside)
        self.max_bounces = max_bounces

    @property
    def point_shape(self) -> tuple[int, ...]:
        """``(n,)``."""
        return self.interior.shape

    def project(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        """A point outside is moved towards the interior point until it is within all walls."""
        self.check_shape(x)
        centre = self.interior.astype(x.dtype)
        outward = (x - centre) @ self.normals.astype(x.dtype).T
        room = self.offsets.astype(x.dtype) - self.normals.astype(x.dtype) @ centre
        share = jnp.min(jnp.where(outward > room, room / jnp.where(outward > room, outward, 1), 1), axis=-1)
        share = share[..., None]
        return jnp.where(share < 1, centre + share * (x - centre), x)

    def geodesic(
        self, x: Float[Array, "*batch n"], v: Float[Array, "*batch n"], t: float | Scalar
    ) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"]]:
        """A straight line with exact reflections."""
        self.check_shape(x)
        arrived, velocity = billiard_flow(x, v, t, self._next_wall, self.max_bounces)
        return self.project(arrived), velocity

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "*batch n"]:
        """The end of a geodesic of unit time from the interior point, with a standard normal velocity."""
        velocity = jax.random.normal(key, (*shape, *self.point_shape))
        start = jnp.broadcast_to(self.interior.astype(velocity.dtype), velocity.shape)
        return self.geodesic(start, velocity, 1.0)[0]

    def residual(self, x: Float[Array, "*batch n"]) -> Scalar:
        """How far a point is behind a wall."""
        beyond = x @ self.normals.astype(x.dtype).T - self.offsets.astype(x.dtype)
        return jnp.maximum(jnp.max(beyond), 0)

    def _next_wall(self, x: Float[Array, "*batch n"], v: Float[Array, "*batch n"]) -> Wall:
        normals = self.normals.astype(x.dtype)
        approach = v @ normals.T
        times = time_to_wall(self.offsets.astype(x.dtype) - x @ normals.T, approach)
        wall = jnp.argmin(times, axis=-1, keepdims=True)
        speed = jnp.take_along_axis(approach, wall, axis=-1)
        time = jnp.take_along_axis(times, wall, axis=-1)
        return Wall(time, v - 2 * speed * normals[wall[..., 0]])


def _largest_ball(normals: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Centre of the largest ball within the walls, whose normals have length 1 (the Chebyshev centre)."""
    from scipy.optimize import linprog

    m, n = normals.shape
    walls = np.hstack([normals, np.ones((m, 1))])
    for largest in (None, 1.0):
        bounds = [(None, None)] * n + [(0, largest)]
        found = linprog(np.append(np.zeros(n), -1), walls, offsets, bounds=bounds)
        if found.success and found.x[-1] > 0:
            return found.x[:-1]
    raise ValueError("normals @ x <= offsets has no interior: loosen the inequalities, or give interior")
