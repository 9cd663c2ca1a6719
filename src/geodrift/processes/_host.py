"""The same moves on the CPU, by compiled kernels in float64: NumPy in, NumPy out, outside jit."""

import hashlib

import jax
import numpy as np
from jaxtyping import ArrayLike, Float

from geodrift._types import RandomKey


def host_cox_ingersoll_ross(
    key: RandomKey, log_theta: Float[ArrayLike, "..."], shape: Float[ArrayLike, "..."], step_size: float
) -> Float[np.ndarray, "..."]:
    """`cox_ingersoll_ross` by a compiled kernel in float64.

    The law is that of the JAX form, the draws are not. They depend on the key and on the place of an entry
    in the array alone, not on the number of threads.

    Args:
        key: Random key, from `jax.random.key`.
        log_theta: Logs of the starting points; minus infinity stands for 0.
        shape: a, positive; broadcasts to ``log_theta``. A shape that is not positive and finite gives NaN.
        step_size: h, the time in the equation.

    Returns:
        log theta', with the shape of ``log_theta``. NaN where theta / (e^h - 1) is above 1e304.

    Raises:
        ValueError: ``step_size`` is not positive and finite, or ``shape`` does not broadcast.
    """
    # Imported here: numba takes a second to load.
    from geodrift.kernels._cox_ingersoll_ross import cir_moves

    log_theta, step_size = np.asarray(log_theta, np.float64), _checked_step(step_size)
    shape = _as_vector("shape", shape, log_theta)
    return cir_moves(log_theta.ravel(), shape, step_size, seed_of(key)).reshape(log_theta.shape)


def host_ornstein_uhlenbeck(
    key: RandomKey,
    x: Float[ArrayLike, "..."],
    mean: Float[ArrayLike, "..."],
    scale: Float[ArrayLike, "..."],
    step_size: float,
) -> Float[np.ndarray, "..."]:
    """`ornstein_uhlenbeck` by a compiled kernel in float64.

    Args:
        key: Random key, from `jax.random.key`.
        x: Starting points.
        mean: mu; broadcasts to ``x``.
        scale: sigma, not negative; broadcasts to ``x``.
        step_size: h, the time in the equation.

    Returns:
        x', with the shape of ``x``.

    Raises:
        ValueError: ``step_size`` is not positive and finite, or an argument does not broadcast.
    """
    from geodrift.kernels._cox_ingersoll_ross import normals

    x, step_size = np.asarray(x, np.float64), _checked_step(step_size)
    noise = normals(x.size, seed_of(key)).reshape(x.shape)
    mean, scale = (_as_vector(name, a, x) for name, a in (("mean", mean), ("scale", scale)))
    mean, scale = (a.reshape(x.shape) if a.size > 1 else a[0] for a in (mean, scale))
    return x - np.expm1(-step_size) * (mean - x) + scale * np.sqrt(-np.expm1(-2 * step_size)) * noise


def seed_of(key: RandomKey) -> int:
    """A 64-bit seed for the compiled kernels, hashed from a random key."""
    words = np.ascontiguousarray(jax.random.key_data(key))
    return int.from_bytes(hashlib.blake2b(words.tobytes(), digest_size=8).digest(), "little")


def _as_vector(name: str, value: ArrayLike, like: np.ndarray) -> np.ndarray:
    """``value`` as a vector of one entry, or of as many as ``like`` has."""
    value = np.asarray(value, np.float64)
    if value.size == 1:
        return value.reshape(1)
    try:
        return np.ascontiguousarray(np.broadcast_to(value, like.shape)).ravel()
    except ValueError:
        raise ValueError(f"{name} has shape {value.shape}: must broadcast to {like.shape}") from None


def _checked_step(step_size: float) -> float:
    step_size = float(step_size)
    if not 0 < step_size < np.inf:
        raise ValueError(f"step_size = {step_size}: must be positive and finite")
    return step_size
