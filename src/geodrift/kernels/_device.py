"""Where documents and rows are drawn: by kernels that are compiled for the CPU, or in JAX on other devices.

This is the one place that decides it. Both forms have the same law; their random numbers differ. A test that
wants the form in JAX on a CPU replaces `in_jax`.
"""

import jax


def in_jax() -> bool:
    """Whether JAX's default device is none of those that the compiled kernels are for."""
    return jax.default_backend() != "cpu"
