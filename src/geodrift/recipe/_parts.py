"""A point z and its parts: the children of its tree, by name."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from geodrift._types import RandomKey

WHOLE = None
"""In place of the name of a part: all of z."""


def parts(z: PyTree) -> dict[Any, PyTree]:
    """The children of a point's tree by name, in the tree's order (a dict's is that of its sorted keys)."""
    pairs, _ = _flatten(z)
    return {_name(path): child for path, child in pairs}


def part(z: PyTree, name: Any) -> PyTree:
    """The part of that name; z itself for `WHOLE`."""
    return z if name is WHOLE else parts(z)[name]


def replaced(z: PyTree, name: Any, child: PyTree) -> PyTree:
    """The point with another value of the part of that name."""
    if name is WHOLE:
        return child
    pairs, structure = _flatten(z)
    return jax.tree.unflatten(structure, [child if _name(path) == name else old for path, old in pairs])


def white(key: RandomKey, like: PyTree) -> PyTree:
    """Independent standard normal numbers in the shapes and dtypes of ``like``."""
    leaves, structure = jax.tree.flatten(like)
    draws = [jax.random.normal(jax.random.fold_in(key, i), x.shape, x.dtype) for i, x in enumerate(leaves)]
    return jax.tree.unflatten(structure, draws)


def check_alike(row: PyTree, column: PyTree, what: str) -> None:
    """Raise ValueError unless two parts have the same structure and shapes."""
    shapes = [jax.tree.map(jnp.shape, part) for part in (row, column)]
    if _structure(row) != _structure(column) or shapes[0] != shapes[1]:
        raise ValueError(f"{what} between parts of the shapes {shapes[0]} and {shapes[1]}: give Outer")


def check_leaves(given: PyTree, part: PyTree, shape: Callable[[tuple], tuple], what: str) -> None:
    """Raise ValueError unless ``given`` has the part's structure and leaves of the right shapes.

    Args:
        given: The pytree to check.
        part: The part.
        shape: From the shape of a leaf of the part to the shape to which that of ``given`` must broadcast.
        what: The name of ``given`` in the message.
    """
    if _structure(given) != _structure(part):
        raise ValueError(f"{what}: the tree is {_structure(given)}, must be {_structure(part)}")
    for g, x in zip(jax.tree.leaves(given), jax.tree.leaves(part), strict=True):
        wanted = shape(jnp.shape(x))
        pairs = zip(g.shape[::-1], wanted[::-1], strict=False)
        if g.ndim > len(wanted) or not all(a in (1, b) for a, b in pairs):
            raise ValueError(f"{what}: a leaf has shape {g.shape}, must broadcast to {wanted}")


def _structure(tree: PyTree) -> Any:
    # jax has no annotations for the type of a structure.
    return jax.tree.structure(tree)


def _flatten(z: PyTree) -> tuple[list, Any]:
    return jax.tree_util.tree_flatten_with_path(z, is_leaf=lambda node: node is not z)


def _name(path: tuple) -> Any:
    if not path:
        return WHOLE
    key = path[0]
    return getattr(key, "key", getattr(key, "name", getattr(key, "idx", None)))
