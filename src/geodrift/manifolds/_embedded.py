"""Base classes of manifolds that have the metric of the ambient space."""

import abc
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey, Scalar
from geodrift.manifolds._base import Manifold


class Embedded(Manifold):
    r"""A manifold whose metric is that of the ambient space.

    The Riemannian gradient is then the tangent part of the derivative and the velocity's law at unit
    temperature :math:`N(0, \Lambda(x))`. A subclass gives the shape and the dimension of a point and the rest
    of the protocol. Only here does friction or gradient noise that differs between coordinates have a
    meaning.
    """

    @property
    @abc.abstractmethod
    def point_shape(self) -> tuple[int, ...]:
        """Shape of one point: ``(n,)``, or ``(n, p)`` where a point is a matrix."""

    @property
    @abc.abstractmethod
    def point_dim(self) -> int:
        """Dimension of the manifold of one point."""

    def inner(self, x: Float[Array, "..."], u: Float[Array, "..."], v: Float[Array, "..."]) -> Scalar:
        """The sum of the products of the entries."""
        del x
        return jnp.sum(u * v)

    def riemannian_gradient(self, x: Float[Array, "..."], g: Float[Array, "..."]) -> Float[Array, "..."]:
        """The tangent part of the derivative."""
        return self.to_tangent(x, g)

    def random_tangent(self, key: RandomKey, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The tangent part of a standard normal draw."""
        self.check_shape(x)
        return self.to_tangent(x, jax.random.normal(key, x.shape, x.dtype))

    def dim(self, shape: tuple[int, ...]) -> int:
        """``point_dim`` for each point."""
        return math.prod(shape[: len(shape) - self.event_ndim]) * self.point_dim

    def check_shape(self, x: Float[Array, "..."]) -> None:
        """Raise ValueError unless the last axes of ``x`` are those of a point."""
        check_point_shape(self, self.point_shape, x)


class Flat(Embedded):
    """A part of R^n of full dimension: every vector is tangent, and volume is Lebesgue measure."""

    def to_tangent(self, x: Float[Array, "..."], u: Float[Array, "..."]) -> Float[Array, "..."]:
        """The vector itself."""
        del x
        return u

    @property
    def point_dim(self) -> int:
        """``n``."""
        return self.point_shape[-1]


def check_point_shape(manifold: Manifold, shape: tuple[int, ...], x: Array) -> None:
    """Raise ValueError unless ``x`` is an array of real numbers whose last axes have this shape."""
    if not hasattr(x, "dtype") or not jnp.issubdtype(x.dtype, jnp.floating):
        held = f"an array of {x.dtype}" if hasattr(x, "dtype") else f"a {type(x).__name__}"
        raise ValueError(
            f"position is {held}: give an array of real numbers, jax.numpy.asarray(position, float)"
        )
    if x.shape[-len(shape) :] != shape:
        axes = f"a last axis of length {shape[0]}" if len(shape) == 1 else f"last axes {shape}"
        raise ValueError(f"position has shape {x.shape}: {manifold!r} needs {axes}")
