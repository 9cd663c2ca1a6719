"""Settings of every test."""

import jax
import pytest

jax.config.update("jax_enable_x64", True)


@pytest.fixture(autouse=True, scope="module")
def forget_compiled_programs():
    """Frees what a module compiled: the whole suite's programs would take several gigabytes."""
    yield
    jax.clear_caches()
