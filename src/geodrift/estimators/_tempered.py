"""The gradient of a power of the density."""

from typing import Any

import jax
from jaxtyping import Array, Float

from geodrift._types import Batch, NoiseVariance, Position, RandomKey, Tangent
from geodrift.estimators._base import Estimator
from geodrift.estimators._full import Full
from geodrift.manifolds import Manifold


class Tempered(Estimator):
    """The estimator of ``beta log p``: gradient times beta, noise variance times its square.

    Args:
        estimator: Of ``log p``.
        inverse_temperature: beta.
    """

    estimator: Estimator
    inverse_temperature: Float[Array, ""]

    def init(self, key: RandomKey, position: Position) -> Any:
        """The estimator's."""
        return self.estimator.init(key, position)

    def prepare(self, key: RandomKey, state: Any, position: Position, batch: Batch) -> tuple[Any, Any]:
        """The estimator's."""
        return self.estimator.prepare(key, state, position, batch)

    def gradient(self, position: Position, prepared: Any) -> Tangent:
        """Times beta."""
        return _scaled(self.inverse_temperature, self.estimator.gradient(position, prepared))

    def noise_variance(self, position: Position, prepared: Any) -> NoiseVariance:
        """Times beta squared."""
        return _scaled(self.inverse_temperature**2, self.estimator.noise_variance(position, prepared))

    def on(self, manifold: Manifold) -> "Tempered":
        """The same, on the manifold."""
        return Tempered(self.estimator.on(manifold), self.inverse_temperature)

    def on_all_data(self) -> "Tempered":
        """The same, without noise."""
        return Tempered(self.estimator.on_all_data(), self.inverse_temperature)


def tempered(estimator: Estimator, inverse_temperature: Float[Array, ""]) -> Estimator:
    """`Tempered`, or a `Full` of the power where the estimator is one, which has a value too."""
    if type(estimator) is not Full:
        return Tempered(estimator, inverse_temperature)
    return Full(lambda x: inverse_temperature * estimator.log_density(x))


def _scaled(factor: Float[Array, ""], tree: Any) -> Any:
    return jax.tree.map(lambda leaf: factor.astype(leaf.dtype) * leaf, tree)
