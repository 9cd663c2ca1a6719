"""The log posterior density of all data, as a function that can be differentiated."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import Batch, Position
from geodrift.estimators._batch_rows import batch_length
from geodrift.estimators._likelihood import LikelihoodEstimator

CHUNK = 1024  # rows at a time


class WholeDensity(eqx.Module):
    """The log posterior density of some rows of the data, which stand for all."""

    estimator: LikelihoodEstimator
    rows: Batch
    scale: float = eqx.field(static=True)

    def value(self, position: Position) -> Float[Array, ""]:
        """The log density; the rows are taken in chunks, of which none is kept for the gradient."""
        size = batch_length(self.rows)
        chunk = min(CHUNK, size)

        @jax.checkpoint
        def of_chunk(rows: Batch) -> Float[Array, ""]:
            return jnp.sum(self.estimator.log_likelihoods(position, rows))

        def pieces(a: Array) -> Array:
            return a[: size - size % chunk].reshape(-1, chunk, *a.shape[1:])

        total = jnp.sum(jax.lax.map(of_chunk, jax.tree.map(pieces, self.rows)))
        if size % chunk:
            total += of_chunk(jax.tree.map(lambda a: a[size - size % chunk :], self.rows))
        return self.estimator.log_prior_at(position) + self.scale * total
