"""Exact moves of diffusions in JAX: nothing is discretised, so any step size has the right law."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey
from geodrift.processes._gamma import log_gamma
from geodrift.processes._poisson import poisson


def cox_ingersoll_ross(
    key: RandomKey,
    log_theta: Float[Array, "..."],
    shape: Float[Array, "..."] | float,
    step_size: Float[Array, "..."] | float,
) -> Float[Array, "..."]:
    r"""A Cox-Ingersoll-Ross process over a time h, by its exact transition, in logs.

    .. math:: d\theta = (a - \theta)\,dt + \sqrt{2\theta}\,dW

    Stationary law Gamma(a, 1). Baker et al. (2018), eqs. 2.1 and 2.2; the non-central chi-square drawn as

    .. math:: N \sim \mathrm{Poisson}(\theta / (e^h - 1)), \quad
              \theta' \sim (1 - e^{-h})\,\mathrm{Gamma}(a + N, 1)

    In float64 right for shapes from 1e-4 to 1e15. In float32 the sums of logs are resolved to 6e-8 of their
    size, so that theta has a relative error of about 1e-7 (1 + |log theta| + |log h|); that is below the
    law's own spread, sqrt(2h / theta), as long as theta / h is less than about 1e11. Counts of a probability
    below 1e-7 are lost or doubled.

    Args:
        key: Random key.
        log_theta: Logs of the starting points; minus infinity stands for 0, from where the process leaves.
        shape: a, positive; broadcasts to ``log_theta``. A shape that is not positive and finite gives NaN.
        step_size: h, the time in the equation, positive; broadcasts to ``log_theta``.

    Returns:
        log theta', with the shape and dtype of ``log_theta``.
    """
    dtype = log_theta.dtype
    step_size = jnp.asarray(step_size, dtype)
    shape = jnp.broadcast_to(jnp.asarray(shape, dtype), log_theta.shape)
    key_count, key_gamma = jax.random.split(key)
    # expm1, not exp: in float32 1 - exp(-h) is 5% off at h = 1e-6 and 0 at h = 1e-8.
    count = poisson(key_count, jnp.exp(log_theta - jnp.log(jnp.expm1(step_size))))
    total = jnp.where(shape > 0, shape + count, jnp.nan)
    return jnp.log(-jnp.expm1(-step_size)) + log_gamma(key_gamma, total)


def ornstein_uhlenbeck(
    key: RandomKey,
    x: Float[Array, "..."],
    mean: Float[Array, "..."] | float,
    scale: Float[Array, "..."] | float,
    step_size: Float[Array, "..."] | float,
) -> Float[Array, "..."]:
    r"""An Ornstein-Uhlenbeck process over a time h, by its exact transition.

    .. math:: dx = (\mu - x)\,dt + \sqrt{2}\,\sigma\,dW, \quad
              x' = \mu + (x - \mu)\,e^{-h} + \sigma\sqrt{1 - e^{-2h}}\,\xi

    Stationary law N(mu, sigma^2). ``exp(x)`` is the process for log-normal targets; the geometric Brownian
    motion that Baker et al. (2018), section 2.3, name has no stationary law.

    Args:
        key: Random key.
        x: Starting points.
        mean: mu; broadcasts to ``x``.
        scale: sigma, not negative; broadcasts to ``x``.
        step_size: h, the time in the equation, positive; broadcasts to ``x``.

    Returns:
        x', with the shape and dtype of ``x``.
    """
    step_size = jnp.asarray(step_size, x.dtype)
    noise = jnp.asarray(scale, x.dtype) * jax.random.normal(key, x.shape, x.dtype)
    pull = -jnp.expm1(-step_size)
    return x + pull * (jnp.asarray(mean, x.dtype) - x) + jnp.sqrt(-jnp.expm1(-2 * step_size)) * noise


def log_simplex(log_theta: Float[Array, "... d"]) -> Float[Array, "... d"]:
    """Log of ``omega = theta / sum theta`` over the last axis: Dirichlet where the thetas are Gamma.

    In logs throughout: components of omega far below the smallest number keep their digits.

    Args:
        log_theta: Logs, last axis the components; at least one of them above minus infinity.

    Returns:
        log omega. Its exponential is omega.
    """
    return log_theta - jax.nn.logsumexp(log_theta, axis=-1, keepdims=True)
