"""The law of a document's mixture given the topics where alpha is below 1."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import beta, norm

from geodrift.distributions import host_log_normaliser
from geodrift.models.kit._facade import MatrixCorpus
from geodrift.models.spherical_admixture import Chain, Settings
from geodrift.models.spherical_admixture.documents._mixtures import mixture_draws
from geodrift.models.spherical_admixture.documents._share_kernel import draw_mixtures_by_shares
from geodrift.models.spherical_admixture.evaluation._annealing import annealed_log_perplexity
from geodrift.models.spherical_admixture.sampler._stochastic_move import StochasticMove
from models.sam_problem import SETTINGS
from models.test_mixtures import NUM_DOCUMENTS, THREE, draws_of

PROJECTION, GRAM = THREE


def told(theta):
    """What the laws are compared by: weights, their squares, and which are next to nothing."""
    return np.concatenate([theta, theta**2, theta < 1e-2, theta < 1e-6], axis=1)


def exact(concentration, prior, resolution=800):
    """Means of `told` by the midpoint rule over two uniform numbers, of which the prior is made."""
    at = (np.arange(resolution) + 0.5) / resolution
    first, share = beta.ppf(at, prior[0], prior[1] + prior[2]), beta.ppf(at, prior[1], prior[2])
    rest = beta.ppf(1 - at, prior[1] + prior[2], prior[0])
    other = beta.ppf(1 - at, prior[2], prior[1])
    theta = np.stack(np.broadcast_arrays(first[:, None], np.outer(rest, share), np.outer(rest, other)), -1)
    theta = theta.reshape(-1, 3)
    cosine = theta @ PROJECTION / np.sqrt(np.einsum("nj,jk,nk->n", theta, GRAM, theta))
    weights = np.exp(concentration * (cosine - cosine.max()))
    return weights @ told(theta) / weights.sum()


@pytest.mark.parametrize("concentration", [6.0, 60.0])
@pytest.mark.parametrize(
    "prior", [[0.05, 0.05, 0.05], [0.4, 0.4, 0.4], [0.3, 2.0, 0.7]], ids=["0.05", "0.4", "one above 1"]
)
def test_moments_and_tails_against_quadrature(concentration, prior):
    prior = np.array(prior)
    draws = told(draws_of(*THREE, concentration, prior, transitions=30))
    expected = exact(concentration, prior)
    errors = np.maximum(draws.std(axis=0), 1 / NUM_DOCUMENTS) / np.sqrt(NUM_DOCUMENTS)
    # 12 comparisons in each of 6 cases: 1% for all together; the midpoint rule is right to 5e-4.
    off = np.maximum(np.abs(draws.mean(axis=0) - expected) - 5e-4, 0)
    assert (off / errors).max() < norm.ppf(1 - 0.01 / 72 / 2), (off / errors).round(1)


def test_threads_do_not_change_a_bit(monkeypatch):
    def draws(form):
        monkeypatch.setattr(draw_mixtures_by_shares, "worth_threads", np.inf if form == "one" else 0)
        return draws_of(*THREE, 30.0, np.full(3, 0.2), transitions=3)

    np.testing.assert_array_equal(draws("one"), draws("many"))


@pytest.mark.usefixtures("in_jax")
def test_a_device_has_them_drawn_on_the_host():
    rows = sp.csr_matrix(np.eye(8)[:, :5] + 0.3)
    settings = Settings(**SETTINGS | {"doc_topic_prior": 0.1})
    assert type(Chain(MatrixCorpus(rows), settings, seed=0).move) is StochasticMove


def test_new_documents_are_weighed_as_they_should_be():
    """Topics are known; the draws are compared with weighted draws of the prior."""
    rng, kappa, alpha = np.random.default_rng(0), 60.0, 0.1
    topics = np.abs(rng.standard_normal((3, 10)))
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    means = rng.dirichlet(np.full(3, alpha), 100) @ topics
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    rows = means + rng.standard_normal((100, 10)) / np.sqrt(kappa)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    settings = Settings(n_topics=3, weighting="none", document_concentration=kappa, doc_topic_prior=alpha)
    draws = mixture_draws(sp.csr_matrix(rows), np.repeat(topics[None], 20, 0).astype(np.float32), settings)
    prior = rng.dirichlet(np.full(3, alpha), 100_000)
    directions = prior @ topics
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    weights = np.exp(kappa * (rows @ directions.T - 1))
    expected = weights @ prior / weights.sum(axis=1, keepdims=True)
    # 200 draws of each document and 100,000 of the prior: standard deviations of some .02 and .005.
    assert np.sqrt(((draws.mean(axis=1) - expected) ** 2).mean()) < 0.02
    annealed = -annealed_log_perplexity(sp.csr_matrix(rows), topics, kappa, alpha, num_replicates=20)
    off = annealed - np.log(weights.mean(axis=1)) - kappa - host_log_normaliser(10, kappa)
    assert abs(off.mean()) < 0.03
    assert off.std() < 0.15
