"""Weighting, alignment, intervals and the held-out score."""

import importlib.util
import pathlib

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

from geodrift.distributions import host_log_normaliser
from geodrift.models.kit._facade import MatrixCorpus
from geodrift.models.spherical_admixture import (
    align,
    annealed_log_perplexity,
    log_perplexity,
    summarise_topics,
    weight_rows,
)
from geodrift.models.spherical_admixture.documents._document_states import sizes_and_spread
from geodrift.models.spherical_admixture.documents._documents import DocumentSource
from geodrift.models.spherical_admixture.documents._first_topics import first_topics
from law_checks import assert_means

SCORER = pathlib.Path(__file__).parents[2].parent / "shared" / "eval" / "sam_logperp.py"


def scattered(num_draws=30, num_topics=4, num_words=25, seed=0):
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(num_topics, num_words))
    draws = centre + 0.1 * rng.normal(size=(num_draws, num_topics, num_words))
    return draws / np.linalg.norm(draws, axis=2, keepdims=True)


def test_alignment_undoes_any_permutation():
    draws = scattered()
    rng = np.random.default_rng(1)
    shuffled = np.array([draw[rng.permutation(4)] for draw in draws])
    shuffled[-1] = draws[-1]
    np.testing.assert_array_equal(align(shuffled), draws)


def test_summary_against_counting():
    draws = scattered(num_draws=200)
    vocabulary = [f"w{i}" for i in range(25)]
    topic = summarise_topics(draws, vocabulary, top=3)[2]
    mean = draws[:, 2].mean(axis=0)
    assert [w["word"] for w in topic["words"]] == [f"w{i}" for i in np.argsort(-mean)[:3]]
    assert [w["word"] for w in topic["negative_words"]] == [f"w{i}" for i in np.argsort(mean)[:3]]
    tenth = int(np.argsort(-mean)[9])
    word = summarise_topics(draws, vocabulary, top=10)[2]["words"][9]
    ranks = (-draws[:, 2]).argsort(axis=1).argsort(axis=1)[:, tenth]
    assert word["word"] == f"w{tenth}"
    assert 0 < word["p_top10"] < 1
    np.testing.assert_allclose(word["p_top10"], (ranks < 10).mean())
    np.testing.assert_allclose(
        [word["low"], word["high"]], np.quantile(draws[:, 2, tenth], [0.05, 0.95], method="weibull")
    )


def test_weighting_by_hand():
    counts = sp.csr_matrix(np.array([[2, 1, 0], [0, 1, 3], [0, 0, 0], [4, 0, 0]]))
    frequencies = np.array([2, 2, 1])
    dense = weight_rows(counts, "tfidf", frequencies, 4).toarray()
    expected = np.array([[2, 1, 0], [0, 1, 3], [0, 0, 0], [4, 0, 0]]) * np.log(4 / (1 + frequencies))
    norms = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(
        dense, np.divide(expected, norms, out=np.zeros_like(expected), where=norms > 0)
    )
    np.testing.assert_allclose(
        weight_rows(counts, "tf", frequencies, 4).toarray()[0], np.array([2, 1, 0]) / np.sqrt(5)
    )


def test_a_word_that_stands_twice_in_a_row_is_one_word():
    twice = sp.csr_matrix((np.ones(3), np.array([1, 0, 0]), np.array([0, 3])), shape=(1, 3))
    rows = weight_rows(twice, "tf", None, 1)
    np.testing.assert_allclose(rows.toarray(), np.array([[2, 1, 0]]) / np.sqrt(5))
    assert twice.nnz == 3  # it is the caller's


def test_log_perplexity_of_two_topics_against_quadrature():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(5, 12))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    topics = scattered(1, 2, 12, seed=4)
    grid = (np.arange(4000) + 0.5) / 4000
    means = grid[:, None] * topics[0, 0] + (1 - grid)[:, None] * topics[0, 1]
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    density = 6 * grid * (1 - grid)
    constant = -np.log(np.exp(20.0 * vmf_heights(12)).mean())  # Monte Carlo free: see vmf_heights
    exact = (
        -np.mean(np.log((np.exp(20.0 * rows @ means.T) * density).mean(axis=1)))
        - constant
        - log_uniform_density(12)
    )
    ours = log_perplexity(sp.csr_matrix(rows), topics, 20.0, 2.0, theta_draws=200_000)
    np.testing.assert_allclose(ours, exact, atol=0.02)


@pytest.mark.slow
def test_annealed_log_perplexity_where_prior_draws_fail():
    """Two topics at kappa = 3,000: the likelihood's narrow part of the simplex is resolved by quadrature."""
    rng = np.random.default_rng(8)
    topics = scattered(1, 2, 12, seed=4)[0]
    rows = np.array([[0.7, 0.3], [0.4, 0.6], [0.1, 0.9]]) @ topics + 0.02 * rng.normal(size=(3, 12))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    grid = (np.arange(40_000) + 0.5) / 40_000
    means = grid[:, None] * topics[0] + (1 - grid)[:, None] * topics[1]
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    log_terms = 3000.0 * rows @ means.T + np.log(6 * grid * (1 - grid))
    exact = -(logsumexp(log_terms, axis=1) - np.log(len(grid)) + host_log_normaliser(12, 3000.0))
    of_rows = sp.csr_matrix(rows), topics, 3000.0, 2.0
    ours = np.array([annealed_log_perplexity(*of_rows, num_replicates=50, seed=seed) for seed in range(12)])
    # The likelihood, and not its logarithm, is estimated without bias.
    assert_means(np.exp(exact - ours)[:, None], np.ones(3))


def vmf_heights(dim, resolution=200_001):
    """Heights x with equal weights under the uniform law on the sphere.

    By inverting its distribution function.
    """
    from scipy.stats import beta

    probabilities = (np.arange(resolution) + 0.5) / resolution
    return 2 * beta.ppf(probabilities, (dim - 1) / 2, (dim - 1) / 2) - 1


def log_uniform_density(dim):
    from scipy.special import gammaln

    return gammaln(dim / 2) - np.log(2) - dim / 2 * np.log(np.pi)


def test_log_perplexity_against_the_independent_scorer():
    if not SCORER.exists():
        pytest.skip(f"the independent scorer is not at {SCORER}")
    spec = importlib.util.spec_from_file_location("sam_logperp", SCORER)
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    rng = np.random.default_rng(7)
    rows = np.abs(rng.normal(size=(9, 40)))
    rows = sp.csr_matrix(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    topics = scattered(3, 4, 40)
    theirs = scorer.log_perplexity(rows, topics.transpose(0, 2, 1), 60.0, 0.7, 50, 5)
    np.testing.assert_allclose(
        log_perplexity(rows, topics, 60.0, 0.7, theta_draws=50, seed=5), theirs, rtol=1e-12
    )


def test_a_word_that_all_documents_have_leaves_the_start_a_factorisation():
    """Its weight log(D / (1 + D)) is a little below 0, and factors cannot be."""
    rng = np.random.default_rng(0)
    leads = np.kron(np.eye(4), np.ones(10))
    counts = np.column_stack([rng.poisson(0.1 + 2 * leads[np.arange(200) % 4]), np.ones(200, int)])
    source = DocumentSource(MatrixCorpus(sp.csr_matrix(counts)), "tfidf")
    assert source.rows(np.arange(200)).data.min() < 0
    found = first_topics(source, 4, np.random.default_rng(1))
    cosines = found[:, :40] @ leads.T / np.sqrt(10)
    assert sorted(cosines.argmax(axis=1)) == [0, 1, 2, 3]
    assert cosines.max(axis=1).min() > 0.9


def test_sizes_of_topics_in_millions_of_documents_sum_to_one():
    leads = np.where(np.random.default_rng(0).random(1_500_000) < 0.05, 0.905, 0.005).astype(np.float32)
    mixtures = np.stack([leads, 1 - leads], axis=1)
    sizes, spread = sizes_and_spread(mixtures)
    assert sizes == pytest.approx(mixtures.mean(axis=0, dtype=np.float64), rel=1e-6)
    assert spread == pytest.approx(mixtures.std(axis=0, dtype=np.float64).mean(), rel=1e-5)
