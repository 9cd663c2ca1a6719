"""Where parts of R^n end: how far their walls are, chords along a point's numbers, how wide they are."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift.manifolds._ball import Ball
from geodrift.manifolds._base import Manifold
from geodrift.manifolds._box import Box
from geodrift.manifolds._euclidean import Euclidean
from geodrift.manifolds._half_spaces import HalfSpaces
from geodrift.manifolds._ordered import Ordered
from geodrift.manifolds._positive_orthant import PositiveOrthant
from geodrift.manifolds._simplex import Simplex


class Chords(NamedTuple):
    """For each number of a point, between what it may move while the others stay.

    On a simplex the others keep their proportions.

    Attributes:
        lower: Minus infinity where there is no wall.
        upper: Infinity where there is none.
    """

    lower: Float[Array, "*batch n"]
    upper: Float[Array, "*batch n"]


def has_walls(manifold: Manifold) -> bool:
    """Whether `chords` knows where it ends."""
    return isinstance(manifold, Ball | Box | HalfSpaces | Ordered | PositiveOrthant | Simplex)


def distances(manifold: Manifold, x: Float[Array, "*batch n"]) -> Float[Array, "*batch wall"]:
    """From a point to every wall; their derivatives are the walls' unit normals, inward.

    Args:
        manifold: One that `has_walls`.
        x: Points.
    """
    if isinstance(manifold, Ball):
        square = jnp.sum(x * x, axis=-1, keepdims=True)
        # The centre is as far from every point of the wall: a derivative of 0 stands for the normals' mean.
        return 1 - jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)
    if isinstance(manifold, Box):
        lower, upper = manifold.lower.astype(x.dtype), manifold.upper.astype(x.dtype)
        return jnp.concatenate([x - lower, upper - x], axis=-1)
    if isinstance(manifold, HalfSpaces):
        return manifold.offsets.astype(x.dtype) - x @ manifold.normals.astype(x.dtype).T
    if isinstance(manifold, Ordered):
        return jnp.diff(x, axis=-1) / jnp.sqrt(2.0).astype(x.dtype)
    if isinstance(manifold, Simplex):
        return x * jnp.sqrt(manifold.n / (manifold.n - 1)).astype(x.dtype)
    return x


def chords(manifold: Manifold, x: Float[Array, "*batch n"]) -> Chords:
    """The chords through a point along each of its numbers.

    Args:
        manifold: One that `has_walls`.
        x: Points.
    """
    if isinstance(manifold, Ball):
        half = jnp.sqrt(jnp.maximum(1 - jnp.sum(x * x, axis=-1, keepdims=True) + x * x, 0))
        return Chords(-half, half)
    if isinstance(manifold, Box):
        return Chords(
            *(jnp.broadcast_to(b.astype(x.dtype), x.shape) for b in (manifold.lower, manifold.upper))
        )
    if isinstance(manifold, HalfSpaces):
        return _between_half_spaces(manifold, x)
    if isinstance(manifold, Ordered):
        none = jnp.full_like(x[..., :1], jnp.inf)
        return Chords(
            jnp.concatenate([-none, x[..., :-1]], axis=-1), jnp.concatenate([x[..., 1:], none], axis=-1)
        )
    above = 1.0 if isinstance(manifold, Simplex) else jnp.inf
    return Chords(jnp.zeros_like(x), jnp.full_like(x, above))


def _between_half_spaces(manifold: HalfSpaces, x: Float[Array, "*batch n"]) -> Chords:
    normals = manifold.normals.astype(x.dtype)
    room = manifold.offsets.astype(x.dtype) - x @ normals.T
    along = jnp.maximum(room, 0)[..., None] / jnp.where(normals == 0, 1, normals)
    return Chords(
        x + jnp.max(jnp.where(normals < 0, along, -jnp.inf), axis=-2),
        x + jnp.min(jnp.where(normals > 0, along, jnp.inf), axis=-2),
    )


def inverse_variance(manifold: Manifold) -> float | Float[Array, " n"]:
    """That of the numbers of the uniform law, by which a space that is not endless has a width.

    Of half-spaces it is that of the ball about their interior point, and of curved manifolds, which are of
    unit size, 1.
    """
    if isinstance(manifold, Ball):
        return manifold.n + 2
    if isinstance(manifold, Box):
        return 12 / (manifold.upper - manifold.lower) ** 2
    if isinstance(manifold, HalfSpaces):
        room = jnp.min(manifold.offsets - manifold.normals @ manifold.interior)
        return (manifold.interior.size + 2) / room**2
    if isinstance(manifold, Simplex):
        return manifold.n**2 * (manifold.n + 1) / (manifold.n - 1)
    return 0.0 if isinstance(manifold, Euclidean | Ordered | PositiveOrthant) else 1.0
