"""A manifold for each leaf of a pytree."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from geodrift._tree import LOOKED_INTO, broadcast_prefix, is_shape
from geodrift._types import Position, RandomKey, Scalar, Tangent
from geodrift.manifolds._base import Manifold


class Product(Manifold):
    """The product of a pytree of manifolds, for positions that are pytrees.

    Args:
        tree: A pytree of manifolds. It may be a prefix of the position's tree: a manifold over a subtree is
            the manifold of each of its leaves.

    Raises:
        ValueError: The tree holds something that is not a manifold, or a method gets a position of another
            structure.

    Example:
        >>> Product({"topics": Sphere(100), "weights": Simplex(5), "offset": Euclidean()})
    """

    tree: PyTree  # of manifolds

    def __check_init__(self) -> None:
        for leaf in jax.tree.leaves(self.tree, is_leaf=_is_manifold):
            if dataclasses.is_dataclass(leaf) and not _is_manifold(leaf):
                raise ValueError(f"tree holds a {type(leaf).__name__}: {LOOKED_INTO}")
            if not _is_manifold(leaf) or isinstance(leaf, Product):
                raise ValueError(f"tree holds {leaf!r}: each leaf must be a manifold, and not a product")

    def project(self, x: Position) -> Position:
        """Leaf by leaf."""
        return self._map(lambda m, xi: m.project(xi), x)

    def to_tangent(self, x: Position, u: Tangent) -> Tangent:
        """Leaf by leaf."""
        return self._map(lambda m, xi, ui: m.to_tangent(xi, ui), x, u)

    def inner(self, x: Position, u: Tangent, v: Tangent) -> Scalar:
        """The sum over the leaves."""
        return sum(self._each(lambda m, xi, ui, vi: m.inner(xi, ui, vi), x, u, v))

    def riemannian_gradient(self, x: Position, g: Tangent) -> Tangent:
        """Leaf by leaf."""
        return self._map(lambda m, xi, gi: m.riemannian_gradient(xi, gi), x, g)

    def geodesic(self, x: Position, v: Tangent, t: float | Scalar) -> tuple[Position, Tangent]:
        """Leaf by leaf."""
        moved = self._each(lambda m, xi, vi: m.geodesic(xi, vi, t), x, v)
        structure = jax.tree.structure(x)
        return tuple(jax.tree.unflatten(structure, part) for part in zip(*moved, strict=True))

    def random_point(self, key: RandomKey, shape: PyTree = ()) -> Position:
        """A random point of each leaf's manifold, in the tree of the product.

        Args:
            key: Random key.
            shape: Batch axes: one tuple for all leaves, or a pytree of tuples.
        """
        manifolds, structure = jax.tree.flatten(self.tree, is_leaf=_is_manifold)
        batch = [shape] * len(manifolds) if is_shape(shape) else jax.tree.leaves(shape, is_leaf=is_shape)
        points = [
            manifold.random_point(jax.random.fold_in(key, i), axes)
            for i, (manifold, axes) in enumerate(zip(manifolds, batch, strict=True))
        ]
        return jax.tree.unflatten(structure, points)

    def random_tangent(self, key: RandomKey, x: Position) -> Tangent:
        """Independent draws, leaf by leaf."""
        manifolds, leaves = leaf_manifolds(self, x), jax.tree.leaves(x)
        draws = [
            manifold.random_tangent(jax.random.fold_in(key, i), leaf)
            for i, (manifold, leaf) in enumerate(zip(manifolds, leaves, strict=True))
        ]
        return jax.tree.unflatten(jax.tree.structure(x), draws)

    def dim(self, shape: PyTree) -> int:
        """The sum over the leaves; ``shape`` is the pytree of the leaves' shapes."""
        shapes = jax.tree.leaves(shape, is_leaf=is_shape)
        return sum(m.dim(s) for m, s in zip(leaf_manifolds(self, shape, is_shape), shapes, strict=True))

    def residual(self, x: Position) -> Scalar:
        """The largest over the leaves."""
        return jnp.max(jnp.stack(self._each(lambda m, xi: m.residual(xi), x)))

    def _each(self, fn: Callable[..., Any], *trees: PyTree) -> list:
        """``fn(manifold, leaf of the first tree, leaf of the second, ..)`` for each leaf, as a list."""
        structure = jax.tree.structure(trees[0])
        columns = [structure.flatten_up_to(tree) for tree in trees]
        return [fn(*row) for row in zip(leaf_manifolds(self, trees[0]), *columns, strict=True)]

    def _map(self, fn: Callable[..., Any], *trees: PyTree) -> PyTree:
        """The same as a tree."""
        return jax.tree.unflatten(jax.tree.structure(trees[0]), self._each(fn, *trees))


def leaf_manifolds(
    manifold: Manifold, position: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> list[Manifold]:
    """The manifold of each leaf of ``position``, in flattening order.

    Args:
        manifold: A product, or the manifold of a single array.
        position: A position, or another tree of the same structure.
        is_leaf: What else counts as a leaf of ``position``.

    Raises:
        ValueError: The structures do not fit.
    """
    tree = manifold.tree if isinstance(manifold, Product) else manifold
    stop = _is_manifold if is_leaf is None else lambda node: _is_manifold(node) or is_leaf(node)
    if not isinstance(manifold, Product) and jax.tree.structure(position, is_leaf=stop).num_nodes != 1:
        raise ValueError(f"the position is a pytree: give Product({manifold!r}) or a tree of manifolds")
    return broadcast_prefix(tree, position, stop, "manifold")


def _is_manifold(node: Any) -> bool:
    return isinstance(node, Manifold)
