"""Factors of coordinates of many dimensions: a scale for each number, and widths of a few directions."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class LowRank(eqx.Module):
    r"""The matrix :math:`S (I + U (W - I) U^\top)`, which is never made; arrays of NumPy or of JAX.

    Args:
        scales: S, [d].
        directions: U, [d, r], with orthonormal columns.
        widths: W, [r].
    """

    scales: Float[Any, " d"]
    directions: Float[Any, "d r"]
    widths: Float[Any, " r"]

    @classmethod
    def of_scales(cls, scales: Float[np.ndarray, " d"]) -> "LowRank":
        """A scale for each number alone."""
        return cls(scales, np.zeros((len(scales), 0)), np.ones(0))

    def times(self, y: Float[Any, "*n d"]) -> Float[Any, "*n d"]:
        """The product with each vector."""
        return self.scales * self._widened(y, self.widths)

    def solve(self, x: Float[Any, "*n d"]) -> Float[Any, "*n d"]:
        """The product of the inverse with each vector."""
        return self._widened(x / self.scales, 1 / self.widths)

    def as_type(self, dtype: str) -> "LowRank":
        """The same as arrays of JAX, of a type."""
        return jax.tree.map(lambda a: jnp.asarray(np.asarray(a), dtype), self)

    @property
    def widest(self) -> float:
        """The largest standard deviation over the smallest, of single numbers or of the directions."""
        rows = self.scales**2 * (1 + (self.directions**2) @ (self.widths**2 - 1))
        ratios = np.append(self.widths, 1.0)
        return max(float(np.sqrt(rows.max() / rows.min())), float(ratios.max() / ratios.min()))

    def _widened(self, y: Float[Any, "*n d"], widths: Float[Any, " r"]) -> Float[Any, "*n d"]:
        # Products of float32 may be rounded to fewer digits where the default allows it.
        product = np.matmul if isinstance(self.directions, np.ndarray) else _precise
        along = product(y, self.directions)
        return y + product(along * (widths - 1), self.directions.T)


def _precise(a: Array, b: Array) -> Array:
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST)
