"""The document prior that is learnt with the assignments: its law against quadrature and enumeration."""

import numpy as np
import pytest
from scipy.special import gammaln

from geodrift.models.latent_dirichlet_allocation import Chain, Settings
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._document_prior import (
    RATE,
    SHAPE,
    documents_above,
)
from law_checks import assert_means
from models import lda_problem as problem

COUNTS = np.array([[3, 1, 0], [0, 1, 2], [0, 0, 0], [2, 0, 1]])
STATISTICS = (lambda a: a / (1 + a), lambda a: np.exp(-a), lambda a: a / (1 + a) * np.exp(-a))


def log_documents(alpha, in_documents):
    """Of each alpha [g, K] and each assignment's counts [n, document, K], [g, n]; in few loops."""
    out = np.zeros((len(alpha), len(in_documents)))
    lengths = in_documents[0].sum(axis=-1)
    for document, length in enumerate(lengths):
        out += (gammaln(alpha.sum(axis=1)) - gammaln(alpha.sum(axis=1) + length))[:, None]
        for topic in range(alpha.shape[1]):
            table = gammaln(alpha[:, topic, None] + np.arange(length + 1)) - gammaln(alpha[:, topic, None])
            out += table[:, in_documents[:, document, topic]]
    return out


def expectations(symmetric):
    """Means of `STATISTICS` of each component of alpha, and the chance that two tokens share a topic."""
    documents, words = problem.tokens(COUNTS)
    every = problem.assignments_of(2, len(words))
    in_documents = problem.counts_of(every, documents, len(COUNTS), 2)
    in_words = problem.counts_of(every, words, 3, 2)
    log_words = gammaln(problem.TOPIC_WORD_PRIOR + in_words).sum(axis=(1, 2))
    log_words -= gammaln(3 * problem.TOPIC_WORD_PRIOR + in_words.sum(axis=1)).sum(axis=1)
    grid = np.linspace(-9.0, 3.2, 70)  # of log alpha; the rest has less than 1e-4 of the probability
    if symmetric:
        alpha = np.repeat(np.exp(grid)[:, None], 2, axis=1)
        log_p = SHAPE * grid - RATE * alpha[:, 0]
    else:
        alpha = np.exp(np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2))
        log_p = (SHAPE * np.log(alpha) - RATE * alpha).sum(axis=1)
    joint = log_p[:, None] + log_documents(alpha, in_documents) + log_words
    joint = np.exp(joint - joint.max())
    p, q = joint.sum(axis=1) / joint.sum(), joint.sum(axis=0) / joint.sum()
    together = q @ (every[:, 0] == every[:, 3]), q @ (every[:, 0] == every[:, -1])
    return np.concatenate([[p @ f(alpha[:, 0]) for f in STATISTICS], together])


@pytest.mark.slow
@pytest.mark.parametrize("learn", ["symmetric", "asymmetric"])
def test_alpha_and_assignments_have_their_joint_law(learn):
    settings = Settings(
        n_topics=2,
        doc_topic_prior=0.5,
        learn_doc_topic_prior=learn,
        topic_word_prior=problem.TOPIC_WORD_PRIOR,
        batch_size=2,
    )
    draws = []
    for number in range(30):
        chain, kept = Chain(problem.corpus(COUNTS), settings, seed=1, chain=number), []
        chain.begin(chain.shares.plan(10**6))
        while chain.count < 500:
            chain.step()
            if chain.count > 140:  # topics are merged at 82
                alpha, z = chain.move.alpha, chain.move.assignments
                # The components of an asymmetric alpha have one law.
                of_alpha = [np.mean([f(a) for a in alpha]) for f in STATISTICS]
                kept.append([*of_alpha, z[0] == z[3], z[0] == z[-1]])
        draws.append(kept)
    assert_means(np.array(draws, float), expectations(learn == "symmetric"), comparisons=10)


def test_documents_above_counts_them():
    rng = np.random.default_rng(0)
    starts = np.array([0, 5, 5, 17, 30])
    z = rng.integers(0, 3, 30).astype(np.uint8)
    numbers = np.array([np.bincount(part, minlength=3) for part in np.split(z, starts[1:-1])])
    expected = [(numbers > i).sum(axis=0) for i in range(numbers.max())]
    np.testing.assert_array_equal(documents_above(starts, z, 3), expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learn_doc_topic_prior": "yes"}, "must be one of no, symmetric, asymmetric"),
        ({"learn_doc_topic_prior": "symmetric", "method": "scir"}, "use method 'gibbs'"),
        ({"learn_doc_topic_prior": "symmetric", "doc_topic_prior": (0.1, 0.2)}, "give one number"),
    ],
)
def test_what_cannot_be_learnt_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Settings(n_topics=2, **settings)
