"""Whether a function's kernels compile to Triton's language, on a machine without a GPU."""

import jax
import pytest


def assert_compiles_to_triton(function, *arguments):
    """Compile for NVIDIA's GPUs up to the part that needs one.

    Args:
        function: With `pallas_call`s.
        arguments: Arrays, or their shapes and types.
    """
    traced = jax.jit(function).trace(*arguments)
    try:
        text = traced.lower(lowering_platforms=("cuda",)).as_text()
    except RuntimeError as error:
        if "No supported GPU devices" not in str(error):
            raise
        pytest.skip("this release of JAX compiles kernels only beside a GPU")
    assert "triton" in text
