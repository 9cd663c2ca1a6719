"""The gamma draws of the kernel for GPUs, run step by step on the CPU as it stands."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from geodrift.processes import _gamma_in_pallas
from geodrift.processes._gamma_in_pallas import _threefry, log_gamma_of_gpu
from models.kernels_for_gpus import assert_compiles_to_triton


@pytest.mark.parametrize("shape", [0.01, 0.3, 1.0, 2.5, 1e3, 1e6])
@pytest.mark.usefixtures("optimised")
def test_draws_have_the_law_of_scipy(shape, monkeypatch):
    """So many that draws whose trials are all taken are told apart, which are nearly gammas."""
    monkeypatch.setattr(_gamma_in_pallas, "DRAWS", 2**16)
    shapes = jnp.full(2**19, shape, jnp.float32)
    draws = np.asarray(log_gamma_of_gpu(jax.random.key(1), shapes, interpret=True), np.float64)
    # Of a small shape the draws would underflow, of a large one scipy's law of their logs does.
    found = (
        st.kstest(draws, st.loggamma(shape).cdf)
        if shape < 1
        else st.kstest(np.exp(draws), st.gamma(shape).cdf)
    )
    assert found.pvalue > 1e-4
    if shape < 1e3:  # of larger ones single precision has fewer numbers
        assert len(np.unique(draws)) > 0.9 * len(draws)


def test_shapes_without_a_law_give_nan_and_do_not_hang():
    shapes = jnp.array([0.0, -1.0, jnp.nan, jnp.inf, 2.0], jnp.float32)
    draws = np.asarray(log_gamma_of_gpu(jax.random.key(1), shapes, interpret=True))
    assert np.isnan(draws).tolist() == [True] * 4 + [False]


def test_random_words_are_those_of_threefry():
    key, numbers = jnp.array([3, 2**31 + 5], jnp.uint32), np.array([0, 1, 77, 2**31 - 1], np.int32)
    found = np.concatenate(_threefry((key[0], key[1]), jnp.asarray(numbers), jnp.int32(7)))
    counts = np.concatenate([numbers, np.full(4, 7)]).astype(np.uint32)
    np.testing.assert_array_equal(found, jax.extend.random.threefry_2x32(key, counts))


def test_it_compiles_to_triton():
    draw = lambda shapes: log_gamma_of_gpu(jax.random.key(0), shapes)  # noqa: E731
    assert_compiles_to_triton(draw, jax.ShapeDtypeStruct((3000,), jnp.float32))
