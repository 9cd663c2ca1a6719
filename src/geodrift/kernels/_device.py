"""Where documents and rows are drawn: by kernels that are compiled for the CPU, or in JAX on other devices.

This is the one place that decides it. Both forms have the same law; their random numbers differ. A test that
wants the form in JAX on a CPU replaces `in_jax`.
"""

import re
import warnings
from functools import cache
from importlib.util import find_spec

import jax

LEAST_CAPABILITY = 8  # of NVIDIA's GPUs: what Triton takes


def in_jax() -> bool:
    """Whether JAX's default device is none of those that the compiled kernels are for."""
    return jax.default_backend() != "cpu"


def in_triton() -> bool:
    """Whether JAX's default device is a GPU, and this JAX compiles kernels for it by way of Triton.

    That is done for NVIDIA's from compute capability 8.0 on (A100, L4, H100, RTX 30 and later); on others the
    kernels have never run. Jax 0.11 says that a later release will not do it. Elsewhere XLA's programs draw
    the same, more slowly, and a warning says so.
    """
    return jax.default_backend() in ("gpu", "cuda", "rocm") and _takes_kernels(jax.local_devices()[0])


@cache
def _takes_kernels(device: jax.Device) -> bool:
    # Of AMD's it is the name of a chip.
    capability = re.fullmatch(r"(\d+)\.\d+", str(getattr(device, "compute_capability", "")))
    known = capability is not None and int(capability[1]) >= LEAST_CAPABILITY
    if known and find_spec("jax.experimental.pallas") and find_spec("jax.experimental.pallas.triton"):
        return True
    warnings.warn(
        f"on {device.device_kind!r} with jax {jax.__version__} documents are drawn by programs of XLA, many"
        " times more slowly than by kernels, which take an NVIDIA GPU of compute capability 8.0 or higher"
        " and a jax that has Triton, such as 0.11",
        stacklevel=2,
    )
    return False
