"""What the page on adding a sampler builds takes every estimator, and has the law of its step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from cases import KEY
from docs.pages import blocks_of, run_page
from law_checks import assert_means

PAGE = "developer/adding-a-sampler.md"
SIZE, BATCH, STEP = 200, 20, 5e-4
DATA = jax.random.normal(jax.random.key(1), (SIZE,))


def log_likelihood(x, batch):
    return -0.5 * (batch - x) ** 2


def no_prior(x):
    return 0.0 * x


@pytest.mark.filterwarnings("ignore::geodrift.RunWarning")  # the step's bias is what is looked at
@pytest.mark.parametrize("controlled", [False, True])
def test_the_sampler_of_the_page_takes_minibatches(controlled):
    sampler_type = run_page(PAGE, blocks_of(PAGE)[:1])[0]["Langevin"]
    if controlled:  # of a normal likelihood it leaves no noise
        estimator = gd.estimators.ControlVariate(log_likelihood, no_prior, DATA, centre=jnp.zeros(()))
        noise = 0.0
    else:
        estimator = gd.estimators.Minibatch(log_likelihood, no_prior, SIZE)
        noise = SIZE**2 * float(DATA.var()) / BATCH
    sampler = sampler_type(estimator, gd.manifolds.Euclidean(), STEP)
    run = {"batch_size": BATCH, "num_draws": 40, "thin": 10, "num_warmup": 20, "num_chains": 100}
    draws = gd.sample(KEY, sampler, DATA, initial=DATA.mean(), **run).position
    # x' = (1 - N h) x + sqrt(2h) n + h sqrt(V) m, about the mean of the data.
    variance = (2 * STEP + STEP**2 * noise) / (1 - (1 - SIZE * STEP) ** 2)
    z = (np.asarray(draws) - float(DATA.mean())) / np.sqrt(variance)
    assert_means(np.stack([z, z**2], axis=-1), np.array([0.0, 1.0]))
