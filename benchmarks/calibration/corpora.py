"""Corpora drawn from LDA and the SAM, with what made them and the estimator that is told the same priors."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import stats

from geodrift.models import LatentDirichletAllocation, SphericalAdmixture

NEW = 30  # documents that are not fitted
# topics, documents, words of the vocabulary; of LDA the words of a document, alpha and eta too
LDA_SHAPES = ((5, 300, 200, 50, 0.1, 0.05), (10, 600, 400, 50, 0.1, 0.05), (8, 400, 600, 80, 0.3, 0.02),
              (15, 1000, 500, 60, 0.1, 0.02))  # fmt: skip
SAM_SHAPES = ((3, 300, 30), (4, 400, 40), (5, 500, 50))


class Truth(NamedTuple):
    """A corpus and what made it: topics, their sizes, and new documents with their mixtures."""

    counts: sp.csr_matrix
    topics: np.ndarray
    sizes: np.ndarray
    new: sp.csr_matrix
    mixtures: np.ndarray


def lda(seed, shapes=LDA_SHAPES):
    """A corpus of LDA and its estimator."""
    rng = np.random.default_rng(seed)
    num_topics, documents, words, length, alpha, eta = shapes[seed % len(shapes)]
    topics = rng.dirichlet(np.full(words, eta), num_topics)
    mixtures = rng.dirichlet(np.full(num_topics, alpha), documents + NEW)
    in_topics = np.array([rng.multinomial(length, mixture) for mixture in mixtures])
    counts = sp.csr_matrix(
        [sum(rng.multinomial(n, topic) for n, topic in zip(row, topics, strict=True)) for row in in_topics]
    )
    sizes = in_topics[:documents].sum(axis=0) / in_topics[:documents].sum()
    model = LatentDirichletAllocation(
        num_topics, doc_topic_prior=alpha, topic_word_prior=eta, random_state=seed
    )
    return Truth(counts[:documents], topics, sizes, counts[documents:], mixtures[documents:]), model


def sam(seed):
    """A corpus of the SAM at its default concentrations, and its estimator."""
    rng, (num_topics, documents, words) = np.random.default_rng(seed), SAM_SHAPES[seed % len(SAM_SHAPES)]

    def near(direction, concentration):
        return stats.vonmises_fisher(direction, concentration).rvs(random_state=rng).reshape(-1)

    mean = near(np.abs(near(np.eye(words)[0], 1e-6)), 2 * words)
    topics = np.array([near(mean, 2 * words) for _ in range(num_topics)])
    mixtures = rng.dirichlet(np.ones(num_topics), documents + NEW)
    centers = mixtures @ topics
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    rows = sp.csr_matrix(np.array([near(center, 6 * words) for center in centers]))
    model = SphericalAdmixture(num_topics, weighting="none", random_state=seed)
    sizes = mixtures[:documents].mean(axis=0)
    return Truth(rows[:documents], topics, sizes, rows[documents:], mixtures[documents:]), model
