"""Where documents and rows are drawn: by kernels that are compiled for the CPU, or in JAX on other devices.

This is the one place that decides it. Both forms have the same law; their random numbers differ. A test that
wants the form in JAX on a CPU replaces `in_jax`.
"""

import warnings
from functools import cache
from importlib.util import find_spec

import jax


def in_jax() -> bool:
    """Whether JAX's default device is none of those that the compiled kernels are for."""
    return jax.default_backend() != "cpu"


def in_triton() -> bool:
    """Whether JAX's default device is a GPU, and this JAX compiles kernels for it by way of Triton.

    Jax 0.11 says that a later release will not. The same is then drawn by programs of XLA, more slowly, and a
    warning says so.
    """
    return jax.default_backend() in ("gpu", "cuda", "rocm") and _has_triton()


@cache
def _has_triton() -> bool:
    if find_spec("jax.experimental.pallas") and find_spec("jax.experimental.pallas.triton"):
        return True
    warnings.warn(
        f"jax {jax.__version__} compiles no kernels by way of Triton: on this GPU documents are drawn by"
        " programs of XLA, many times more slowly; install a release of jax that does, such as 0.11",
        stacklevel=2,
    )
    return False
