"""What it does to the law that the words which wait have their mean in a topic's sum, not what they are.

A corpus of 4 documents in 12 words, of which a minibatch is one document of 3 tokens: a topic's sum is about
11, and most of it is of words that wait. Topics of large vocabularies have sums of hundreds at least.
"""

import numpy as np
import pytest

from geodrift.models.latent_dirichlet_allocation.scaled_counts._deferred_topics import DeferredTopics
from geodrift.models.latent_dirichlet_allocation.scaled_counts._unnormalised_topics import UnnormalisedTopics
from law_checks import assert_means
from models import lda_problem as problem

WORDS, PRIOR, STEP_SIZE, CHAINS = 12, 0.4, 0.1, 1000
DOCUMENTS = np.array([[0, 0, 2], [1, 4, 0], [7, 3, 1], [0, 5, 10]])


class ManyChains:
    """Chains whose minibatches are the same documents; the topics of all are columns of one array."""

    def __init__(self, deferred, seed):
        self.rng = np.random.default_rng(seed)
        theta = self.rng.standard_gamma(1.0, (WORDS, 2 * CHAINS))
        if deferred:
            self.moved = DeferredTopics(theta, PRIOR, seed, 0)
        else:
            self.moved = UnnormalisedTopics("scir", "posterior", theta, PRIOR, seed, 0)

    def assignments_of(self, words):
        """Exact draws of a document's assignments, [chain, token]."""
        different, places = np.unique(words, return_inverse=True)
        pi = self.moved.of_words(different).reshape(-1, CHAINS, 2)[places]
        every, even = problem.document_law(words, np.full((WORDS, 2), 0.5), problem.DOC_TOPIC_PRIOR)
        weights = even * np.prod([pi[token][:, every[:, token]] for token in range(len(words))], axis=0)
        upto = weights.cumsum(axis=1)
        return every[(self.rng.random((CHAINS, 1)) * upto[:, -1:] > upto).sum(axis=1)]

    def step(self, document, number):
        """One minibatch, scaled to all documents."""
        words = np.unique(DOCUMENTS[document])
        z = self.assignments_of(DOCUMENTS[document])
        counts = np.zeros((len(words), CHAINS, 2), np.float32)
        for token, word in enumerate(DOCUMENTS[document]):
            counts[np.searchsorted(words, word), np.arange(CHAINS), z[:, token]] += len(DOCUMENTS)
        shapes = np.full(2 * CHAINS, WORDS * PRIOR + DOCUMENTS.size / 2)
        self.moved.move(words, counts.reshape(len(words), -1), shapes, STEP_SIZE, 0.0, number)


def moments(deferred, steps=800, warm=200):
    """Each chain's means of the topics and of their squares, [chain, word, topic], and the sums' error."""
    chains, documents = ManyChains(deferred, 1 + deferred), np.random.default_rng(5)
    total, errors = np.zeros((2, WORDS, 2 * CHAINS)), []
    for number in range(steps):
        chains.step(documents.integers(len(DOCUMENTS)), number)
        if number >= warm and number % 4 == 0:
            theta = np.exp(chains.moved._present().astype(float))
            errors.append(chains.moved.sums / theta.sum(axis=0) - 1.0)
            topics = theta / theta.sum(axis=0)
            total += topics, topics**2
    mean, square = (total / len(errors)).reshape(2, WORDS, CHAINS, 2).transpose(0, 2, 1, 3)
    return mean, square, np.sqrt(np.mean(np.square(errors)))


@pytest.mark.slow
def test_the_bias_of_the_sums_is_a_twentieth_of_a_standard_deviation():
    """Of sums that are a quarter off: means by 0.05 standard deviations at most, the deviations by 1%."""
    exact, exact_square, none = moments(False)
    mean, square, error = moments(True)
    deviation = np.sqrt(exact_square.mean(axis=0) - exact.mean(axis=0) ** 2)
    assert none < 1e-5
    assert 0.2 < error < 0.28
    difference = mean - exact
    assert_means(difference[:, None] / deviation, np.zeros((WORDS, 2)), slack=0.05)
    biased = np.sqrt(square.mean(axis=0) - mean.mean(axis=0) ** 2)
    assert np.linalg.norm(biased) == pytest.approx(np.linalg.norm(deviation), rel=0.012)
