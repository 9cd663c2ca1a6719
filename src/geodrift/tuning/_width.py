r"""What the size and the walls of a space add to the curvature of -log p.

A density without curvature has a width all the same: that of the space, and at a wall towards which it rises,
or within whose reach it falls, that over which it changes by a factor e. With s the slope of log p along the
normal n of a wall and d the distance to it, the wall adds :math:`\min(s^2, (4/d)^2)\, n n^T`: next to nothing
where it is far beyond the mass. Along a bent wall against which the density presses s times the curvature of
the wall is added.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import Position, Tangent
from geodrift.manifolds import Euclidean, Manifold, leaf_manifolds
from geodrift.manifolds._walls import distances, has_walls, inverse_variance

_REACH = 4.0


def has_width(manifold: Manifold, position: Position) -> bool:
    """Whether `width` can add anything."""
    return not all(isinstance(leaf, Euclidean) for leaf in leaf_manifolds(manifold, position))


def width(
    manifold: Manifold, position: Position, gradient: Tangent
) -> tuple[Callable[[Tangent], Tangent], Float[Array, ""]]:
    """What is added, as a function of a tangent vector, and the most that a wall adds.

    Args:
        manifold: The manifold.
        position: Where.
        gradient: Of the log density there, tangent.
    """
    leaves, structure = jax.tree.flatten(position)
    each = (leaf_manifolds(manifold, position), leaves, jax.tree.leaves(gradient))
    products, most = zip(*map(_of_leaf, *each), strict=True)

    def apply(u: Tangent) -> Tangent:
        across = [product(leaf) for product, leaf in zip(products, jax.tree.leaves(u), strict=True)]
        return manifold.to_tangent(position, jax.tree.unflatten(structure, across))

    return apply, jnp.max(jnp.stack(most))


def _of_leaf(
    manifold: Manifold, x: Float[Array, "..."], gradient: Float[Array, "..."]
) -> tuple[Callable[[Float[Array, "..."]], Float[Array, "..."]], Float[Array, ""]]:
    of_space = jnp.asarray(inverse_variance(manifold), x.dtype)
    if not has_walls(manifold):
        return lambda u: of_space * u, jnp.zeros((), x.dtype)
    far, along = jax.linearize(lambda y: distances(manifold, y), x)
    slopes = along(gradient)
    added = jnp.minimum(slopes**2, (_REACH / far) ** 2)
    # With what a wall is pressed against: a bent one then bends the density along it.
    pressed = jnp.where(slopes < 0, jnp.sqrt(added), 0)
    back = jax.linear_transpose(along, x)

    def product(u: Float[Array, "..."]) -> Float[Array, "..."]:
        pull = jax.grad(lambda y: jnp.sum(pressed * distances(manifold, y)))
        bent = jax.jvp(pull, (x,), (u,))[1]
        return of_space * u + back(added * along(u))[0] - bent

    return product, jnp.max(added, initial=0.0)
