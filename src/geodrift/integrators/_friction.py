"""Friction of one leaf: the directions in which it acts independently, and the damping along them."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import Scalar
from geodrift.integrators._variance_shapes import check_variance_fits, is_matrix
from geodrift.manifolds import Embedded, Manifold


class Basis(NamedTuple):
    """Damping rate and noise strength, along the coordinates or along the columns of ``vectors``."""

    rate: Float[Array, "..."]  # scalar, [..., n] with vectors or with a thermostat for each coordinate
    strength: Float[Array, "..."]
    vectors: Float[Array, "... n n"] | None


def friction_basis(
    manifold: Manifold,
    x: Float[Array, "*batch n"],
    friction: Float[Array, "..."],
    damping: Float[Array, "..."] | None,
    variance: Float[Array, "..."] | None,
) -> Basis:
    r"""The directions in which friction acts independently.

    Args:
        manifold: The leaf's manifold.
        x: The leaf.
        friction: C: a scalar, or symmetric positive definite ``[..., n, n]``, which acts as :math:`\Lambda C
            \Lambda`.
        damping: The thermostat that replaces C in the damping, a scalar or an array like the leaf; or None.
        variance: The gradient noise that will be subtracted: a matrix needs a basis too.

    Raises:
        ValueError: The manifold does not allow a friction or a variance of this shape.
    """
    check_friction_fits(manifold, friction)
    check_variance_fits(manifold, x, variance)
    coordinatewise = damping is not None and damping.ndim > 0
    damping = friction if damping is None else damping
    if friction.ndim == 0 and (variance is None or not is_matrix(variance, x)):
        return Basis(damping, friction, None)
    tangent = projector(manifold, x)
    if coordinatewise:
        # A rate for each coordinate: the coordinates are the directions, and the space is flat.
        return Basis(damping, jnp.broadcast_to(friction, x.shape), tangent)
    matrix = tangent if friction.ndim == 0 else tangent @ friction @ tangent
    eigenvalues, vectors = jnp.linalg.eigh((matrix + jnp.swapaxes(matrix, -1, -2)) / 2)
    eigenvalues = jnp.maximum(eigenvalues, 0)
    if friction.ndim == 0:
        return Basis(damping * eigenvalues, friction * eigenvalues, vectors)
    return Basis(eigenvalues, eigenvalues, vectors)


def damp(basis: Basis, v: Float[Array, "*batch n"], t: Scalar, flow: str = "D") -> Float[Array, "*batch n"]:
    """``exp(-r t) v``, or Euler's ``(1 - r t) v`` where the flow is E."""
    decay = 1 - basis.rate * t if flow == "E" else jnp.exp(-basis.rate * t)
    if basis.vectors is None:
        return decay * v
    return rotate(basis.vectors, decay * rotate(jnp.swapaxes(basis.vectors, -1, -2), v))


def check_friction_fits(manifold: Manifold, friction: Float[Array, "..."]) -> None:
    """Raise ValueError where friction is a matrix that the manifold does not allow."""
    if not friction.ndim:
        return
    if manifold.event_ndim > 1:
        why = "points are matrices"
    elif not isinstance(manifold, Embedded):
        why = "metric is not that of the coordinates"
    else:
        n = getattr(manifold, "n", None)
        if n is not None and friction.shape[-1] != n:
            shape = friction.shape
            raise ValueError(f"friction has shape {shape}: on {manifold!r} a matrix must be [{n}, {n}]")
        return
    raise ValueError(
        f"friction has shape {friction.shape}: on {manifold!r}, whose {why}, it must be a number"
    )


def projector(manifold: Manifold, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n n"]:
    """The symmetric matrix of the projection on the tangent space."""
    n = x.shape[-1]
    identity = jnp.broadcast_to(jnp.eye(n, dtype=x.dtype), (*x.shape, n))
    return manifold.to_tangent(jnp.broadcast_to(x[..., None, :], identity.shape), identity)


def rotate(matrix: Float[Array, "*#batch n n"], v: Float[Array, "*#batch n"]) -> Float[Array, "..."]:
    """Each vector times its matrix."""
    return (matrix @ v[..., None])[..., 0]
