"""Standard normals of the leaves of a position, one step at a time or drawn ahead of a loop.

A hundred normals cost a microsecond, most of which is the call: in a loop whose step takes ten of them that
counts, and those of all steps at once cost hardly more than those of one.
"""

from typing import NamedTuple

import jax
from jaxtyping import Array, Float, Key

from geodrift._types import Position, RandomKey
from geodrift.manifolds import Embedded, Manifold, leaf_manifolds

# Largest position, in entries, whose normals are drawn ahead: beyond it calls cost little, and memory counts.
LARGEST_AHEAD = 4096


class Ahead(NamedTuple):
    """Normals drawn ahead, in the place of the random key from which they were drawn."""

    normals: tuple[Float[Array, "..."], ...]  # one for each leaf


def leaf_key(key: RandomKey | Ahead, i: int, num_leaves: int) -> RandomKey | Ahead:
    """The key, or the normals, of leaf number i."""
    if isinstance(key, Ahead):
        return Ahead((key.normals[i],))
    return key if num_leaves == 1 else jax.random.fold_in(key, i)


def standard_normal(key: RandomKey | Ahead, x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Independent N(0, 1) in the shape of a leaf."""
    return key.normals[0] if isinstance(key, Ahead) else jax.random.normal(key, x.shape, x.dtype)


def random_tangent(key: RandomKey | Ahead, manifold: Manifold, x: Float[Array, "..."]) -> Float[Array, "..."]:
    """`Manifold.random_tangent` of a leaf."""
    if isinstance(key, Ahead):
        return manifold.to_tangent(x, key.normals[0])
    return manifold.random_tangent(key, x)


def draw_ahead(
    keys: Key[Array, " step"], manifold: Manifold, position: Position
) -> Key[Array, " step"] | Ahead:
    """Draw the normals of all steps of a loop at once; the keys themselves where that does not pay.

    The noise is the same either way. Only for loops whose step draws one standard normal for each leaf,
    through `leaf_key`.

    Args:
        keys: One for each step.
        manifold: The manifold of the positions.
        position: A position, for its shapes.

    Returns:
        Something with a leading axis ``[step]`` whose rows stand for keys.
    """
    leaves = jax.tree.leaves(position)
    small = sum(x.size for x in leaves) <= LARGEST_AHEAD
    if not small or not all(isinstance(m, Embedded) for m in leaf_manifolds(manifold, position)):
        return keys

    def normals(key: RandomKey) -> tuple[Float[Array, "..."], ...]:
        return tuple(standard_normal(leaf_key(key, i, len(leaves)), x) for i, x in enumerate(leaves))

    return Ahead(jax.vmap(normals)(keys))
