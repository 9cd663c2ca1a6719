"""The word prior eta that is learnt with the assignments: its law against quadrature and enumeration."""

import numpy as np
import pytest
from scipy.special import gammaln

from geodrift.models.latent_dirichlet_allocation import Chain, Settings
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs import _word_prior
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._word_prior import (
    RATE,
    SHAPE,
    distinct_counts,
    draw_word_prior,
)
from law_checks import assert_means
from models import lda_problem as problem
from models.test_lda_document_prior import COUNTS, log_documents

STATISTICS = (lambda a: a / (1 + a), lambda a: np.exp(-a), lambda a: a / (0.1 + a))


def log_words(eta, in_words):
    """Of each eta [h] and each assignment's counts [n, word, K], [h, n]."""
    eta = eta[:, None, None, None]
    each = (gammaln(eta + in_words) - gammaln(eta)).sum(axis=(2, 3))
    whole = eta[..., 0] * in_words.shape[1]
    return each + (gammaln(whole) - gammaln(whole + in_words.sum(axis=1))).sum(axis=2)


def grid_of(low, high, number):
    """Logs, values and log prior masses of Gamma(a, b) on a grid of logs."""
    logs = np.linspace(low, high, number)
    return np.exp(logs), SHAPE * logs - RATE * np.exp(logs)


def expectations():
    """Means of `STATISTICS` of alpha and of eta, both learnt, and how often two tokens share a topic."""
    documents, words = problem.tokens(COUNTS)
    every = problem.assignments_of(2, len(words))
    alpha, log_alpha = grid_of(-9.0, 3.2, 120)
    eta, log_eta = grid_of(-13.8, 3.2, 160)
    in_documents = problem.counts_of(every, documents, len(COUNTS), 2)
    of_alpha = np.exp(log_alpha[:, None] + log_documents(np.stack([alpha, alpha], axis=1), in_documents))
    in_words = problem.counts_of(every, words, COUNTS.shape[1], 2)
    of_eta = np.exp(log_eta[:, None] + log_words(eta, in_words))
    z = of_alpha.sum(axis=0) * of_eta.sum(axis=0)
    z /= z.sum()
    means = [
        z @ (f(values) @ table / table.sum(axis=0))
        for values, table in ((alpha, of_alpha), (eta, of_eta))
        for f in STATISTICS
    ]
    return np.array([*means, z @ (every[:, 0] == every[:, 3]), z @ (every[:, 0] == every[:, -1])])


def test_alpha_eta_and_assignments_have_their_joint_law():
    settings = Settings(
        n_topics=2,
        doc_topic_prior=0.5,
        learn_doc_topic_prior="symmetric",
        topic_word_prior=0.5,
        learn_topic_word_prior="symmetric",
        batch_size=2,
    )
    draws = []
    for number in range(12):
        chain, kept = Chain(problem.corpus(COUNTS), settings, seed=2, chain=number), []
        chain.begin(chain.shares.plan(10**6))
        while chain.count < 500:
            chain.step()
            if chain.count > 140:
                z, alpha, eta = chain.move.assignments, chain.move.alpha[0], chain.move.eta
                of_priors = [f(value) for value in (alpha, eta) for f in STATISTICS]
                kept.append([*of_priors, z[0] == z[3], z[0] == z[-1]])
        draws.append(kept)
    assert_means(np.array(draws, float), expectations(), comparisons=8)


def test_eta_has_its_law_given_the_assignments():
    rng = np.random.default_rng(0)
    counts = rng.negative_binomial(0.3, 0.1, (40, 3)).astype(np.int32)
    padded = np.zeros((40, 8), np.int32)
    padded[:, :3] = counts
    eta, log_prior = grid_of(-13.8, 3.2, 4000)
    p = np.exp((logs := log_prior + log_words(eta, counts[None])[:, 0]) - logs.max())
    draws, value = np.empty((20, 200)), 0.01
    for chain, draw in np.ndindex(draws.shape):
        value = draw_word_prior(value, padded.ravel(), counts.sum(axis=0).astype(float), len(counts), rng)
        draws[chain, draw] = value
    found = np.stack([draws, draws**2], axis=2)
    assert_means(found, [p @ eta / p.sum(), p @ eta**2 / p.sum()])


def test_distinct_counts_are_those_of_a_table(monkeypatch):
    counts = np.random.default_rng(1).poisson(1.5, (50, 4)).astype(np.int32)
    counts[3, 1] = counts[7, 2] = 2**20  # beyond the small ones
    values, times = distinct_counts(np.pad(counts, ((0, 0), (0, 4))).ravel())
    expected = np.unique(counts[counts > 0], return_counts=True)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(times, expected[1])


def test_eta_stays_within_what_the_model_can_be_computed_at():
    rng = np.random.default_rng(2)
    nothing = np.zeros((5, 8), np.int32)
    drawn = [draw_word_prior(1e-6, nothing.ravel(), np.zeros(2), len(nothing), rng) for _ in range(20)]
    assert 1e-6 <= min(drawn) <= max(drawn) <= 1e4
    assert _word_prior.log_density(np.log(2e4), *distinct_counts(nothing.ravel()), np.zeros(2), 5) == -np.inf


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learn_topic_word_prior": "asymmetric"}, "must be one of no, symmetric"),
        ({"learn_topic_word_prior": "symmetric", "method": "scir"}, "use method 'gibbs'"),
    ],
)
def test_what_cannot_be_learnt_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Settings(n_topics=2, **settings)
