"""Hyperbolic space, as a hyperboloid."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey, Scalar
from geodrift._whole import as_whole, is_whole
from geodrift.manifolds._base import Manifold
from geodrift.manifolds._embedded import check_point_shape

# Below this squared distance the series of cosh and sinh(a)/a, cut after a^4, are exact to float64 rounding.
_SMALL_SQUARED_DISTANCE = 1e-4


class Hyperbolic(Manifold):
    r"""Hyperbolic space of dimension n and curvature -1: the upper sheet of a hyperboloid in R^(n+1).

    Points are :math:`x = (x_0, x_1, .., x_n)` with :math:`\langle x, x \rangle = -1` and :math:`x_0 > 0`
    under the Lorentz product :math:`\langle u, v \rangle = -u_0 v_0 + u_1 v_1 + .. + u_n v_n`, which is the
    metric on tangent vectors, :math:`\langle x, v \rangle = 0`. The distance of x and y is
    :math:`\cosh^{-1}(-\langle x, y \rangle)`, and densities are with respect to the hyperbolic volume. In
    the coordinates :math:`(x_1, .., x_n)` that is :math:`dx_1 .. dx_n / x_0`.

    The metric is not that of the coordinates, so friction and noise variance must be numbers: the variance of
    the Riemannian gradient along each unit tangent vector, which is what ``"scalar-fisher"`` estimates.

    Coordinates grow with the exponential of the distance from the origin (1, 0, .., 0): beyond a distance of
    about 8 in float32 and 18 in float64 no digits are left of distances between neighbours.

    Args:
        n: Dimension; the last axis has length ``n + 1``.

    Raises:
        ValueError: ``n`` is less than 1.
    """

    n: int = eqx.field(static=True, converter=as_whole)

    def __check_init__(self) -> None:
        if not is_whole(self.n, 1):
            raise ValueError(f"n = {self.n!r}: the dimension must be a whole number, 1 or more")

    def project(self, x: Float[Array, "*batch m"]) -> Float[Array, "*batch m"]:
        """The first coordinate from the others."""
        check_point_shape(self, (self.n + 1,), x)
        return _with_first(jnp.sqrt(1 + _dot(x[..., 1:], x[..., 1:])), x)

    def to_tangent(
        self, x: Float[Array, "*batch m"], u: Float[Array, "*batch m"]
    ) -> Float[Array, "*batch m"]:
        r""":math:`u + \langle x, u \rangle x`."""
        return u + (_dot(x[..., 1:], u[..., 1:]) - x[..., :1] * u[..., :1]) * x

    def inner(
        self, x: Float[Array, "*batch m"], u: Float[Array, "*batch m"], v: Float[Array, "*batch m"]
    ) -> Scalar:
        """The Lorentz product of tangent vectors."""
        return jnp.sum(_at_origin(x, u) * _at_origin(x, v))

    def riemannian_gradient(
        self, x: Float[Array, "*batch m"], g: Float[Array, "*batch m"]
    ) -> Float[Array, "*batch m"]:
        """The tangent part of the derivative with the sign of its first entry changed."""
        # By the frame of `_from_origin`, E: the gradient is E E'g.
        radial = g[..., :1] + _dot(x[..., 1:], g[..., 1:]) / (1 + x[..., :1])
        return _from_origin(x, g[..., 1:] + radial * x[..., 1:])

    def geodesic(
        self, x: Float[Array, "*batch m"], v: Float[Array, "*batch m"], t: float | Scalar
    ) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m"]]:
        r""":math:`\cosh(t |v|) x + \sinh(t |v|) v / |v|`."""
        t = jnp.asarray(t, x.dtype)
        flat = _at_origin(x, v)
        speed_squared = _dot(flat, flat)
        cosh, sinhc = _cosh_and_sinhc(speed_squared * t * t)
        arrived = self.project(cosh * x + (t * sinhc) * v)
        velocity = cosh * v + (speed_squared * t * sinhc) * x
        return arrived, _with_first(_dot(arrived[..., 1:], velocity[..., 1:]) / arrived[..., :1], velocity)

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "*batch m"]:
        """The end of a geodesic of unit time from the origin, with a standard normal velocity."""
        velocity = jax.random.normal(key, (*shape, self.n))
        origin = jnp.zeros((*shape, self.n + 1), velocity.dtype).at[..., 0].set(1)
        return self.geodesic(origin, _from_origin(origin, velocity), 1.0)[0]

    def random_tangent(self, key: RandomKey, x: Float[Array, "*batch m"]) -> Float[Array, "*batch m"]:
        """Standard normal in an orthonormal basis of the tangent space."""
        check_point_shape(self, (self.n + 1,), x)
        return _from_origin(x, jax.random.normal(key, (*x.shape[:-1], self.n), x.dtype))

    def dim(self, shape: tuple[int, ...]) -> int:
        """``n`` for each point."""
        return math.prod(shape[:-1]) * self.n

    def residual(self, x: Float[Array, "*batch m"]) -> Scalar:
        """Largest relative deviation of a first coordinate from the value that the others imply."""
        first = self.project(x)[..., 0]
        return jnp.max(jnp.abs(x[..., 0] - first) / first)


def _from_origin(x: Float[Array, "*batch m"], a: Float[Array, "*batch n"]) -> Float[Array, "*batch m"]:
    """The tangent vector at x to which the boost from the origin to x takes the tangent vector (0, a)."""
    along = _dot(x[..., 1:], a)
    return jnp.concatenate([along, a + x[..., 1:] * (along / (1 + x[..., :1]))], axis=-1)


def _at_origin(x: Float[Array, "*batch m"], v: Float[Array, "*batch m"]) -> Float[Array, "*batch n"]:
    """The inverse of `_from_origin`: an isometry, so that lengths are sums of squares."""
    return v[..., 1:] - x[..., 1:] * (_dot(x[..., 1:], v[..., 1:]) / (x[..., :1] * (1 + x[..., :1])))


def _with_first(first: Float[Array, "*batch 1"], x: Float[Array, "*batch m"]) -> Float[Array, "*batch m"]:
    return jnp.concatenate([first, x[..., 1:]], axis=-1)


def _cosh_and_sinhc(square: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """``cosh(a)`` and ``sinh(a) / a`` as smooth functions of ``a^2``."""
    small = square < _SMALL_SQUARED_DISTANCE
    # The root's derivative at 0 is infinite, so the unused branch must not see 0.
    a = jnp.sqrt(jnp.where(small, 1.0, square))
    cosh = jnp.where(small, 1 + square / 2 + square**2 / 24, jnp.cosh(a))
    sinhc = jnp.where(small, 1 + square / 6 + square**2 / 120, jnp.sinh(a) / a)
    return cosh, sinhc


def _dot(u: Float[Array, "*batch n"], v: Float[Array, "*batch n"]) -> Float[Array, "*batch 1"]:
    return jnp.sum(u * v, axis=-1, keepdims=True)
