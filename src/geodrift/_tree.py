"""Arithmetic on pytrees of arrays."""

import functools
from collections.abc import Callable
from typing import Any, get_type_hints

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from geodrift._types import SHARED


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


def broadcast_prefix(prefix: PyTree, tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list:
    """For each leaf of ``tree``, in flattening order, the leaf of ``prefix`` that stands over it.

    Args:
        prefix: A tree prefix of ``tree``; a single leaf stands over all of it.
        tree: The full tree.
        is_leaf: What counts as a leaf, in both trees.

    Raises:
        ValueError: ``prefix`` is no prefix of ``tree``.
    """
    found: list = []

    def spread(leaf: Any, subtree: PyTree) -> None:
        found.extend([leaf] * len(jax.tree.leaves(subtree, is_leaf=is_leaf)))

    jax.tree.map(spread, prefix, tree, is_leaf=is_leaf)
    return found


def as_float_arrays(x: PyTree) -> PyTree:
    """Convert every number in ``x`` to a floating-point array: jit traces arrays and fixes plain numbers."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=jnp.result_type(leaf, float)), x)


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
