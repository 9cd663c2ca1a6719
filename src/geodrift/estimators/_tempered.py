"""The gradient of a tempered density, ``p^beta``."""

from typing import Any

import jax
from jaxtyping import Array, Float

from geodrift._types import Batch, NoiseVariance, Position, RandomKey, Tangent
from geodrift.estimators._base import Estimator
from geodrift.estimators._full import Full
from geodrift.manifolds import Manifold


class Tempered(Estimator):
    """An estimator for ``beta log p``: another's gradient times beta, its noise variance times beta squared.

    Args:
        estimator: The estimator for ``log p``.
        inverse_temperature: beta.
    """

    estimator: Estimator
    inverse_temperature: Float[Array, ""]

    def init(self, key: RandomKey, position: Position) -> Any:
        """The state of the estimator for ``log p``."""
        return self.estimator.init(key, position)

    def prepare(self, key: RandomKey, state: Any, position: Position, batch: Batch) -> tuple[Any, Any]:
        """What the estimator for ``log p`` prepares, and its new state."""
        return self.estimator.prepare(key, state, position, batch)

    def gradient(self, position: Position, prepared: Any) -> Tangent:
        """The gradient of ``beta log p``."""
        return _scaled(self.inverse_temperature, self.estimator.gradient(position, prepared))

    def noise_variance(self, position: Position, prepared: Any) -> NoiseVariance:
        """Covariance of that gradient's noise."""
        return _scaled(self.inverse_temperature**2, self.estimator.noise_variance(position, prepared))

    def on(self, manifold: Manifold) -> "Tempered":
        """The same estimator, its noise measured in this manifold's tangent spaces."""
        return Tempered(self.estimator.on(manifold), self.inverse_temperature)

    def on_all_data(self) -> "Tempered":
        """The same estimator for batches that are the whole data set, whose gradients have no noise."""
        return Tempered(self.estimator.on_all_data(), self.inverse_temperature)


def tempered(estimator: Estimator, inverse_temperature: Float[Array, ""]) -> Estimator:
    """`Tempered`; for a `Full` estimator another `Full`, which has the tempered log density too."""
    if type(estimator) is not Full:
        return Tempered(estimator, inverse_temperature)
    return Full(lambda x: inverse_temperature * estimator.value(x))


def _scaled(factor: Float[Array, ""], tree: Any) -> Any:
    return jax.tree.map(lambda leaf: factor.astype(leaf.dtype) * leaf, tree)
