"""The gradient of a minibatch, scaled to the size of the data set."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from geodrift._types import (
    Batch,
    Count,
    LogDensity,
    LogLikelihood,
    NoiseVariance,
    Position,
    RandomKey,
    Scalar,
    Shared,
    Tangent,
)
from geodrift._whole import whole
from geodrift.estimators._likelihood import LikelihoodEstimator
from geodrift.estimators._noise import (
    Fisher,
    as_noise_variance,
    check_given_variance,
    initial_variance,
    refreshed,
)
from geodrift.manifolds import Euclidean, Manifold, Product


class MinibatchState(NamedTuple):
    """State of `Minibatch`."""

    variance: PyTree | None  # last Fisher estimate; None when none is made
    count: Shared[Count]  # batches seen


class MinibatchPrepared(NamedTuple):
    """What `Minibatch.prepare` returns for the inner step."""

    batch: Batch
    variance: NoiseVariance


class Minibatch(LikelihoodEstimator):
    r"""Prior gradient plus N/B times the sum of a batch's likelihood gradients.

    .. math:: \nabla \log p_0(x) + \frac{N}{B} \sum_b g_b(x)

    with :math:`g_b` the gradient of one datum's log likelihood; Welling & Teh (2011), eq. 4.

    Args:
        log_likelihood: ``log_likelihood(position, batch) -> [batch]``, one value for each datum.
        log_prior: ``log_prior(position) -> scalar``.
        data_size: N, the number of data that the batches are drawn from.
        noise_variance: The V that samplers subtract from the noise they inject: None (V is ignored); a
            prefix of the position's tree of numbers, arrays that broadcast to the leaf (a variance for each
            entry) or matrices ``[..., n, n]``, for a leaf ``[n, n]`` as ``[1, n, n]``; or
            ``"scalar-fisher"`` or ``"diagonal-fisher"``: the empirical Fisher information, estimated from
            the sample variance of the batch's gradients. The scalar form has the right trace over the
            tangent space; the diagonal form is the variance of each ambient coordinate, which on a curved
            manifold is an approximation.
        refresh_every: Batches between two Fisher estimates. An estimate costs about one more gradient.
        replacement: Whether batches are drawn with replacement; `geodrift.sample` draws them so.
        manifold: Where the tangent spaces of a Fisher estimate are; samplers set it with `on`.

    Raises:
        ValueError: An argument is outside its range.
    """

    refresh_every: int = eqx.field(static=True)

    def __init__(
        self,
        log_likelihood: LogLikelihood,
        log_prior: LogDensity,
        data_size: int,
        noise_variance: str | Fisher | NoiseVariance = None,
        refresh_every: int = 1,
        replacement: bool = True,
        manifold: Manifold | None = None,
    ) -> None:
        self.log_likelihood, self.log_prior = log_likelihood, log_prior
        self.data_size = whole("data_size", data_size)
        self.variance = as_noise_variance(noise_variance)
        self.refresh_every = whole("refresh_every", refresh_every)
        self.replacement = bool(replacement)
        self.manifold = Product(Euclidean()) if manifold is None else manifold

    def init(self, key: RandomKey, position: Position) -> MinibatchState:
        """The state before the first batch."""
        del key
        check_given_variance(self.variance, position, self.manifold)
        variance = initial_variance(self.variance, position) if isinstance(self.variance, Fisher) else None
        return MinibatchState(variance, jnp.zeros((), jnp.int32))

    def prepare(
        self, key: RandomKey, state: MinibatchState, position: Position, batch: Batch
    ) -> tuple[MinibatchPrepared, MinibatchState]:
        """The batch itself, and V: a new Fisher estimate if one is due."""
        del key
        variance = self.variance
        if isinstance(variance, Fisher):
            variance = refreshed(
                state.count,
                self.refresh_every,
                lambda: self._fisher(position, self.noisy_terms(position, state, batch)),
                state.variance,
            )
            state = state._replace(variance=variance)
        return MinibatchPrepared(batch, variance), state._replace(count=state.count + 1)

    def gradient(self, position: Position, prepared: MinibatchPrepared) -> Tangent:
        """The prior's gradient plus the scaled gradient of the batch."""

        def log_density(p: Position) -> Scalar:
            values = self.log_likelihoods(p, prepared.batch)
            return self.log_prior_at(p) + self.data_size / values.shape[0] * jnp.sum(values)

        return jax.grad(log_density)(position)

    def noisy_terms(self, position: Position, state: MinibatchState, batch: Batch) -> PyTree:
        """Each datum's gradient: leaves ``[batch, *leaf]``."""
        del state
        return self.per_datum_gradients(position, batch)
