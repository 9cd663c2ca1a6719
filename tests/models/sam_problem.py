"""A small spherical admixture problem, and what the tests measure on it."""

import numpy as np
import scipy.sparse as sp

from geodrift.driver import sampled
from geodrift.models.kit._facade import MatrixCorpus
from geodrift.models.spherical_admixture import Chain, Settings

SETTINGS = {
    "n_topics": 3,
    "corpus_mean_concentration": 20.0,
    "topic_concentration": 20.0,
    "document_concentration": 200.0,
    "doc_topic_prior": 2.0,
    "weighting": "none",
}


def planted(num_documents=80, num_words=40, num_topics=3, seed=1):
    """Sparse positive topics, unit vectors scattered about their mixtures; returns (corpus, topics)."""
    rng = np.random.default_rng(seed)
    weights = rng.choice([1.0, 0.1], size=(num_topics, num_words), p=[0.3, 0.7])
    topics = rng.normal(size=(num_topics, num_words)) ** 2 * weights
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    means = rng.dirichlet(np.full(num_topics, 2.0), num_documents) @ topics
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    rows = means + rng.normal(size=means.shape) / np.sqrt(200.0)
    return MatrixCorpus(sp.csr_matrix(rows / np.linalg.norm(rows, axis=1, keepdims=True))), topics


def run(total_steps, *, seed=0, number=0, **settings):
    """Draws [draw, topic, word] of one chain, and the chain."""
    chain = Chain(planted()[0], Settings(**SETTINGS | settings), seed=seed, chain=number)
    return sampled([chain], total_steps)["topics"][0], chain
