"""Arithmetic on pytrees of arrays."""

import functools
from collections.abc import Callable
from typing import Any, get_type_hints

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from geodrift._types import SHARED

LOOKED_INTO = (
    "JAX does not look into such an object: give arrays, alone or in a dict, NamedTuple or equinox.Module,"
    " or in a dataclass whose class jax.tree_util.register_dataclass knows"
)


def axpy(a: float | Float[Array, ""], x: PyTree, y: PyTree) -> PyTree:
    """``a x + y`` in the dtype of each leaf of ``y``."""
    return jax.tree.map(lambda xi, yi: jnp.asarray(a, yi.dtype) * xi.astype(yi.dtype) + yi, x, y)


def add(x: PyTree, y: PyTree) -> PyTree:
    """Sum, leaf by leaf."""
    return jax.tree.map(jnp.add, x, y)


def sub(x: PyTree, y: PyTree) -> PyTree:
    """Difference, leaf by leaf."""
    return jax.tree.map(jnp.subtract, x, y)


def where(condition: Array, x: PyTree, y: PyTree) -> PyTree:
    """``x`` where the scalar ``condition`` holds, else ``y``."""
    return jax.tree.map(lambda xi, yi: jnp.where(condition, xi, yi), x, y)


def shapes(x: PyTree) -> PyTree:
    """The shape of each leaf; a plain tuple when ``x`` is one array."""
    return jax.tree.map(jnp.shape, x)


def is_shape(x: Any) -> bool:
    """Whether ``x`` is a tuple of integers, which stands for one leaf's shape."""
    return isinstance(x, tuple) and all(isinstance(n, int) for n in x)


def broadcast_prefix(
    prefix: PyTree, tree: PyTree, is_leaf: Callable[[Any], bool] | None = None, name: str = "an argument"
) -> list:
    """For each leaf of ``tree``, in flattening order, the leaf of ``prefix`` that stands over it.

    Args:
        prefix: A tree prefix of ``tree``; a single leaf stands over all of it.
        tree: The full tree.
        is_leaf: What counts as a leaf, in both trees.
        name: What the error calls the prefix.

    Raises:
        ValueError: ``prefix`` is no prefix of ``tree``.
    """
    found: list = []

    def spread(leaf: Any, subtree: PyTree) -> None:
        found.extend([leaf] * len(jax.tree.leaves(subtree, is_leaf=is_leaf)))

    try:
        jax.tree.map(spread, prefix, tree, is_leaf=is_leaf)
    except (TypeError, ValueError):
        forms = (jax.tree.structure(x, is_leaf=is_leaf) for x in (prefix, tree))
        given, wanted = (str(form).removeprefix("PyTreeDef(").removesuffix(")") for form in forms)
        raise ValueError(
            f"{name} of the form {given} does not fit the position's {wanted}: give one value for all of it,"
            " or a tree of the same form (* is a leaf); of a position that is one array an array, not a list"
        ) from None
    return found


def fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether an array of that shape broadcasts to the target."""
    pairs = zip(shape[::-1], target[::-1], strict=False)
    return len(shape) <= len(target) and all(given in (1, needed) for given, needed in pairs)


def check_broadcasts(name: str, prefix: PyTree, tree: PyTree) -> None:
    """Raise ValueError, which names the argument, unless each leaf of the prefix broadcasts to the tree's."""
    for given, leaf in zip(broadcast_prefix(prefix, tree, name=name), jax.tree.leaves(tree), strict=True):
        shape, wanted = jnp.shape(given), jnp.shape(leaf)
        if not fits(shape, wanted):
            raise ValueError(f"{name} has shape {shape}: must broadcast to the position's {wanted}")


def as_float_arrays(x: PyTree) -> PyTree:
    """Convert every number in ``x`` to a floating-point array: jit traces arrays and fixes plain numbers."""

    def as_float(leaf: Any) -> Array:
        if isinstance(leaf, str):
            raise ValueError(f"{leaf!r}: give a number, or an array of numbers")
        return jnp.asarray(leaf, dtype=jnp.result_type(leaf, float))

    return jax.tree.map(as_float, x)


def shared_by_chains(state: PyTree) -> PyTree[bool]:
    """For each leaf of a state, whether the class that holds it marks it as `Shared`.

    Returns:
        A tree of the state's structure. What is below a marked field is shared too.
    """
    return _shared_below(state, False)


def _shared_below(node: PyTree, marked: bool) -> PyTree[bool]:
    if jax.tree_util.all_leaves([node]):
        return marked
    children, structure = jax.tree_util.tree_flatten_with_path(node, is_leaf=lambda inner: inner is not node)
    fields = _shared_fields(node.__class__)
    flags = [
        _shared_below(child, marked or getattr(key, "name", None) in fields) for (key,), child in children
    ]
    return jax.tree.unflatten(structure, flags)


@functools.cache
def _shared_fields(kind: type) -> frozenset[str]:
    try:
        hints = get_type_hints(kind, include_extras=True)
    except Exception:  # annotations of a foreign class may name what only a type checker sees
        return frozenset()
    return frozenset(name for name, hint in hints.items() if SHARED in getattr(hint, "__metadata__", ()))
