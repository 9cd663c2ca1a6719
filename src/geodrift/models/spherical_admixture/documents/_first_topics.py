"""The topics that a chain starts from."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.models.spherical_admixture.documents._documents import DocumentSource
from geodrift.models.spherical_admixture.documents._weighting import weight_rows
from geodrift.models.topics._factorisation import factorised_topics
from geodrift.models.topics._given_topics import are_probabilities

SHARE, MOST = 2, 20_000  # documents factorised: half of the corpus, but at most so many


def first_topics(
    source: DocumentSource, num_topics: int, rng: np.random.Generator
) -> Float[np.ndarray, "K V"]:
    """Unit vectors, float32: from a factorisation of a random half of the documents.

    Where documents have negative entries: the corpus mean direction plus N(0, I/V), to unit length. These
    are about 45 degrees from the mean and 60 from each other.

    Args:
        source: The documents.
        num_topics: K.
        rng: What the chain starts with.
    """
    noise = rng.standard_normal((num_topics, source.num_words)) / np.sqrt(source.num_words)
    number = max(1, min(source.num_documents // SHARE, MOST))
    rows = source.rows(np.sort(rng.permutation(source.num_documents)[:number]))
    if source.weighting == "tfidf":
        rows = rows.maximum(0.0)  # a word that all documents have weighs a little less than 0
    if rows.nnz and rows.data.min() >= 0:
        topics = factorised_topics(rows, num_topics, int(rng.integers(2**31)))
        topics /= np.linalg.norm(topics, axis=1, keepdims=True)
        topics[number:] += noise[number:]  # of fewer documents than topics, topics come up again
    else:
        topics = source.mean_direction + noise
    return (topics / np.linalg.norm(topics, axis=1, keepdims=True)).astype(np.float32)


def given_directions(source: DocumentSource, topics: Float[np.ndarray, "J V"]) -> Float[np.ndarray, "J V"]:
    """Unit vectors of topics that are given: probabilities are weighted as the words of a document are.

    A topic whose words all have no weight in the corpus is its mean direction.
    """
    rows = topics.astype(np.float64)
    if are_probabilities(topics):
        frequencies, weighting = source.corpus.document_frequencies, source.weighting
        rows = weight_rows(sp.csr_matrix(rows), weighting, frequencies, source.num_documents).toarray()
    rows[~rows.any(axis=1)] = source.mean_direction
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
