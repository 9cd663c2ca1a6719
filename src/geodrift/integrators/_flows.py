"""The exact flows A, B and O, each usable alone."""

import jax
from jaxtyping import Array, Float

from geodrift._tree import axpy
from geodrift._types import Position, RandomKey, Scalar, Tangent
from geodrift.integrators._friction import damp, friction_basis
from geodrift.integrators._noise_subtraction import inject
from geodrift.manifolds import Manifold


def drift(manifold: Manifold, x: Position, v: Tangent, t: float | Scalar) -> tuple[Position, Tangent]:
    """Free motion for time ``t``: the flow A."""
    return manifold.geodesic(x, v, t)


def kick(manifold: Manifold, x: Position, v: Tangent, gradient: Tangent, t: float | Scalar) -> Tangent:
    """``v + t grad log p`` from the derivative in ambient coordinates: the flow B."""
    return axpy(t, manifold.riemannian_gradient(x, gradient), v)


def friction_noise(
    key: RandomKey,
    manifold: Manifold,
    x: Float[Array, "*batch n"],
    v: Float[Array, "*batch n"],
    friction: float | Float[Array, "..."],
    t: float | Scalar,
) -> Float[Array, "*batch n"]:
    r"""Exact Ornstein-Uhlenbeck of the velocity for time ``t``: the flow O, on a single array.

    .. math:: v \leftarrow e^{-Ct} v + \Lambda N(0, 1 - e^{-2Ct})

    with :math:`\Lambda C \Lambda` in the place of C when C is a symmetric positive definite matrix.

    Args:
        key: Random key.
        manifold: The manifold.
        x: Position.
        v: Velocity.
        friction: C, 1/time; a number or a matrix ``[..., n, n]``.
        t: Time.

    Returns:
        The new velocity.
    """
    friction = jax.numpy.asarray(friction, x.dtype)
    t = jax.numpy.asarray(t, x.dtype)
    basis = friction_basis(manifold, x, friction, None, None)
    noise, _ = inject(key, manifold, x, basis, t, None, "O", "block")
    return damp(basis, v, t) + noise
