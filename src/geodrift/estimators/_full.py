"""The exact gradient of a log density."""

import equinox as eqx
import jax

from geodrift._types import Batch, LogDensity, Position, RandomKey, Scalar, Tangent
from geodrift.estimators._base import Estimator


class Full(Estimator):
    """The gradient of a log density that needs no minibatch.

    Args:
        log_density: ``log_density(position)``: log of the unnormalised density with respect to the
            manifold's own measure.
    """

    log_density: LogDensity = eqx.field(static=True)

    def init(self, key: RandomKey, position: Position) -> tuple[()]:
        """The empty state."""
        del key, position
        return ()

    def prepare(
        self, key: RandomKey, state: tuple[()], position: Position, batch: Batch
    ) -> tuple[tuple[()], tuple[()]]:
        """Nothing; ``batch`` is ignored."""
        del key, position, batch
        return (), state

    def gradient(self, position: Position, prepared: tuple[()]) -> Tangent:
        """The exact gradient."""
        del prepared
        return jax.grad(self.log_density)(position)

    def value_and_gradient(self, position: Position) -> tuple[Scalar, Tangent]:
        """The log density, and its gradient in ambient coordinates."""
        return jax.value_and_grad(self.log_density)(position)

    def noise_variance(self, position: Position, prepared: tuple[()]) -> None:
        """None: the gradient has no noise."""
        del position, prepared
