"""Settings of every test."""

import jax
import jaxtyping
import pytest

jax.config.update("jax_enable_x64", True)


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
