"""Kinetic and configurational temperature. Only the second tests whether the positions have the right law."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from geodrift._types import Position, Tangent
from geodrift.integrators._interpreter import kinetic_temperature as _kinetic_temperature
from geodrift.manifolds import Euclidean, Manifold, Orthogonal, SpecialOrthogonal, Sphere, Stiefel
from geodrift.manifolds._laplacian import linear_eigenvalue


def kinetic_temperature(manifold: Manifold, position: Position, velocity: Tangent) -> Float[Array, ""]:
    """``v.v`` divided by the manifold's dimension: 1 on average, also for many samplers whose law is wrong.

    Args:
        manifold: Where the position is.
        position: A point.
        velocity: A tangent vector at the point, of a sampler with unit mass.
    """
    return _kinetic_temperature(manifold, position, velocity)


def configurational_temperature(
    manifold: Sphere | Stiefel | Orthogonal | SpecialOrthogonal | Euclidean,
    positions: Float[ArrayLike, "draw ..."],
    gradients: Float[ArrayLike, "draw ..."],
    direction: Float[ArrayLike, "..."] | None = None,
) -> Float[Array, ""]:
    r"""The temperature T of draws whose law is :math:`p^{1/T}`, from Stein's identity; 1 is right.

    On the sphere of R^d, with a fixed unit vector a for each point,

    .. math:: T = \frac{E[a' (I - x x') \nabla \log p]}{(d - 1) E[a' x]}

    and on R^d :math:`T = -E[(x - c) \cdot \nabla \log p] / d` with a fixed c. On orthonormal p-frames of
    R^n, including the orthogonal groups, the Laplacian of a linear function is :math:`-(n - (p + 1)/2)` times
    the function, and this factor takes the place of d - 1. Other manifolds are not supported: a wall adds a
    term to the identity (`Simplex`), a linear function is not a function of subspaces (`Grassmann`) or has no
    mean (hyperbolic space). Both sides are summed over the batch axes. The estimate is linear in the
    gradients, so unbiased minibatch gradients at the draws will do, if their batches are independent of the
    draws.

    Args:
        manifold: `Sphere`, `Stiefel`, `Orthogonal`, `SpecialOrthogonal` or `Euclidean`.
        positions: Draws ``[draw, ...]``; those of several chains one after the other along the first axis,
            ``position.reshape(-1, *position.shape[2:])``, or the few chains are taken for all the draws.
        gradients: Gradient of the log density at each draw, in ambient coordinates.
        direction: a (a point of the sphere or a frame) or c. None: the draws' projected mean, or mean.

    Returns:
        T, without a unit.

    Raises:
        ValueError: The manifold is another, or the shapes differ.
    """
    positions, gradients = jnp.asarray(positions), jnp.asarray(gradients)
    if positions.shape != gradients.shape:
        raise ValueError(
            f"gradients have shape {gradients.shape}: must be that of the positions, {positions.shape}"
        )
    if isinstance(manifold, Sphere | Stiefel | Orthogonal | SpecialOrthogonal):
        return _of_frames(manifold, positions, gradients, direction)
    if isinstance(manifold, Euclidean):
        return _of_vectors(positions, gradients, direction)
    raise ValueError(f"manifold = {manifold!r}: must be a Sphere, Euclidean, Stiefel or an orthogonal group")


# Compiled, so that no term as large as all draws is ever stored.
@eqx.filter_jit
def _of_frames(
    manifold: Sphere | Stiefel | Orthogonal | SpecialOrthogonal,
    positions: Float[Array, "draw ..."],
    gradients: Float[Array, "draw ..."],
    direction: Float[ArrayLike, "..."] | None,
) -> Float[Array, ""]:
    mean = jnp.mean(positions, axis=0)
    along = manifold.project(mean) if direction is None else jnp.asarray(direction)
    pull = jnp.sum(along * manifold.to_tangent(positions, gradients)) / positions.shape[0]
    return pull / (linear_eigenvalue(manifold) * jnp.sum(along * mean))


@eqx.filter_jit
def _of_vectors(
    positions: Float[Array, "draw ..."],
    gradients: Float[Array, "draw ..."],
    direction: Float[ArrayLike, "..."] | None,
) -> Float[Array, ""]:
    mean = jnp.mean(positions, axis=0)
    centre = mean if direction is None else jnp.asarray(direction)
    products = jnp.sum((positions - centre) * gradients, axis=tuple(range(1, positions.ndim)))
    return -jnp.mean(products) / mean.size
