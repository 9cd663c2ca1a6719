"""Where the arithmetic of documents is done: by compiled host code on CPUs, in JAX on other devices."""

import jax


def in_jax() -> bool:
    """Whether JAX's device is no CPU. Both forms have the same law; their random numbers differ."""
    return jax.default_backend() != "cpu"
