"""Logs of Gamma draws in JAX, whole arrays at a time.

`jax.random.loggamma` splits a key for every entry and every trial, which on a CPU takes ten times as long,
and its acceptance test subtracts numbers of the size of the shape, which in float32 fails beyond 1e5.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey


def log_gamma(key: RandomKey, shape: Float[Array, "..."]) -> Float[Array, "..."]:
    """Log of a Gamma draw of rate 1 for each shape; Marsaglia and Tsang (2000).

    A shape s below 1 is drawn as ``log Gamma(s + 1) + log(U) / s``, so that nothing underflows.
    """
    key_trials, key_boost = jax.random.split(key)
    dtype, below_one = shape.dtype, shape < 1
    d = jnp.where(below_one, shape + 1, shape) - 1 / 3
    c = 1 / jnp.sqrt(9 * d)

    def trial(state: tuple) -> tuple:
        i, log_draw, done = state
        key_normal, key_uniform = jax.random.split(jax.random.fold_in(key_trials, i))
        x = jax.random.normal(key_normal, shape.shape, dtype)
        u = jax.random.uniform(key_uniform, shape.shape, dtype)
        y = jnp.maximum(c * x, -0.999999)
        log_y = jnp.log1p(y)
        # d (1 - v + log v) for v = (1 + y)^3, from terms of size 1.
        bend = d * (3 * (log_y - y) - y * y * (3 + y))
        taken = (c * x > -1) & (jnp.log(u) < 0.5 * x * x + bend)
        return i + 1, jnp.where(done, log_draw, jnp.log(d) + 3 * log_y), done | taken

    # A shape that is not positive and finite has no draw: NaN, and no endless loop.
    wrong = ~((shape > 0) & jnp.isfinite(shape))
    start = (0, jnp.zeros_like(shape), wrong)
    log_draw = jax.lax.while_loop(lambda state: ~jnp.all(state[2]), trial, start)[1]
    boost = jax.random.exponential(key_boost, shape.shape, dtype) / shape
    return jnp.where(wrong, jnp.nan, jnp.where(below_one, log_draw - boost, log_draw))
