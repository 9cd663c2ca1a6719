"""The part of a position that identities of Stein can be asked of."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift._types import Position
from geodrift.manifolds import Manifold, leaf_manifolds
from geodrift.manifolds._laplacian import linear_eigenvalue


class ClosedPart(eqx.Module):
    """The leaves of a position whose manifolds are closed, as one vector."""

    manifolds: tuple[Manifold, ...]
    places: tuple[int, ...] = eqx.field(static=True)
    shapes: tuple[tuple[int, ...], ...] = eqx.field(static=True)

    @classmethod
    def of(cls, manifold: Manifold, position: Position) -> "ClosedPart":
        """Of draws, leading axes [chain, draw]."""
        one = jax.tree.map(lambda x: x[0, 0], position)
        leaves = enumerate(zip(leaf_manifolds(manifold, one), jax.tree.leaves(one), strict=True))
        chosen = [(m, i, np.shape(x)) for i, (m, x) in leaves if linear_eigenvalue(m) is not None]
        return cls(*zip(*chosen, strict=True)) if chosen else cls((), (), ())

    @property
    def sizes(self) -> list[int]:
        """Of the leaves."""
        return [math.prod(shape) for shape in self.shapes]

    @property
    def size(self) -> int:
        """Of the vector."""
        return sum(self.sizes)

    @property
    def eigenvalues(self) -> np.ndarray:
        """`linear_eigenvalue` of each number's manifold."""
        return np.repeat([linear_eigenvalue(m) for m in self.manifolds], self.sizes)

    def flat(self, tree: Position) -> Float[Array, " n"]:
        """The vector of a position or a tangent vector."""
        leaves = jax.tree.leaves(tree)
        return jnp.concatenate([jnp.ravel(leaves[i]) for i in self.places])

    def to_tangent(self, x: Float[Array, " n"], u: Float[Array, " n"]) -> Float[Array, " n"]:
        """The tangent part of a vector."""
        ends = np.cumsum(self.sizes)[:-1]
        pieces = zip(self.manifolds, self.shapes, jnp.split(x, ends), jnp.split(u, ends), strict=True)
        return jnp.concatenate(
            [jnp.ravel(m.to_tangent(xi.reshape(shape), ui.reshape(shape))) for m, shape, xi, ui in pieces]
        )

    def terms(
        self, position: Position, gradient: Position, numbers: tuple[Float[Array, "..."], ...]
    ) -> tuple[Float[Array, " k"], ...]:
        """Stein's terms of both fields, and the squares of the directions' tangent parts.

        Args:
            position: A draw.
            gradient: An estimate of the log density's there.
            numbers: The centre m, the directions a [k, n], and `eigenvalues`.
        """
        centre, axes, eigenvalues = numbers
        x = self.flat(position)
        tangents = jax.vmap(lambda a: self.to_tangent(x, a))(axes)
        # The divergence of P a is the Laplacian of a . x.
        shift = tangents @ self.flat(gradient) - axes @ (eigenvalues * x)
        squares = jnp.sum(tangents**2, axis=1)
        return shift, -(axes @ (x - centre)) * shift - squares, squares

    def names(self, position: Position) -> np.ndarray:
        """Of the numbers of the vector."""
        return names_of(position, self.places, self.shapes)


def names_of(position: Position, places: Sequence[int], shapes: Sequence[tuple[int, ...]]) -> np.ndarray:
    """The names of the numbers of some leaves of a position."""
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(position)]
    return np.array(
        [
            f"{paths[i] or 'position'}{list(index) if shape else ''}"
            for i, shape in zip(places, shapes, strict=True)
            for index in np.ndindex(*shape)
        ]
    )
