"""Whether each datum's log likelihood is its own, whatever other rows are in its batch."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from geodrift._types import RandomKey
from geodrift.driver._host_data import HostData
from geodrift.driver._source import Source
from geodrift.driver._start import first_positions, is_state
from geodrift.estimators import Rows
from geodrift.estimators._likelihood import LikelihoodEstimator

MOST_CHANGED = 1e-3  # of the largest value: rounding is far below, and a mean of the batch far above


def check_rows_apart(key: RandomKey, sampler: Any, source: Source, initial: Any) -> None:
    """Raise ValueError where the log likelihoods of rows change with the other rows of their batch.

    The sum over such a batch, scaled to all data, is no estimate of the sum over all, and the law of the
    draws is one that depends on the batch size, which a check by gradients tells as a wrong step, if at all.

    Args:
        key: The run's.
        sampler: Of the run, of positions; estimators that are not of a log likelihood are not looked at.
        source: Of the run's batches; those of iterators and of several devices are not looked at.
        initial: As `geodrift.sample` takes it; a run that goes on from a state was looked at before.
    """
    batching, estimator = source.batching, getattr(sampler, "estimator", None)
    size, all_rows = batching.batch_size, batching.data_size
    data = source.host.arrays if isinstance(source.host, HostData) else source.data
    known = isinstance(estimator, LikelihoodEstimator) and data is not None and batching.placement is None
    if not known or size is None or not 1 < size < all_rows or is_state(initial):
        return
    data = data.data if isinstance(data, Rows) else data
    position = jax.tree.map(lambda x: x[0], first_positions(key, sampler, initial, 1))

    log_likelihoods = jax.jit(lambda position, batch: estimator.log_likelihoods(position, batch))

    def values(rows: Int[np.ndarray, " batch"]) -> Float[np.ndarray, " batch"]:
        batch = jax.tree.map(lambda a: jnp.asarray(a[rows]), data)
        return np.asarray(log_likelihoods(position, batch))

    kept = (size + 1) // 2
    first = np.arange(size)
    others = np.concatenate([first[:kept], all_rows - 1 - np.arange(size - kept)])
    one, two = values(first)[:kept], values(others)[:kept]
    change = np.abs(one - two)
    if not np.isfinite(change).all() or change.max() <= MOST_CHANGED * np.abs(one).max():
        return
    row = int(change.argmax())
    raise ValueError(
        f"log_likelihood: of one and the same datum it returned {one[row]:.6g} and {two[row]:.6g}, by which"
        f" other rows were in its batch of {size}: return of each datum what is its own, and compute what"
        " rows have in common, such as their mean or their scale, once of all data; or leave batch_size out"
    )
