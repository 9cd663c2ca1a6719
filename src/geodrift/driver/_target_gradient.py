"""The gradient of a run's target from batches of its own, to hold the draws against."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import PyTree

from geodrift._types import Position, RandomKey, Tangent
from geodrift.driver._source import Source
from geodrift.estimators import ControlVariate, Full, Minibatch, Rows
from geodrift.estimators._batch_rows import batch_indices, batch_length
from geodrift.estimators._likelihood import LikelihoodEstimator


class TargetGradient(eqx.Module):
    """Unbiased estimates of the gradient of the log density."""

    estimator: Any  # for positions, not for coordinates
    state: Any  # the estimator's
    data: PyTree  # None where the estimator needs none
    batch_size: int | None = eqx.field(static=True)  # None: all data

    def __call__(self, key: RandomKey, position: Position) -> Tangent:
        """The gradient at a position, of random rows of the data."""
        batch = self.data
        if self.batch_size is not None:
            rows = batch_indices(key, self.estimator.data_size, (), self.batch_size, True)
            batch = jax.tree.map(lambda a: a[rows], self.data)
        prepared, _ = self.estimator.prepare(key, self.state, position, batch)
        return self.estimator.gradient(position, prepared)


def target_gradient(key: RandomKey, estimator: Any, source: Source, near: Position) -> TargetGradient | None:
    """The gradient of a run's target; with minibatches, by a control variate, whatever the run's estimator.

    Args:
        key: Random key.
        estimator: Of the run, for positions.
        source: Of the run's batches.
        near: A position in the middle of the draws.

    Returns:
        None where the estimator has no log density, or its data are not in memory.
    """
    if isinstance(estimator, Full):
        return TargetGradient(Full(estimator.log_density), (), None, None)
    if not isinstance(estimator, LikelihoodEstimator) or source.data is None:
        return None
    data = source.data.data if isinstance(source.data, Rows) else source.data
    size, batch_size = estimator.data_size, source.batching.batch_size
    if batch_length(data) != size:
        # Blocks repeat their first rows at the end.
        data = jax.tree.map(lambda a: a[:size], data)
    functions = estimator.log_likelihood, estimator.log_prior
    plain = Minibatch(*functions, size) if batch_size is None else ControlVariate(*functions, data, near)
    return TargetGradient(plain, plain.init(key, near), data, batch_size)
