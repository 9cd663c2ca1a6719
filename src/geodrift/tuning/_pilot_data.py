"""Batches for the pilot, of other sizes than the run's."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from geodrift._types import Batch, RandomKey


class PilotData:
    """Draws random rows of the data, and knows how the run draws its batches.

    Args:
        data: A pytree of arrays with leading axis N, on the device or the host; None where there is none.
        batch_size: B of the run; None for all of the data.
        replacement: Whether the run's batches are drawn with replacement.
        smaller: Whether the run's batch size is to be chosen, up to this one.
    """

    def __init__(
        self, data: PyTree, batch_size: int | None, replacement: bool, smaller: bool = False
    ) -> None:
        self.data, self.batch_size, self.replacement = data, batch_size, replacement
        self.smaller = smaller
        leaves = jax.tree.leaves(data)
        self.size = leaves[0].shape[0] if leaves else 0

    @property
    def noisy(self) -> bool:
        """Whether the run's gradients have noise."""
        return self.batch_size is not None and self.size > 0

    def rows(self, key: RandomKey, count: int, size: int) -> Batch:
        """Batches ``[count, size, ...]``, each of distinct rows; None where there is no data."""
        if not self.size:
            return None
        seed = np.asarray(jax.random.bits(key, (4,), jnp.uint32))
        random = np.random.default_rng(seed)
        # `choice` without `shuffle` draws a few of many rows without a pass over all of them.
        drawn = [random.choice(self.size, size, replace=False, shuffle=False) for _ in range(count)]
        index = np.stack(drawn)
        return jax.tree.map(lambda a: jnp.asarray(a[index]), self.data)

    def factor(self, size: int) -> float:
        """Noise variance of the run's batches, were they of ``size`` rows, divided by what it is."""
        if self.replacement:
            return self.batch_size / size
        return (1 / size - 1 / self.size) / (1 / self.batch_size - 1 / self.size)

    def scale(self, size: int) -> float:
        """Noise variance of the run's batches divided by that of batches of ``size`` distinct rows."""
        finite = 1.0 if self.replacement else 1.0 - self.batch_size / self.size
        return size / self.batch_size * finite / (1.0 - size / self.size)
