"""The law of a document's mixture given the topics: quadrature on the simplex."""

import numba
import numpy as np
import pytest
from scipy.stats import norm

from geodrift.kernels._streams import Family
from geodrift.models.spherical_admixture.documents._mixture_kernel import _forms, draw_mixtures

# Independent chains of one document give a Monte Carlo error that needs no autocorrelation.
NUM_DOCUMENTS = 400


def draws_of(
    affinity, gram, concentration, prior, *, step=0.08, transitions=300, seed=3, kernel=draw_mixtures
):
    size = len(affinity)
    rng = np.random.default_rng(seed)
    start = rng.dirichlet(np.ones(size), NUM_DOCUMENTS)
    draws = np.empty((NUM_DOCUMENTS, 1, size))
    kernel(
        *(start, np.tile(affinity, (NUM_DOCUMENTS, 1)), gram, concentration, prior),
        *(np.full(NUM_DOCUMENTS, step), 10, transitions, 1, 0.0),
        *(Family(seed, 0, 0), np.arange(NUM_DOCUMENTS), draws),
    )
    return draws[:, 0]


def compiled(form):
    """A compiled form of the kernel, called with the arguments of `draw_mixtures`."""
    return lambda *arguments: form(*(a.word if isinstance(a, Family) else a for a in arguments))


def exact_moments(affinity, gram, concentration, prior, resolution=400):
    """Mean and variance of each component by the midpoint rule over the simplex."""
    size = len(affinity)
    axes = [(np.arange(resolution) + 0.5) / resolution] * (size - 1)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    grid = grid[grid.sum(axis=1) < 1 - 1e-9]
    theta = np.column_stack([grid, 1 - grid.sum(axis=1)])
    cosine = theta @ affinity / np.sqrt(np.einsum("nj,jk,nk->n", theta, gram, theta))
    log_density = concentration * cosine + ((prior - 1) * np.log(theta)).sum(axis=1)
    weights = np.exp(log_density - log_density.max())
    mean = weights @ theta / weights.sum()
    return mean, weights @ (theta - mean) ** 2 / weights.sum()


TWO = (np.array([0.8, 0.3]), np.array([[1.0, 0.2], [0.2, 1.0]]))
THREE = (np.array([0.7, 0.5, -0.1]), np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.1], [-0.2, 0.1, 1.0]]))


@pytest.mark.parametrize(
    ("affinity", "gram", "concentration", "alpha"),
    [(*TWO, 8.0, 1.0), (*TWO, 40.0, 3.0), (*THREE, 6.0, 1.0), (*THREE, 30.0, 2.5)],
    ids=["K=2 flat prior", "K=2", "K=3 flat prior", "K=3"],
)
def test_moments_against_quadrature(affinity, gram, concentration, alpha):
    prior = np.full(len(affinity), alpha)
    draws = draws_of(affinity, gram, concentration, prior)
    mean, variance = exact_moments(affinity, gram, concentration, prior)
    n = NUM_DOCUMENTS
    fourth = ((draws - draws.mean(axis=0)) ** 4).mean(axis=0)
    z_mean = (draws.mean(axis=0) - mean) / np.sqrt(variance / n)
    z_variance = (draws.var(axis=0) - variance) / np.sqrt((fourth - variance**2) / n)
    # 4 cases, up to 6 comparisons each: 1% for all together.
    limit = norm.ppf(1 - 0.01 / 24 / 2)
    assert np.abs(np.concatenate([z_mean, z_variance])).max() < limit, (z_mean, z_variance)


def test_threads_do_not_change_a_bit():
    prior = np.full(3, 2.5)
    one = draws_of(*THREE, 30.0, prior, kernel=compiled(_forms.in_one_thread), transitions=20)
    many = draws_of(*THREE, 30.0, prior, kernel=compiled(_forms.in_threads), transitions=20)
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    single = draws_of(*THREE, 30.0, prior, kernel=compiled(_forms.in_threads), transitions=20)
    numba.set_num_threads(before)
    np.testing.assert_array_equal(one, many)
    np.testing.assert_array_equal(single, many)


def test_adaptation_reaches_the_target_acceptance():
    affinity, gram = THREE
    start = np.full((50, 3), 1 / 3)
    step_sizes = np.full(50, 1e-3)
    arguments = (np.tile(affinity, (50, 1)), gram, 500.0, np.full(3, 2.0), step_sizes, 10)
    draw_mixtures(start, *arguments, 0, 2000, 0.02, Family(1, 0, 0), np.arange(50), np.empty((50, 2000, 3)))
    accepted = draw_mixtures(
        start, *arguments, 0, 500, 0.0, Family(1, 0, 1), np.arange(50), np.empty((50, 500, 3))
    )
    assert abs(accepted.mean() - 0.8) < 0.03
