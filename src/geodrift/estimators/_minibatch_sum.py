"""An unbiased estimate of a sum over the data, for samplers that need such a sum and no gradient."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from geodrift._tree import as_float_arrays
from geodrift._types import Batch, Position, RandomKey
from geodrift._whole import as_whole, whole

Contributions: TypeAlias = Callable[[RandomKey, Position, Batch], Float[Array, "batch ..."]]
"""What each datum of a batch adds to the sum: ``contributions(key, position, batch) -> [batch, ...]``."""


class Reference(NamedTuple):
    """The control variate of `MinibatchSum`: a value for each datum, and its sum over all data.

    Attributes:
        contributions: ``contributions(batch) -> [batch, ...]``, at a fixed reference.
        total: Their sum over all N data, the shape of one contribution.
        lowest: A bound below which no true sum can be. An estimate below it is raised to it: for shapes of
            Gamma laws, which must be positive, give the prior's.
    """

    contributions: Callable[[Batch], Float[Array, "batch ..."]]
    total: Float[Array, "..."]
    lowest: Float[Array, "..."] | float = -jnp.inf


class MinibatchSum(eqx.Module):
    r"""``constant + (N/B) sum of a batch's contributions``, computed from a new batch at each step.

    For `geodrift.samplers.SCIR` it is a-hat = alpha + (N/n) sum z, Baker et al. (2018), section 2.1, with z
    the data's allocations; for `geodrift.samplers.ExponentialOU` it is mu-hat. Unbiased for batches with and
    without replacement. Contributions that are latent are drawn at the current position, with the key.

    With a ``reference`` r the estimate is a control variate,

    .. math:: c + \sum_i r_i + \frac{N}{B} \sum_{b} (z_b - r_b),

    unbiased too, but **not always positive**: it falls below 0 where data with a large r have a small z, and
    raising it to ``reference.lowest`` then biases it upwards. No factor in front of r avoids that: see
    [the explanation page](../explanation/scir.md).

    Args:
        contributions: ``contributions(key, position, batch) -> [batch, ...]``, one array of the position's
            shape for each datum.
        constant: What the prior adds: alpha; broadcasts to the position.
        data_size: N, the number of data that the batches are drawn from.
        replacement: Whether batches are drawn with replacement; `geodrift.sample` draws them so.
        reference: A `Reference`; None for the plain estimate.

    Raises:
        ValueError: ``data_size`` is not a whole number of 1 or more.
    """

    contributions: Contributions = eqx.field(static=True)
    constant: PyTree = eqx.field(converter=as_float_arrays)
    data_size: int = eqx.field(static=True, converter=as_whole)
    replacement: bool = eqx.field(static=True, default=True)
    reference: Reference | None = None

    def __check_init__(self) -> None:
        whole("data_size", self.data_size)

    def init(self, key: RandomKey, position: Position) -> tuple[()]:
        """The empty state."""
        del key, position
        return ()

    def prepare(self, key: RandomKey, state: tuple[()], position: Position, batch: Batch) -> tuple[Any, Any]:
        """The estimate for this batch, and the state: ``(estimate, state)``."""
        z = self.contributions(key, position, batch)
        scale = self.data_size / z.shape[0]
        if self.reference is None:
            return self.constant + scale * jnp.sum(z, axis=0), state
        differences = z - self.reference.contributions(batch)
        estimate = self.constant + self.reference.total + scale * jnp.sum(differences, axis=0)
        return jnp.maximum(estimate, self.reference.lowest), state

    def on_all_data(self) -> "MinibatchSum":
        """The same estimator: of the whole data set the sum is exact."""
        return self
