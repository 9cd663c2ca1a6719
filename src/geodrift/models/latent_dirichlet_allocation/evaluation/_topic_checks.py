r"""A posterior predictive check of each topic: Mimno and Blei (2011), "Bayesian checking for topic models".

Given its topic a word does not depend on its document. Of the tokens that a draw of the assignments gives to
topic k the check takes the mutual information of words and documents (their section 3),

.. math:: I(W; D \mid k) = \sum_{w, d} \frac{N(w, d, k)}{N(k)}
    \log \frac{N(w, d, k) \, N(k)}{N(d, k) \, N(w, k)}

and compares it with that of a replica, in which every one of these tokens has a word drawn from the topic.
A sparse table has information without any dependence: it is the replica that says how much.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import ArrayLike, Bool, Float, Int

from geodrift.kernels._streams import LDA_CHECK_ASSIGNMENTS, LDA_CHECK_REPLICAS
from geodrift.models.kit._content_hashes import content_hashes
from geodrift.models.kit._counts import checked_counts
from geodrift.models.latent_dirichlet_allocation.evaluation._fold_in import (
    DocumentSampler,
    checked_prior,
    checked_topics,
)
from geodrift.models.topics._json_numbers import json_number

FIRST_SWEEPS, SWEEPS = 20, 5  # under the first draw of the topics, and under each later one
WORDS = 8  # that depart most


def topic_checks(
    counts: sp.csr_matrix,
    topics: Float[np.ndarray, "N K V"],
    doc_topic_prior: ArrayLike,
    vocabulary: Sequence[str],
    *,
    found: Bool[np.ndarray, "N K"] | None = None,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """The check of every topic, one replica under each draw.

    Args:
        counts: Whole numbers, [D, V].
        topics: Aligned draws.
        doc_topic_prior: alpha: one number, K numbers or [N, K].
        vocabulary: V words.
        found: Whether a draw says anything of each topic; None: of all. A topic's numbers are those of the
            draws that do, and that give it a token.
        seed: Of assignments and replicas.

    Returns:
        For each topic ``{"topic", "observed", "expected", "ratio", "p_value", "words"}``: the mean
        information of the draws, nats, that of the replicas, the ratio, the share of replicas at or above
        what was observed under the same draw, and the words whose part exceeds the replicas' most. Numbers
        of a topic without a token in any of these draws are None.
    """
    counts = checked_counts(counts)
    topics = checked_topics(topics, counts.shape[1])
    prior = checked_prior(doc_topic_prior, *topics.shape[:2])
    number = topics.shape[1]
    sampler = DocumentSampler(counts, number, content_hashes(counts), LDA_CHECK_ASSIGNMENTS, seed)
    words = np.repeat(counts.indices.astype(np.int64), counts.data.astype(np.int64))
    documents = np.repeat(np.arange(counts.shape[0]), sampler.lengths)
    observed, expected = np.zeros((2, len(topics), number))
    told = np.ones((len(topics), number), bool) if found is None else found.copy()
    excess = np.zeros((number, counts.shape[1]))
    for at, draw in enumerate(topics):
        sampler.set_topics(draw, prior[at])
        sampler.sweep(at, 0, SWEEPS if at else FIRST_SWEEPS)
        assigned = sampler.assignments.astype(np.int64)
        told[at] &= np.bincount(assigned, minlength=number) > 0
        replica = replicated_words(assigned, draw, LDA_CHECK_REPLICAS.generator(seed, at))
        for values, tokens, sign in ((observed, words, 1), (expected, replica, -1)):
            parts = information_by_word(assigned, documents, tokens, excess.shape)
            values[at] = parts.sum(axis=1)
            excess += sign * parts * told[at][:, None]
    return [
        _told(k, observed[told[:, k], k], expected[told[:, k], k], excess[k], vocabulary)
        for k in range(number)
    ]


def information_by_word(
    assigned: Int[np.ndarray, " n"],
    documents: Int[np.ndarray, " n"],
    words: Int[np.ndarray, " n"],
    shape: tuple[int, int],
) -> Float[np.ndarray, "K V"]:
    """What each word adds to I(W; D | k), in nats; the sum of a row is the information of the topic.

    Args:
        assigned: The topic of each token.
        documents: Its document.
        words: Its word.
        shape: (K, V).
    """
    number_of_words, parts = shape[1], np.zeros(shape)
    if not len(words):
        return parts
    number_of_documents = int(documents.max()) + 1
    cells, n = np.unique(
        (assigned * number_of_documents + documents) * number_of_words + words, return_counts=True
    )
    topic_document, word = np.divmod(cells, number_of_words)
    topic = topic_document // number_of_documents
    topic_word = topic * number_of_words + word
    of_document = np.bincount(assigned * number_of_documents + documents)[topic_document]
    of_word = np.bincount(assigned * number_of_words + words, minlength=parts.size)[topic_word]
    of_topic = np.bincount(assigned, minlength=shape[0])[topic]
    values = n / of_topic * np.log(n * of_topic / (of_document * of_word))
    return np.bincount(topic_word, values, minlength=parts.size).reshape(shape)


def replicated_words(
    assigned: Int[np.ndarray, " n"], topics: Float[np.ndarray, "K V"], random: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """A word of its topic for each token."""
    words, where = np.empty(len(assigned), np.int64), random.random(len(assigned))
    by_topic = np.argsort(assigned.astype(np.uint16), kind="stable")  # a radix sort
    ends = np.cumsum(np.bincount(assigned, minlength=len(topics)))
    for topic, own in enumerate(np.split(by_topic, ends[:-1])):
        upto = np.cumsum(topics[topic], dtype=np.float64)
        words[own] = np.searchsorted(upto, where[own] * upto[-1], side="right")
    return np.minimum(words, topics.shape[1] - 1)


def _told(
    topic: int,
    observed: Float[np.ndarray, " N"],
    expected: Float[np.ndarray, " N"],
    excess: Float[np.ndarray, " V"],
    vocabulary: Sequence[str],
) -> dict[str, Any]:
    order, counted = np.argsort(-excess, kind="stable")[:WORDS], len(observed) > 0
    mean, replicas = (float(values.mean()) if counted else 0.0 for values in (observed, expected))
    ratio = mean / replicas if replicas > 0 else np.nan
    return {
        "topic": topic,
        "observed": mean if counted else None,
        "expected": replicas if counted else None,
        "ratio": json_number(ratio),
        "p_value": float((expected >= observed).mean()) if counted else None,
        "words": [vocabulary[word] for word in order if excess[word] > 0],
    }
