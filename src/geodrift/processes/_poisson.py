"""Poisson draws in JAX as floating-point numbers, whole arrays at a time.

`jax.random.poisson` returns 32-bit integers unless told otherwise, which end at 2^31, and its acceptance test
subtracts numbers of the size of the mean: in float32 the variance is half too large at a mean of 1e8.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey

_INVERSION_BELOW = 10.0


def poisson(key: RandomKey, mean: Float[Array, "..."]) -> Float[Array, "..."]:
    """A Poisson draw for each mean.

    Exact up to rounding for means up to 1e15 in float64 and 1e10 in float32; beyond, the normal law, whose
    error is then below the resolution of the numbers.
    """
    key_inversion, key_rejection, key_normal = jax.random.split(key, 3)
    largest = 1e15 if mean.dtype == jnp.float64 else 1e10
    small, large = mean < _INVERSION_BELOW, mean > largest
    normal = mean + jnp.sqrt(mean) * jax.random.normal(key_normal, mean.shape, mean.dtype)
    middle = ~small & ~large & ~jnp.isnan(mean)
    rejection = _by_rejection(key_rejection, jnp.where(middle, mean, _INVERSION_BELOW), ~middle)
    inversion = _by_inversion(key_inversion, jnp.where(small, mean, 0))
    return jnp.where(small, inversion, jnp.where(middle, rejection, normal))


def _by_inversion(key: RandomKey, mean: Float[Array, "..."]) -> Float[Array, "..."]:
    """Sequential search on P(N > k), which keeps its digits where the mean is small."""
    u = jax.random.uniform(key, mean.shape, mean.dtype)

    def search(state: tuple) -> tuple:
        k, count, probability, above = state
        going = u < above
        probability = jnp.where(going, probability * mean / (k + 1), probability)
        return (
            k + 1,
            jnp.where(going, k + 1, count),
            probability,
            jnp.where(going, above - probability, above),
        )

    start = (jnp.zeros((), mean.dtype), jnp.zeros_like(mean), jnp.exp(-mean), -jnp.expm1(-mean))
    # A mean below 10 gives more than 127 with probability 1e-90; rounding must not search on.
    return jax.lax.while_loop(lambda state: jnp.any(u < state[3]) & (state[0] < 128), search, start)[1]


def _by_rejection(key: RandomKey, mean: Float[Array, "..."], done: Array) -> Float[Array, "..."]:
    """Hörmann's transformed rejection (1993), for means of 10 and more."""
    dtype = mean.dtype
    b = 0.931 + 2.53 * jnp.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)

    def trial(state: tuple) -> tuple:
        i, count, done = state
        key_u, key_v = jax.random.split(jax.random.fold_in(key, i))
        u = jax.random.uniform(key_u, mean.shape, dtype) - 0.5
        v = jax.random.uniform(key_v, mean.shape, dtype)
        shifted = 0.5 - jnp.abs(u)
        k = jnp.floor((2 * a / shifted + b) * u + mean + 0.43)
        log_density = jnp.log(v * inverse_alpha / (a / (shifted * shifted) + b))
        taken = (k >= 0) & (log_density <= _log_probability(jnp.maximum(k, 0), mean))
        return i + 1, jnp.where(done, count, k), done | taken

    return jax.lax.while_loop(lambda s: ~jnp.all(s[2]), trial, (0, jnp.zeros_like(mean), done))[1]


def _log_probability(k: Float[Array, "..."], mean: Float[Array, "..."]) -> Float[Array, "..."]:
    """Log of the Poisson probability of k, from terms of size 1; Loader (2000)."""
    at_least = jnp.maximum(k, 16)
    r = 1 / at_least
    error = r * (1 / 12 - r * r * (1 / 360 - r * r * (1 / 1260 - r * r / 1680)))
    away = at_least - mean
    series = away - at_least * jnp.log1p(away / mean) - error - 0.5 * jnp.log(2 * math.pi * at_least)
    direct = k * jnp.log(mean) - mean - jax.scipy.special.gammaln(k + 1)
    return jnp.where(k < 16, direct, series)
