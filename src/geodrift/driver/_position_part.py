"""Some leaves of a position, whose identities of Stein are known."""

import abc
import math
from typing import Any, NamedTuple, Self, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift._types import Position
from geodrift.manifolds import Manifold, leaf_manifolds

Known: TypeAlias = tuple[Any, ...]
"""Arrays of what a part knows of early draws when it asks the later ones; NumPy's, or JAX's when compiled."""

Terms: TypeAlias = tuple[Float[np.ndarray, "chain draw k"], ...]
"""A part's terms of all draws."""


class SteinTerms(NamedTuple):
    """By direction, terms whose mean is 0 of the right draws.

    Attributes:
        excess: Of the variance over the target's.
        shift: Of the mean, in standard deviations.
        names: Of the directions.
    """

    excess: Float[np.ndarray, "chain draw direction"]
    shift: Float[np.ndarray, "chain draw direction"]
    names: list[str]


class PositionPart(eqx.Module):
    """Leaves of a position as one vector.

    Attributes:
        places: Of the leaves.
        shapes: Theirs.
        manifolds: Theirs.
    """

    places: tuple[int, ...] = eqx.field(static=True)
    shapes: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    manifolds: tuple[Manifold, ...]

    @staticmethod
    @abc.abstractmethod
    def knows(manifold: Manifold) -> bool:
        """Whether a leaf on this manifold is one of these."""

    @classmethod
    def of(cls, manifold: Manifold, position: Position) -> Self:
        """Of draws, leading axes [chain, draw]."""
        one = jax.tree.map(lambda x: x[0, 0], position)
        leaves = enumerate(zip(leaf_manifolds(manifold, one), jax.tree.leaves(one), strict=True))
        chosen = [(i, np.shape(x), m) for i, (m, x) in leaves if cls.knows(m)]
        return cls(*zip(*chosen, strict=True)) if chosen else cls((), (), ())

    @property
    def size(self) -> int:
        """Of the vector."""
        return sum(math.prod(shape) for shape in self.shapes)

    def flat(self, tree: Position) -> Float[Array, " n"]:
        """The vector of a position or a tangent vector."""
        leaves = jax.tree.leaves(tree)
        return jnp.concatenate([jnp.ravel(leaves[i]) for i in self.places])

    def names(self, position: Position) -> list[str]:
        """Of the numbers of the vector."""
        paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(position)]
        return [
            f"{paths[i] or 'position'}{list(index) if shape else ''}"
            for i, shape in zip(self.places, self.shapes, strict=True)
            for index in np.ndindex(*shape)
        ]

    @abc.abstractmethod
    def numbers(self, early: Float[np.ndarray, "draw n"]) -> Known:
        """What `terms` needs to know of the draws; from others than those that it is asked of."""

    @abc.abstractmethod
    def terms(self, position: Position, gradient: Position, numbers: Known) -> tuple[Float[Array, " k"], ...]:
        """Stein's terms of the fields for the mean and for the variance, and what they are measured by.

        Args:
            position: A draw.
            gradient: An estimate of the log density's there.
            numbers: From `numbers`.
        """

    @abc.abstractmethod
    def measured(
        self,
        terms: Terms,
        numbers: Known,
        values: Float[np.ndarray, "chain draw n"],
        names: list[str],
    ) -> SteinTerms:
        """The terms in the units of what they tell.

        Args:
            terms: Of all draws.
            numbers: From `numbers`.
            values: The vectors of the draws.
            names: From `names`.
        """
