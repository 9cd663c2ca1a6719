"""Affine coordinates of R^n, in which a posterior has the same scale in every direction."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from geodrift._types import Position
from geodrift.estimators._low_rank import LowRank


class Layout(NamedTuple):
    """A pytree of arrays without its numbers."""

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]

    @classmethod
    def of(cls, position: Position) -> "Layout":
        """The layout of a position."""
        leaves, structure = jax.tree.flatten(position)
        return cls(structure, tuple(jnp.shape(x) for x in leaves), tuple(str(x.dtype) for x in leaves))

    @property
    def size(self) -> int:
        """Numbers of a position."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def name(self, number: int) -> str:
        """What one of the numbers is called in a message: where in the position it is."""
        leaf = int(np.searchsorted(self._ends, number, side="right"))
        numbered = jax.tree.unflatten(self.structure, range(len(self.shapes)))
        paths = jax.tree_util.tree_leaves_with_path(numbered)
        path = jax.tree_util.keystr(paths[leaf][0]) or "position"
        within = np.unravel_index(number - [0, *self._ends][leaf], self.shapes[leaf])
        return path + (f"[{', '.join(map(str, within))}]" if within else "")

    @property
    def _ends(self) -> Int[np.ndarray, " leaves"]:
        """Where leaves end among the numbers, but for the last."""
        return np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]

    def flat(self, position: Position) -> Float[Array, " d"]:
        """All numbers of a position, leaf after leaf."""
        return jnp.concatenate([jnp.ravel(x) for x in jax.tree.leaves(position)])

    def position(self, flat: Float[Any, " d"]) -> Position:
        """The position of these numbers."""
        pieces = zip(jnp.split(flat, self._ends), self.shapes, self.dtypes, strict=True)
        return jax.tree.unflatten(self.structure, [x.reshape(shape).astype(t) for x, shape, t in pieces])

    def positions(self, flat: Float[np.ndarray, "start d"], number: int) -> Position:
        """So many positions of these numbers, leading axis [number]; after the last begins the first."""
        taken = flat[np.arange(number) % len(flat)].astype(self.dtypes[0])
        pieces = zip(np.split(taken, self._ends, axis=1), self.shapes, self.dtypes, strict=True)
        leaves = [jnp.asarray(x.reshape(number, *shape), t) for x, shape, t in pieces]
        return jax.tree.unflatten(self.structure, leaves)

    def numbers(self, positions: Position) -> Float[np.ndarray, "start d"]:
        """The numbers of positions with a leading axis, float64."""
        leaves = [np.asarray(x, np.float64) for x in jax.tree.leaves(positions)]
        return np.concatenate([x.reshape(len(x), -1) for x in leaves], axis=1)


class Affine(eqx.Module):
    """Positions ``centre + factor y`` for coordinates y; arrays of NumPy or of JAX.

    Args:
        centre: [d], the position's numbers leaf after leaf.
        factor: [d, d], whose inverse exists, or of many dimensions a `LowRank`.
        layout: The position's.
    """

    centre: Float[Any, " d"]
    factor: Float[Any, "d d"] | LowRank
    layout: Layout = eqx.field(static=True)

    @classmethod
    def of(
        cls, centre: Float[np.ndarray, " d"], factor: Float[np.ndarray, "d d"] | LowRank, layout: Layout
    ) -> "Affine":
        """The map of numbers in float64, in the positions' dtype."""
        dtype = layout.dtypes[0]
        if isinstance(factor, LowRank):
            return cls(jnp.asarray(centre.astype(dtype)), factor.as_type(dtype), layout)
        # A warm-up makes tens of these: compiled functions take NumPy's arrays faster than those put on a
        # device by calls of their own.
        return cls(centre.astype(dtype), factor.astype(dtype), layout)

    def __call__(self, coordinates: Float[Array, " d"]) -> Position:
        """The position of the coordinates."""
        if isinstance(self.factor, LowRank):
            return self.layout.position(self.centre + self.factor.times(coordinates))
        # Products of float32 may be rounded to fewer digits where the default allows it.
        moved = jnp.matmul(self.factor, coordinates, precision=jax.lax.Precision.HIGHEST)
        return self.layout.position(self.centre + moved)

    def coordinates(self, position: Position) -> Float[Array, " d"]:
        """The coordinates of a position."""
        moved = self.layout.flat(position) - self.centre
        if isinstance(self.factor, LowRank):
            return self.factor.solve(moved)
        return jnp.linalg.solve(self.factor, moved)
