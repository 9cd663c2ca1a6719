"""A gradient with noise of a known variance."""

import equinox as eqx
import jax
import jax.numpy as jnp

from geodrift.estimators import Full


class Noisy(Full):
    """The exact gradient plus a fresh N(0, variance) for each batch, stated unless ``states`` is false."""

    variance: jax.Array = 0.0  # a number, or one for each coordinate
    states: bool = eqx.field(static=True, default=True)

    def prepare(self, key, state, position, batch):
        del batch
        return jnp.sqrt(self.variance) * jax.random.normal(key, position.shape, position.dtype), state

    def gradient(self, position, prepared):
        return jax.grad(self.log_density)(position) + prepared

    def noise_variance(self, position, prepared):
        return jnp.asarray(self.variance) if self.states else None
