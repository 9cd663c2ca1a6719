"""The protocol of an estimator. Its methods are described here, once."""

import abc
from typing import Any

import equinox as eqx

from geodrift._types import Batch, NoiseVariance, Position, RandomKey, Tangent
from geodrift.manifolds import Manifold


class Estimator(eqx.Module):
    """A noisy, unbiased gradient of the log density of the whole data set.

    ``prepare`` is the expensive part and may draw latents, keep state and move it; ``gradient`` and
    ``noise_variance`` are functions of the position alone, called within the step. The kept state may be
    large. An attribute ``count`` of it (a field of a `NamedTuple`, not a key of a dict) that is a whole
    number is shared by all chains, so that a `jax.lax.cond` on it runs one branch under `jax.vmap`.
    """

    @abc.abstractmethod
    def init(self, key: RandomKey, position: Position) -> Any:
        """The kept state before the first step: a pytree of arrays."""

    @abc.abstractmethod
    def prepare(self, key: RandomKey, state: Any, position: Position, batch: Batch) -> tuple[Any, Any]:
        """Whatever the batch needs at this position: ``(prepared, state)``, both pytrees of arrays."""

    @abc.abstractmethod
    def gradient(self, position: Position, prepared: Any) -> Tangent:
        """The estimate, as a derivative in ambient coordinates: not projected."""

    @abc.abstractmethod
    def noise_variance(self, position: Position, prepared: Any) -> NoiseVariance:
        """Covariance of the estimate's noise that the sampler shall subtract; None for nothing."""

    def on(self, manifold: Manifold) -> "Estimator":
        """The same estimator, its noise measured in this manifold's tangent spaces. Samplers call it."""
        del manifold
        return self

    def on_all_data(self) -> "Estimator":
        """The same estimator for batches that are all of the data, which have no noise."""
        return self
