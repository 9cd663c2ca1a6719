"""Document mixtures against enumeration: given all assignments a mixture is Dirichlet."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import beta

from geodrift.models.hierarchical_dirichlet_process._open_mixtures import open_mixtures
from geodrift.models.latent_dirichlet_allocation import document_mixtures
from geodrift.models.latent_dirichlet_allocation.documents._first_assignments import CLOSE, begin_near_mode
from law_checks import assert_means
from models.lda_problem import enumerate_assignments

PRIOR = np.array([0.4, 0.9, 0.2])
DOCUMENTS = np.array([[2, 0, 1, 1], [0, 0, 0, 3], [0, 0, 0, 0], [1, 1, 1, 1]])
SEEDS = 24


def two_draws():
    return np.random.default_rng(3).dirichlet(np.full(4, 0.6), (2, 3))


def exact(row, draws, priors):
    """Mean, and the distribution function of each component, of the mixture over two topic draws."""
    words = np.repeat(np.arange(4), row)
    parts = []
    for topics, prior in zip(draws, priors, strict=True):
        counts, weights = enumerate_assignments(words, topics, prior)
        parts.append((weights / len(draws), prior + counts))
    weights, shapes = (np.concatenate(x) for x in zip(*parts, strict=True))
    total = shapes.sum(axis=1, keepdims=True)

    def distribution(values):
        return weights @ beta.cdf(values, shapes, total - shapes)

    return weights @ (shapes / total), distribution


def many_seeds(draws, priors):
    outcomes = [
        document_mixtures(sp.csr_matrix(DOCUMENTS), draws, priors, seed=seed) for seed in range(SEEDS)
    ]
    return {name: np.array([outcome[name] for outcome in outcomes]) for name in ("mean", "low", "high")}


def test_mean_and_interval_against_enumeration():
    draws = two_draws()
    priors = np.stack([PRIOR, PRIOR[::-1]])
    # 15 copies of the two draws, in turn: 300 draws of each mixture.
    got = many_seeds(np.tile(draws, (15, 1, 1)), np.tile(priors, (15, 1)))
    for number, row in enumerate(DOCUMENTS):
        mean, distribution = exact(row, draws, priors)
        if row.any():
            assert_means(got["mean"][:, None, number], mean, slack=1e-6, comparisons=12)
        else:
            np.testing.assert_allclose(got["mean"][:, number], np.tile(mean, (SEEDS, 1)), rtol=1e-5)
        for end, level in (("low", 0.05), ("high", 0.95)):
            reached = np.array([distribution(values) for values in got[end][:, number].astype(float)])
            # A quantile of 300 draws is 0.0015 inside on average, one of dependent draws more.
            assert_means(reached[:, None], level, slack=0.004, comparisons=24)


def test_a_documents_numbers_do_not_depend_on_the_documents_beside_it():
    draws = two_draws()
    together = document_mixtures(sp.csr_matrix(DOCUMENTS), draws, PRIOR)
    for number in range(len(DOCUMENTS)):
        alone = document_mixtures(sp.csr_matrix(DOCUMENTS[[number]]), draws, PRIOR)
        for name, values in alone.items():
            np.testing.assert_array_equal(values[0], together[name][number])


def test_components_of_tiny_priors_do_not_underflow_together():
    draws = two_draws()
    mixtures = document_mixtures(sp.csr_matrix((200, 4), dtype=int), np.tile(draws, (20, 1, 1)), 1e-3)
    # A Dirichlet(0.001, 0.001, 0.001) is all but a vertex: each component's mean is 1/3 and its upper end 1.
    np.testing.assert_allclose(mixtures["mean"], 1 / 3, rtol=1e-5)
    np.testing.assert_allclose(mixtures["high"], 1.0, rtol=1e-5)
    np.testing.assert_allclose(mixtures["low"], 0.0, atol=1e-6)


ALIKE = np.array([[0.6, 0.4], [0.4, 0.6]])  # topics of two words


def of_quadrature(counts, prior=0.1):
    """Mean, standard deviation and 90% interval of the first topic's share under `ALIKE`."""
    share = (np.arange(400_000) + 0.5) / 400_000
    first = ALIKE[1, 0] + (ALIKE[0, 0] - ALIKE[1, 0]) * share
    logs = counts @ np.log([first, 1 - first]) + (prior - 1) * (np.log(share) + np.log(1 - share))
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ share
    ends = share[np.searchsorted(np.cumsum(weights), [0.05, 0.95])]
    return mean, np.sqrt(weights @ (share - mean) ** 2), ends


def is_right(got, counts):
    """Whether the mean is within 1.5 standard deviations, and the interval as wide as the posterior's."""
    mean, deviation, (low, high) = of_quadrature(counts)
    width = (got["high"][0, 0] - got["low"][0, 0]) / (high - low)
    return abs(got["mean"][0, 0] - mean) < 1.5 * deviation and 0.65 < width < 1.3


@pytest.mark.parametrize("tokens", [2_000, 20_000, pytest.param(3_000_000, marks=pytest.mark.slow)])
def test_long_documents_under_topics_that_are_alike(tokens):
    """From assignments one by one the share of one topic was .9997, .9024 and .6197, where .75 is right."""
    counts = np.array([tokens * 55 // 100, tokens * 45 // 100])
    topics = np.tile(ALIKE, (20, 1, 1))
    assert is_right(document_mixtures(sp.csr_matrix(counts), topics, 0.1), counts)


@pytest.mark.parametrize("tokens", [2_000, 20_000])
def test_long_documents_beside_a_topic_that_is_not_known(tokens):
    """Of a hierarchical Dirichlet process; that topic has next to no weight."""
    counts = np.array([tokens * 55 // 100, tokens * 45 // 100])
    topics = np.tile(np.vstack([ALIKE, [0.5, 0.5]]), (20, 1, 1))
    priors, found = np.tile([0.1, 0.1, 1e-9], (20, 1)), np.ones((20, 3), bool)
    got = open_mixtures(sp.csr_matrix(counts), topics, priors, 0.02, told=2, found=found)
    assert is_right(got, counts)


def test_first_assignments_are_near_the_mode_of_the_mixture():
    """Five topics that are alike: a step more of the fixed point stays within its limit."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(500, 10.0), 5)
    counts = rng.multinomial(20_000, rng.dirichlet(np.full(5, 0.5)) @ topics).astype(np.int32)
    assignments, prior = np.zeros(20_000, np.uint8), np.full(5, 0.1)
    words = np.ascontiguousarray(topics.T, np.float32)
    assert begin_near_mode(counts, words, prior, prior.sum(), assignments)
    mixture = (np.bincount(assignments, minlength=5) + prior) / 20_000.5
    shares = mixture * words
    again = (prior + counts @ (shares / shares.sum(axis=1, keepdims=True))) / 20_000.5
    assert np.abs(again - mixture).max() < 3 * CLOSE / np.sqrt(20_000)
    # Each token has a topic of its word's posterior: in proportion within a word too.
    word = np.argmax(counts)
    place = counts[:word].sum()
    of_word = np.bincount(assignments[place : place + counts[word]], minlength=5)
    np.testing.assert_allclose(of_word, counts[word] * shares[word] / shares[word].sum(), atol=3)


def test_a_document_of_few_tokens_begins_token_by_token():
    """A pass over its different words would be longer than sweeps over its tokens."""
    topics = np.full((10, 100), 0.1, np.float32)
    given = np.zeros(20, np.uint8)
    counts = np.full(10, 2, np.int32)
    assert not begin_near_mode(counts, topics, np.full(100, 0.1), 10.0, given)
    assert not given.any()
