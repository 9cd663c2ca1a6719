"""The protocol of a manifold. Its methods are described here, once."""

import abc
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import Position, RandomKey, Scalar, Tangent


class Manifold(eqx.Module):
    r"""A space with a closed-form geodesic, in the coordinates of the ambient space.

    Points x and tangent vectors v are arrays ``[..., n]``: a manifold acts on the last axis and batches over
    the axes in front, so ``[K, V]`` on ``Sphere(V)`` is K independent points. Where a point is a matrix,
    ``event_ndim`` is 2 and the manifold acts on the last two axes. Time is diffusion time at unit mass.
    :math:`\Lambda(x)` is the projection on the tangent space at x. Methods keep the dtype of their input. The
    density of a target is with respect to the manifold's own volume; each manifold says what that is.
    """

    event_ndim: ClassVar[int] = 1
    """Axes of one point: 1 for a vector, 2 for a matrix."""

    # The hash is that of structure and shapes, which equal manifolds share: `jax.jit` hashes a bound method
    # that it compiles, and the fields, arrays and dicts, have no hash.
    def __hash__(self) -> int:
        leaves, structure = jax.tree.flatten(self)
        return hash((structure, tuple(jnp.shape(leaf) for leaf in leaves)))

    @abc.abstractmethod
    def project(self, x: Position) -> Position:
        """A point of the manifold near ``x``, to undo rounding errors; the identity on the manifold."""

    @abc.abstractmethod
    def to_tangent(self, x: Position, u: Tangent) -> Tangent:
        r"""The tangent part :math:`\Lambda(x) u` of an ambient vector."""

    @abc.abstractmethod
    def inner(self, x: Position, u: Tangent, v: Tangent) -> Scalar:
        """Riemannian inner product of two tangent vectors, summed over all axes."""

    @abc.abstractmethod
    def riemannian_gradient(self, x: Position, g: Tangent) -> Tangent:
        """The gradient with respect to the metric, given the derivative ``g`` in ambient coordinates."""

    @abc.abstractmethod
    def geodesic(self, x: Position, v: Tangent, t: float | Scalar) -> tuple[Position, Tangent]:
        """Position and velocity after time ``t`` of free motion, with rounding errors undone.

        Safe, in value and derivative, at zero velocity. Differentiable forward (`jax.jvp`); backward too
        unless the class says otherwise. No sampler needs either.
        """

    @abc.abstractmethod
    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Position:
        """A random point ``[*shape, n]``: uniform where the manifold is compact."""

    @abc.abstractmethod
    def random_tangent(self, key: RandomKey, x: Position) -> Tangent:
        r"""A draw of the velocity's law at unit temperature.

        Its covariance is the inverse metric on the tangent space: :math:`\Lambda(x)` where the metric is that
        of the ambient space, and in general the matrix that `riemannian_gradient` multiplies by.
        """

    @abc.abstractmethod
    def dim(self, shape: tuple[int, ...]) -> int:
        """Dimension of the positions of this shape, batch axes counted: K(V-1) for K points of S^(V-1)."""

    @abc.abstractmethod
    def residual(self, x: Position) -> Float[Array, ""]:
        """Largest violation of an equation or a bound that defines the manifold; 0 on it, up to rounding."""
