"""Exact draws of topic assignments, of which many topics are small, on threads.

The law, and what threads do, is that of LDA's `collapsed_gibbs_sweeps`; only the sums over topics are made
otherwise (see `_small_topics`).
"""

from typing import NamedTuple

import numba
import numpy as np
from jaxtyping import Float, Int, UInt, UInt64

from geodrift.kernels._bits import BITS, put
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._two_forms import TwoForms
from geodrift.kernels._vector_draw import padded
from geodrift.models.hierarchical_dirichlet_process.sampler._sweep_kernel import sweep_two_groups
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sweeps import lay_out
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch


def _sweep_minibatch(
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    assignments: np.ndarray,
    word_topic: np.ndarray,
    of_words: np.ndarray,
    in_parts: np.ndarray,
    large: int,
    in_documents: np.ndarray,
    of_documents: np.ndarray,
    in_small: np.ndarray,
    masses: np.ndarray,
    part_priors: np.ndarray,
    prior: np.float32,
    doc_topic_prior: np.ndarray,
    num_sweeps: int,
    family: np.uint64,
) -> None:
    num_rows, num_parts, known = starts.shape[0], part_priors.shape[0], min(large, masses.shape[1])
    places = np.zeros((num_rows, num_parts + 1), np.int64)
    num_tokens = np.int64(0)
    for row in range(num_rows):
        places[row, 0] = num_tokens
        for entry in range(indptr[row], indptr[row + 1]):
            num_tokens += counts[entry]
    token_words, topics = np.empty(num_tokens, np.int32), np.empty(num_tokens, assignments.dtype)
    for row in numba.prange(num_rows):
        lay_out(indptr[row : row + 2], words, counts, ends, places[row], token_words)
        begin, end = places[row, 0], places[row, num_parts]
        for topic in range(known):
            in_documents[row, topic] = doc_topic_prior[topic]
        for token in range(begin, end):
            topics[token] = assignments[starts[row] + token - begin]
            topic = np.int64(topics[token])
            if topic < large:
                in_documents[row, topic] += np.float32(1.0)
            else:
                in_small[row, topic - large] += 1
                put(of_documents, row, topic - large)
    of_tokens: tuple = (places, token_words, topics, in_documents)
    tables: tuple = (word_topic, of_words, of_documents, in_small)
    of_parts: tuple = (in_parts, masses, part_priors)
    for phase in range(num_sweeps * num_parts):
        for pair in numba.prange((num_parts + 1) // 2):
            # That of threads is unsigned, and the draws would be compiled once more for it.
            index = np.int64(pair)
            sweep_two_groups(index, phase, of_tokens, large, tables, doc_topic_prior, prior, of_parts, family)
    for row in numba.prange(num_rows):
        begin, end = places[row, 0], places[row, num_parts]
        for token in range(begin, end):
            assignments[starts[row] + token - begin] = topics[token]


class SplitCounts(NamedTuple):
    """Counts of words and topics, the large topics first.

    Attributes:
        word_topic: N_kw, int32, in rows of more than ``large`` numbers.
        of_words: The small topics that each word has, as bits; others may be among them.
        in_parts: N_kb, the sums of ``word_topic`` over the words of each part, float64.
        large: The number of large topics; the others are small.
    """

    word_topic: Int[np.ndarray, "V Kp"]
    of_words: UInt64[np.ndarray, "V B"]
    in_parts: Float[np.ndarray, "P Kp"]
    large: int


_sweep_forms = TwoForms(_sweep_minibatch, worth_threads=50_000)


def sweeps_with_small_topics(
    batch: Minibatch,
    starts: Int[np.ndarray, " S"],
    bounds: Int[np.ndarray, " bound"],
    assignments: UInt[np.ndarray, " n"],
    counts: SplitCounts,
    masses: Float[np.ndarray, "P K"],
    doc_topic_prior: Float[np.ndarray, " K"],
    prior: float,
    *,
    sweeps: int,
    streams: Family,
) -> None:
    """As `collapsed_gibbs_sweeps`, with other counts.

    Args:
        batch: Documents that have assignments; each row's words increase.
        starts: The place in ``assignments`` at which each document's tokens begin.
        bounds: Words at which the parts of the vocabulary begin, and V.
        assignments: z of all tokens of the corpus, in the order of the entries.
        counts: Of all documents, changed in place.
        masses: rho, the probability of each part in each topic, float64; 0: no token goes to the topic.
        doc_topic_prior: alpha, float32.
        prior: eta, each word's Dirichlet parameter.
        sweeps: Number of sweeps over each document.
        streams: Random streams of the sweeps.
    """
    word_topic, of_words, in_parts, large = counts
    rows, small = len(batch.documents), word_topic.shape[1] - large
    # Few documents have a small topic: of the others nothing is written, which takes no memory.
    in_small = np.zeros((rows, small), np.int32)
    _sweep_forms(
        sweeps * batch.num_tokens,
        batch.indptr,
        batch.vocabulary[batch.words],
        batch.counts,
        starts,
        bounds[1:],
        assignments,
        word_topic.reshape(-1),
        of_words,
        in_parts,
        large,
        np.zeros((rows, padded(large + 1)), np.float32),
        np.zeros((rows, -(-small // BITS)), np.uint64),
        in_small,
        masses,
        prior * np.diff(bounds).astype(np.float64),
        np.float32(prior),
        doc_topic_prior,
        sweeps,
        streams.word,
    )
