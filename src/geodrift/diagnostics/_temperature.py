"""Kinetic and configurational temperature. Only the second tells whether the positions have the right law."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import Position, Tangent
from geodrift.manifolds import Euclidean, Manifold, Orthogonal, SpecialOrthogonal, Sphere, Stiefel
from geodrift.samplers._base import kinetic_temperature as _kinetic_temperature


def kinetic_temperature(manifold: Manifold, position: Position, velocity: Tangent) -> Float[Array, ""]:
    """``v.v`` over the manifold's dimension: 1 on average, for any good sampler and for many bad ones."""
    return _kinetic_temperature(manifold, position, velocity)


def configurational_temperature(
    manifold: Sphere | Stiefel | Orthogonal | SpecialOrthogonal | Euclidean,
    positions: Float[Array, "draw ..."],
    gradients: Float[Array, "draw ..."],
    direction: Float[Array, "..."] | None = None,
) -> Float[Array, ""]:
    r"""Temperature T of the law of the draws, if that is :math:`p^{1/T}`, from Stein's identity.

    On the sphere of R^d, with a fixed unit vector a for each point,

    .. math:: T = \frac{E[a' (I - x x') \nabla \log p]}{(d - 1) E[a' x]}

    and on R^d :math:`T = -E[(x - c) \cdot \nabla \log p] / d` with a fixed c. On orthonormal p-frames of
    R^n, the orthogonal groups among them, linear functions have the Laplacian :math:`-(n - (p + 1)/2)` times
    themselves, which takes the place of d - 1. Other manifolds have no such identity here: a wall adds a
    term to it (`Simplex`), a linear function is none of subspaces (`Grassmann`), or has no mean (hyperbolic
    space). Both sides are summed over the batch axes. Linear in the gradient, so unbiased minibatch gradients
    at the draws serve, if their batches are independent of the draws.

    Args:
        manifold: `Sphere`, `Stiefel`, `Orthogonal`, `SpecialOrthogonal` or `Euclidean`.
        positions: Draws.
        gradients: Gradient of the log density at each draw, in ambient coordinates.
        direction: a (a point of the sphere or a frame) or c. None takes the projected mean, or the mean, of
            the draws, which is fixed only up to the Monte Carlo error of the mean.

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
    direction: Float[Array, "..."] | None,
) -> Float[Array, ""]:
    mean = jnp.mean(positions, axis=0)
    n, columns = (*manifold.point_shape, 1)[:2]
    along = manifold.project(mean) if direction is None else jnp.asarray(direction)
    pull = jnp.sum(along * manifold.to_tangent(positions, gradients)) / positions.shape[0]
    return pull / ((n - (columns + 1) / 2) * jnp.sum(along * mean))


@eqx.filter_jit
def _of_vectors(
    positions: Float[Array, "draw ..."],
    gradients: Float[Array, "draw ..."],
    direction: Float[Array, "..."] | None,
) -> Float[Array, ""]:
    mean = jnp.mean(positions, axis=0)
    centre = mean if direction is None else jnp.asarray(direction)
    products = jnp.sum((positions - centre) * gradients, axis=tuple(range(1, positions.ndim)))
    return -jnp.mean(products) / mean.size
