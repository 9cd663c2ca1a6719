"""The gradient of a minibatch, scaled to the data."""

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
    Tangent,
)
from geodrift.estimators._base import Estimator
from geodrift.estimators._noise import (
    Fisher,
    as_noise_variance,
    check_given_variance,
    check_interval,
    fisher_variance,
    initial_variance,
    per_datum_gradients,
    refreshed,
)
from geodrift.manifolds import Euclidean, Manifold, Product


class MinibatchState(NamedTuple):
    """What `Minibatch` keeps between steps."""

    variance: PyTree | None  # last Fisher estimate; None when none is made
    count: Count  # batches seen


class MinibatchPrepared(NamedTuple):
    """What `Minibatch` hands to the inner step."""

    batch: Batch
    variance: NoiseVariance


class Minibatch(Estimator):
    r"""Prior gradient plus N/B times the sum of a batch's likelihood gradients.

    Liu et al. (2016), section 2.

    Args:
        log_likelihood: ``log_likelihood(position, batch) -> [batch]``, one value for each datum.
        log_prior: ``log_prior(position) -> scalar``.
        data_size: N, the number of data that the batches are drawn from.
        noise_variance: The V that samplers subtract from the noise they inject: None (V is ignored); a
            prefix of the position's tree of numbers, arrays that broadcast to the leaf (a variance for each
            entry) or matrices ``[..., n, n]``, for a leaf ``[n, n]`` as ``[1, n, n]``; or
            ``"scalar-fisher"`` or ``"diagonal-fisher"``: estimated from the batch's own gradients. The
            diagonal form is that of the ambient coordinates and only approximate in the normal direction;
            the scalar form has the exact trace over the tangent space.
        refresh_every: Batches between two Fisher estimates. An estimate costs about one more gradient.
        replacement: Whether batches are drawn with replacement; `geodrift.sample` draws them so.

    Raises:
        ValueError: An argument is outside its range.
    """

    log_likelihood: LogLikelihood = eqx.field(static=True)
    log_prior: LogDensity = eqx.field(static=True)
    data_size: int = eqx.field(static=True)
    variance: Fisher | NoiseVariance
    refresh_every: int = eqx.field(static=True)
    replacement: bool = eqx.field(static=True)
    manifold: Manifold

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
        check_interval("data_size", data_size)
        check_interval("refresh_every", refresh_every)
        self.log_likelihood, self.log_prior, self.data_size = log_likelihood, log_prior, data_size
        self.variance = as_noise_variance(noise_variance)
        self.refresh_every, self.replacement = refresh_every, bool(replacement)
        self.manifold = Product(Euclidean()) if manifold is None else manifold

    def init(self, key: RandomKey, position: Position) -> MinibatchState:
        """No batch seen."""
        del key
        check_given_variance(self.variance, position)
        variance = initial_variance(self.variance, position) if isinstance(self.variance, Fisher) else None
        return MinibatchState(variance, jnp.zeros((), jnp.int32))

    def prepare(
        self, key: RandomKey, state: MinibatchState, position: Position, batch: Batch
    ) -> tuple[MinibatchPrepared, MinibatchState]:
        """The batch itself, and a new Fisher estimate when one is due."""
        del key
        variance = self.variance
        if isinstance(variance, Fisher):
            variance = refreshed(
                state.count, self.refresh_every, lambda: self._estimate(position, batch), state.variance
            )
            state = state._replace(variance=variance)
        return MinibatchPrepared(batch, variance), state._replace(count=state.count + 1)

    def gradient(self, position: Position, prepared: MinibatchPrepared) -> Tangent:
        """The scaled gradient of the batch."""
        size = jax.tree.leaves(prepared.batch)[0].shape[0]

        def log_density(p: Position) -> Scalar:
            return self.log_prior(p) + self.data_size / size * jnp.sum(self.log_likelihood(p, prepared.batch))

        return jax.grad(log_density)(position)

    def noise_variance(self, position: Position, prepared: MinibatchPrepared) -> NoiseVariance:
        """The V given or last estimated."""
        del position
        return prepared.variance

    def on(self, manifold: Manifold) -> "Minibatch":
        """The same estimator, with its Fisher estimates in this manifold's tangent spaces."""
        return self._with(manifold, self.variance, self.replacement)

    def on_all_data(self) -> "Minibatch":
        """The same estimator for batches drawn without replacement, without a given V: no noise."""
        # A Fisher estimate without replacement is 0 by itself, and the kept state stays of one form.
        variance = self.variance if isinstance(self.variance, Fisher) else None
        return self._with(self.manifold, variance, replacement=False)

    def _with(self, manifold: Manifold, variance: Fisher | NoiseVariance, replacement: bool) -> "Minibatch":
        return Minibatch(
            self.log_likelihood,
            self.log_prior,
            self.data_size,
            variance,
            self.refresh_every,
            replacement,
            manifold,
        )

    def _estimate(self, position: Position, batch: Batch) -> PyTree:
        gradients = per_datum_gradients(self.log_likelihood, position, batch)
        return fisher_variance(
            self.variance, self.manifold, position, gradients, self.data_size, self.replacement
        )
