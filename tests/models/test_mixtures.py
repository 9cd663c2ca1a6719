"""The law of a document's mixture given the topics: quadrature on the simplex."""

import numba
import numpy as np
import pytest
from scipy.stats import norm

from geodrift.kernels._streams import SAM_MIXTURES
from geodrift.models.spherical_admixture.documents._mixture_kernel import draw_mixtures
from geodrift.models.spherical_admixture.documents._mixture_sampler import MixtureSampler

# Independent chains of one document give a Monte Carlo error that needs no autocorrelation.
NUM_DOCUMENTS = 2000


def draws_of(projection, gram, concentration, prior, *, transitions=100, seed=3):
    size = len(projection)
    start = np.random.default_rng(seed).dirichlet(np.full(size, 10.0), NUM_DOCUMENTS)
    sampler = MixtureSampler(concentration, prior, 10, transitions, 1, SAM_MIXTURES, seed, chain=0)
    draws, _ = sampler.draw(
        start,
        np.full(NUM_DOCUMENTS, 0.04),
        np.tile(projection, (NUM_DOCUMENTS, 1)),
        gram,
        np.arange(NUM_DOCUMENTS),
        step=0,
        adaptation=0.0,
    )
    return draws[:, 0]


def exact_moments(projection, gram, concentration, prior, resolution=400):
    """Mean and variance of each component by the midpoint rule over the simplex."""
    size = len(projection)
    axes = [(np.arange(resolution) + 0.5) / resolution] * (size - 1)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    grid = grid[grid.sum(axis=1) < 1 - 1e-9]
    theta = np.column_stack([grid, 1 - grid.sum(axis=1)])
    cosine = theta @ projection / np.sqrt(np.einsum("nj,jk,nk->n", theta, gram, theta))
    log_density = concentration * cosine + ((prior - 1) * np.log(theta)).sum(axis=1)
    weights = np.exp(log_density - log_density.max())
    mean = weights @ theta / weights.sum()
    return mean, weights @ (theta - mean) ** 2 / weights.sum()


TWO = (np.array([0.8, 0.3]), np.array([[1.0, 0.2], [0.2, 1.0]]))
THREE = (np.array([0.7, 0.5, -0.1]), np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.1], [-0.2, 0.1, 1.0]]))


@pytest.mark.parametrize(
    ("projection", "gram", "concentration", "alpha"),
    [
        pytest.param(*TWO, 8.0, 1.0, marks=pytest.mark.slow),
        pytest.param(*TWO, 40.0, 3.0, marks=pytest.mark.slow),
        (*THREE, 6.0, 1.0),
        pytest.param(*THREE, 30.0, 2.5, marks=pytest.mark.slow),
    ],
    ids=["K=2 flat prior", "K=2", "K=3 flat prior", "K=3"],
)
@pytest.mark.usefixtures("each_form")
def test_moments_against_quadrature(projection, gram, concentration, alpha):
    prior = np.full(len(projection), alpha)
    draws = draws_of(projection, gram, concentration, prior)
    mean, variance = exact_moments(projection, gram, concentration, prior)
    n = NUM_DOCUMENTS
    fourth = ((draws - draws.mean(axis=0)) ** 4).mean(axis=0)
    z_mean = (draws.mean(axis=0) - mean) / np.sqrt(variance / n)
    z_variance = (draws.var(axis=0) - variance) / np.sqrt((fourth - variance**2) / n)
    # 4 cases in 2 forms, up to 6 comparisons each: 1% for all together.
    limit = norm.ppf(1 - 0.01 / 48 / 2)
    assert np.abs(np.concatenate([z_mean, z_variance])).max() < limit, (z_mean, z_variance)


def test_threads_do_not_change_a_bit(monkeypatch):
    def draws(form):
        monkeypatch.setattr(draw_mixtures, "worth_threads", np.inf if form == "in_one_thread" else 0)
        return draws_of(*THREE, 30.0, np.full(3, 2.5), transitions=20)

    one, many = draws("in_one_thread"), draws("in_threads")
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    single = draws("in_threads")
    numba.set_num_threads(before)
    np.testing.assert_array_equal(one, many)
    np.testing.assert_array_equal(single, many)


@pytest.mark.slow
@pytest.mark.usefixtures("in_jax")
def test_documents_together_or_apart_have_the_same_draws_in_jax():
    """Also numbers of 64 bits, as hashes are: all of them count."""
    projection, gram = THREE
    start = np.full((5, 3), 1 / 3)
    documents = np.array([4, 2**32 + 4, 7, -3, 11])

    def drawn(chosen):
        sampler = MixtureSampler(30.0, np.full(3, 2.5), 10, 0, 4, SAM_MIXTURES, 3, chain=0)
        projections, step_sizes = np.tile(projection, (len(chosen), 1)), np.full(len(chosen), 0.03)
        return sampler.draw(start[chosen], step_sizes, projections, gram, documents[chosen], 6, 0.0)[0]

    together, order = drawn(np.arange(5)), np.array([3, 1, 0, 4, 2])
    apart = np.concatenate([drawn(order[:2]), drawn(order[2:])])
    # A product may add up in another order for another number of documents.
    np.testing.assert_allclose(apart, together[order], atol=1e-5)
    assert np.abs(together[0] - together[1]).max() > 1e-2


@pytest.mark.usefixtures("each_form")
@pytest.mark.parametrize("each_form", ["host", pytest.param("jax", marks=pytest.mark.slow)], indirect=True)
def test_adaptation_reaches_the_target_acceptance():
    projection, gram = THREE
    start, step_sizes = np.full((50, 3), 1 / 3), np.full(50, 1e-3)
    accepted = np.empty(50)
    for step, (num_draws, adaptation) in enumerate([(2000, 0.02), (500, 0.0)]):
        sampler = MixtureSampler(500.0, np.full(3, 2.0), 10, 0, num_draws, SAM_MIXTURES, seed=1, chain=0)
        arguments = (np.tile(projection, (50, 1)), gram, np.arange(50))
        _, accepted = sampler.draw(start, step_sizes, *arguments, step, adaptation)
    assert abs(accepted.mean() - 0.8) < 0.03
