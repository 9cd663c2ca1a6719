"""Settings of every test."""

import functools
import inspect

import jax
import jaxtyping
import numba
import pytest

jax.config.update("jax_enable_x64", True)

_njit = numba.njit


def _njit_below_wrappers(function=None, **options):
    """`numba.njit` that compiles the function as it is written, without the wrapper that checks types.

    jaxtyping's import hook (`--jaxtyping-packages`) puts a wrapper below every other decorator. Numba cannot
    compile that wrapper, and needs no check: a compiled function has the types of its arguments.
    """
    if function is None:
        return functools.partial(_njit_below_wrappers, **options)
    return _njit(inspect.unwrap(function), **options)


numba.njit = _njit_below_wrappers


@pytest.fixture
def unchecked_types():
    """For tests that pass arguments of wrong types on purpose, to see the library's own errors."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True, scope="module")
def forget_compiled_programs():
    """Frees what a module compiled: the whole suite's programs would take several gigabytes."""
    yield
    jax.clear_caches()


@pytest.fixture(scope="module")
def quick_compilation():
    """For modules whose programs run once: compiling is all they cost, and optimising is a third of that."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
