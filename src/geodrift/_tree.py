"""Arithmetic on pytrees of arrays."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree


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
    """Every number in ``x`` as a floating-point array: a leaf, not a constant of the trace."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=jnp.result_type(leaf, float)), x)


def is_shared(path: tuple, leaf: Any) -> bool:
    """Whether a leaf is an attribute ``count`` of whole numbers, hence one for all chains.

    A position may have a part of that name; it is no whole number.
    """
    named = bool(path) and isinstance(path[-1], jax.tree_util.GetAttrKey) and path[-1].name == "count"
    return named and jnp.issubdtype(jnp.result_type(leaf), jnp.integer)
