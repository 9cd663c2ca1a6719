"""Settings of every test."""

import functools
import inspect
import os

import jax
import jaxtyping
import numba
import pytest

from one_compiler import compile_in_one_process

jax.config.update("jax_enable_x64", True)

os.environ["COLUMNS"] = "80"  # one width of text, whatever terminal tests are started from

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
compile_in_one_process()


@pytest.fixture
def unchecked_types():
    """For tests of the library's own errors, which pass wrong types, and for those that take very many steps.

    The checks take five sixths of the time of a small chain on the host. Other tests check the same calls.
    """
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True, scope="module")
def forget_compiled_programs():
    """Frees what a module compiled: the whole suite's programs would take several gigabytes."""
    yield
    jax.clear_caches()


@pytest.fixture
def optimised():
    """For tests whose programs run for longer than it takes to optimise them."""
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", "JAX_DISABLE_MOST_OPTIMIZATIONS" in os.environ)


# Most programs of the tests run for less time than XLA takes to optimise them: with these settings that takes
# a third of the time. XLA ends the process over a flag that it does not know, hence the releases of jax.
FLAGS = {
    "--xla_cpu_use_fusion_emitters=false": range(7, 11),
    "--xla_cpu_parallel_codegen_split_count=1": range(7, 13),
    "--xla_backend_optimization_level=1": range(7, 13),
}


def quick_compilation():
    """The settings of this release of jax; none of one that is not known."""
    major, minor = map(int, jax.__version__.split(".")[:2])
    flags = [flag for flag, minors in FLAGS.items() if major == 0 and minor in minors]
    return {"XLA_FLAGS": " ".join(flags), "JAX_DISABLE_MOST_OPTIMIZATIONS": True} if flags else {}


def compiles_quickly(config):
    """Not the slow tests, whose programs run long: they are compiled as a user's are."""
    return config.option.markexpr != "slow" and "XLA_FLAGS" not in os.environ


def pytest_configure(config):
    """Sets how programs are compiled and where they are kept, also for the processes that tests start."""
    settings = quick_compilation() if compiles_quickly(config) else {}
    if hasattr(config, "cache"):
        # In pytest's cache each process finds what another has compiled, in this run or an earlier one.
        settings = settings | {
            "JAX_COMPILATION_CACHE_DIR": str(config.cache.mkdir("jax")),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": 0.0,
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": -1,
        }
        numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(config.cache.mkdir("numba"))
    # Processes of pytest-xdist are as many as the cores: threads of NumPy's would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name, value in settings.items():
        os.environ[name] = str(value)
        if name.startswith("JAX_"):
            jax.config.update(name.lower(), value)


def pytest_report_header():
    return f"XLA_FLAGS: {os.environ.get('XLA_FLAGS', 'none')}"
