"""The gradient of a run's target from batches of its own, to hold the draws against."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from geodrift._types import Batch, Position, RandomKey, Scalar, Tangent
from geodrift.driver._source import Source
from geodrift.estimators import Full, Rows
from geodrift.estimators._batch_rows import batch_length
from geodrift.estimators._likelihood import LikelihoodEstimator
from geodrift.tuning._whole_density import WholeDensity


class _Around(NamedTuple):
    """A position and the gradient there, of all data."""

    position: Position
    gradient: Tangent


class TargetGradient(eqx.Module):
    """Unbiased estimates of the gradient of the log density; with minibatches, by a control variate."""

    estimator: Any  # for positions, not for coordinates
    data: PyTree  # of which a batch is random rows; None where the estimator needs none
    batch_size: int = eqx.field(static=True)
    around: _Around | None

    def __call__(self, key: RandomKey, position: Position) -> Tangent:
        """The gradient at a position."""
        if self.data is None:
            return jax.grad(self.estimator.value)(position)
        if self.around is None:
            return jax.grad(WholeDensity(self.estimator, self.data, 1.0).value)(position)
        rows = jax.random.randint(key, (self.batch_size,), 0, self.estimator.data_size)
        batch = jax.tree.map(lambda a: a[rows], self.data)
        here, there = (jax.grad(self._of_batch)(x, batch) for x in (position, self.around.position))
        return jax.tree.map(lambda whole, a, b: whole + a - b, self.around.gradient, here, there)

    def _of_batch(self, position: Position, batch: Batch) -> Scalar:
        scale = self.estimator.data_size / self.batch_size
        values = self.estimator.log_likelihoods(position, batch)
        return self.estimator.log_prior_at(position) + scale * jnp.sum(values)


def target_gradient(estimator: Any, source: Source, near: Position) -> TargetGradient | None:
    """The gradient of a run's target.

    Args:
        estimator: Of the run, for positions.
        source: Of the run's batches.
        near: A position in the middle of the draws.

    Returns:
        None where the estimator has no log density, or its data are not in memory.
    """
    if isinstance(estimator, Full):
        return TargetGradient(estimator, None, 0, None)
    if not isinstance(estimator, LikelihoodEstimator) or source.data is None:
        return None
    data = source.data.data if isinstance(source.data, Rows) else source.data
    size = estimator.data_size
    if batch_length(data) != size:
        # Blocks repeat their first rows at the end.
        data = jax.tree.map(lambda a: a[:size], data)
    if source.batching.batch_size is None:
        return TargetGradient(estimator, data, size, None)
    whole = _whole_gradient(WholeDensity(estimator, data, 1.0), near)
    return TargetGradient(estimator, data, source.batching.batch_size, _Around(near, whole))


@eqx.filter_jit
def _whole_gradient(density: WholeDensity, position: Position) -> Tangent:
    return jax.grad(density.value)(position)
