"""The part of a position that identities of Stein can be asked of along any direction."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift._types import Position
from geodrift.driver._position_part import Known, PositionPart, SteinTerms, Terms
from geodrift.manifolds import Manifold
from geodrift.manifolds._laplacian import linear_eigenvalue

LEAST_TANGENT = 0.1  # of a direction's square, on average, for it to be looked along
ALONE = 0.95  # a direction's entry that makes it that number's own


class ClosedPart(PositionPart):
    """The leaves of a position whose manifolds are closed; its directions are the principal axes."""

    @staticmethod
    def knows(manifold: Manifold) -> bool:
        """Whether the Laplacian of linear functions is known."""
        return linear_eigenvalue(manifold) is not None

    def to_tangent(self, x: Float[Array, " n"], u: Float[Array, " n"]) -> Float[Array, " n"]:
        """The tangent part of a vector."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        pieces = zip(self.manifolds, self.shapes, jnp.split(x, ends), jnp.split(u, ends), strict=True)
        return jnp.concatenate(
            [jnp.ravel(m.to_tangent(xi.reshape(shape), ui.reshape(shape))) for m, shape, xi, ui in pieces]
        )

    def numbers(self, early: Float[np.ndarray, "draw n"]) -> Known:
        """The mean, the principal axes [n, n], and `linear_eigenvalue` of each number's manifold."""
        axes = np.linalg.eigh(np.atleast_2d(np.cov(early, rowvar=False)))[1].T
        sizes = [math.prod(shape) for shape in self.shapes]
        return early.mean(axis=0), axes, np.repeat([linear_eigenvalue(m) for m in self.manifolds], sizes)

    def terms(self, position: Position, gradient: Position, numbers: Known) -> tuple[Float[Array, " k"], ...]:
        """Also the squares of the directions' tangent parts."""
        centre, axes, eigenvalues = numbers
        x = self.flat(position)
        tangents = jax.vmap(lambda a: self.to_tangent(x, a))(axes)
        # The divergence of P a is the Laplacian of a . x.
        shift = tangents @ self.flat(gradient) - axes @ (eigenvalues * x)
        squares = jnp.sum(tangents**2, axis=1)
        return shift, -(axes @ (x - centre)) * shift - squares, squares

    def measured(
        self,
        terms: Terms,
        numbers: Known,
        values: Float[np.ndarray, "chain draw n"],
        names: list[str],
    ) -> SteinTerms:
        """Along the axes of which enough is tangent."""
        (shift, excess, squares), axes = terms, numbers[1]
        tangent = squares.mean(axis=(0, 1))
        seen = tangent > LEAST_TANGENT
        widths = (values @ axes.T).std(axis=(0, 1))[seen]
        return SteinTerms(
            excess[..., seen] / tangent[seen], shift[..., seen] * widths, _of_directions(axes[seen], names)
        )


def _of_directions(axes: Float[np.ndarray, "k n"], names: list[str]) -> list[str]:
    """Directions in words: the number that is nearly all of one, or else the one that is most."""
    most = np.abs(axes).argmax(axis=1)
    alone = np.abs(axes).max(axis=1) > ALONE
    return [
        names[place] if one else f"the direction in which {names[place]} is largest"
        for place, one in zip(most, alone, strict=True)
    ]
