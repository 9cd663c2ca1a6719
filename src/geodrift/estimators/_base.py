"""The protocol of an estimator. Its methods are described here, once."""

import abc
from typing import Any

import equinox as eqx

from geodrift._types import Batch, NoiseVariance, Position, RandomKey, Tangent
from geodrift.estimators._affine import Affine
from geodrift.estimators._leaf_scales import LeafScales
from geodrift.manifolds import Manifold


class Estimator(eqx.Module):
    """A noisy, unbiased gradient of the log density of the whole data set.

    A sampler calls ``prepare`` once for each minibatch: it does the expensive work, may draw latent variables
    and updates the estimator's state. ``gradient`` and ``noise_variance`` are then evaluated at any position
    from what ``prepare`` returned. The state may be large. An attribute ``count`` of the state (a field of a
    `NamedTuple`, not a key of a dict) that is a whole number is shared by all chains, so that a
    `jax.lax.cond` on it runs one branch under `jax.vmap`.
    """

    @abc.abstractmethod
    def init(self, key: RandomKey, position: Position) -> Any:
        """The estimator's state before the first step: a pytree of arrays."""

    @abc.abstractmethod
    def prepare(self, key: RandomKey, state: Any, position: Position, batch: Batch) -> tuple[Any, Any]:
        """The work done once for a minibatch.

        Args:
            key: Random key.
            state: From `init` or the last call.
            position: Where the chain is.
            batch: The minibatch, a pytree of arrays with leading axis ``[batch]``; None without data.

        Returns:
            ``(prepared, state)``, both pytrees of arrays: the argument of `gradient` and `noise_variance`,
            and the new state.
        """

    @abc.abstractmethod
    def gradient(self, position: Position, prepared: Any) -> Tangent:
        """The estimated derivative of the log density in ambient coordinates: not projected."""

    @abc.abstractmethod
    def noise_variance(self, position: Position, prepared: Any) -> NoiseVariance:
        """Covariance of the gradient's noise, which samplers subtract from what they inject; or None."""

    def on(self, manifold: Manifold) -> "Estimator":
        """The same estimator, its noise measured in this manifold's tangent spaces; samplers call it."""
        del manifold
        return self

    def in_coordinates(self, affine: Affine | LeafScales) -> "Estimator":
        """The same target for coordinates of R^n: what it is given as positions are then coordinates.

        Raises:
            ValueError: It cannot.
        """
        del affine
        raise ValueError(
            f"step_size = None: {type(self).__name__} has no affine coordinates; give a step size"
        )

    def on_all_data(self) -> "Estimator":
        """The same estimator for batches that are the whole data set, whose gradients have no noise."""
        return self
