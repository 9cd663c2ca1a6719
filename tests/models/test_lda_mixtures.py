"""Document mixtures against enumeration: given all assignments a mixture is Dirichlet."""

import numpy as np
import scipy.sparse as sp
from scipy.stats import beta

from geodrift.models.latent_dirichlet_allocation import document_mixtures
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
