"""The gradient noise of an estimator compared with that of a plain minibatch."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from geodrift._types import Position
from geodrift.estimators._base import Estimator
from geodrift.estimators._batch_rows import batch_length
from geodrift.estimators._full import Full
from geodrift.estimators._likelihood import LikelihoodEstimator, Rows


def noise_ratio(
    estimator: Estimator, state: Any, position: Position, data: PyTree, chunk_size: int = 1024
) -> float:
    r"""Noise variance of an estimator divided by that of a plain minibatch, drawn in the same way.

    .. math:: \frac{\sum_n |a_n - \bar a|^2}{\sum_n |g_n - \bar g|^2}

    with :math:`g_n` the data's gradients at the position and :math:`a_n` the terms that the estimator sums in
    their place (`noisy_terms`): exact, from one pass over the data. It is the ratio of the variances' traces
    over the tangent space, which does not depend on the batch size. 1 for `Minibatch`, 0 for `Full`.

    Args:
        estimator: With a likelihood; ``estimator.on(manifold)`` measures in the tangent space.
        state: The estimator's state of one chain: ``sampler_state.estimator`` or ``estimator.init(...)``.
        position: Where to measure.
        data: All the data, a pytree of arrays with leading axis N; memory-mapped arrays will do.
        chunk_size: Data in one piece of the pass; bounds its memory.

    Raises:
        ValueError: The estimator has no likelihood, the number of data is not the estimator's, or their
            gradients are all alike.
    """
    if isinstance(estimator, Full):
        return 0.0
    if not isinstance(estimator, LikelihoodEstimator):
        raise ValueError(f"estimator = {type(estimator).__name__}: has no log_likelihood to measure against")
    size = batch_length(data)
    if size != estimator.data_size:
        raise ValueError(f"data has {size} rows: the estimator's data_size is {estimator.data_size}")
    noise, plain = _SquaredDeviations(), _SquaredDeviations()
    for start in range(0, size, chunk_size):
        index = np.arange(start, min(start + chunk_size, size))
        rows = jax.tree.map(lambda a, index=index: jnp.asarray(a[index[0] : index[-1] + 1]), data)
        reduced, gradients = _terms(estimator, state, position, rows, jnp.asarray(index))
        noise.add(np.asarray(reduced, float))
        plain.add(np.asarray(gradients, float))
    if plain.total <= 0:
        raise ValueError("data: the gradients of all rows are alike: a plain minibatch has no noise either")
    return noise.total / plain.total


class _SquaredDeviations:
    """The sum of squared distances from the mean, over vectors that come in pieces."""

    def __init__(self) -> None:
        self.shift: Float[np.ndarray, " n"] | None = None
        self.sum: Float[np.ndarray, " n"] | float = 0.0
        self.squares, self.number = 0.0, 0

    def add(self, vectors: Float[np.ndarray, "piece n"]) -> None:
        """Count further vectors."""
        if self.shift is None:
            # Two large sums of squares would lose digits where the vectors share a large mean.
            self.shift = vectors.mean(axis=0)
        centred = vectors - self.shift
        self.sum = self.sum + centred.sum(axis=0)
        self.squares += float(np.sum(centred**2))
        self.number += len(vectors)

    @property
    def total(self) -> float:
        """The sum over all vectors so far."""
        return self.squares - float(np.sum(self.sum**2)) / self.number


@eqx.filter_jit
def _terms(
    estimator: LikelihoodEstimator, state: Any, position: Position, rows: PyTree, index: Int[Array, " batch"]
) -> tuple[Float[Array, "batch n"], Float[Array, "batch n"]]:
    """The estimator's `noisy_terms` and the data's gradients, tangent and flattened to vectors."""
    reduced = estimator.noisy_terms(position, state, Rows(index, rows) if estimator.takes_rows else rows)
    gradients = estimator.per_datum_gradients(position, rows)
    return _tangent(estimator, position, reduced), _tangent(estimator, position, gradients)


def _tangent(estimator: LikelihoodEstimator, position: Position, terms: PyTree) -> Float[Array, "batch n"]:
    tangent = jax.vmap(estimator.manifold.to_tangent, (None, 0))(position, terms)
    return jnp.concatenate([t.reshape(t.shape[0], -1) for t in jax.tree.leaves(tangent)], axis=1)
