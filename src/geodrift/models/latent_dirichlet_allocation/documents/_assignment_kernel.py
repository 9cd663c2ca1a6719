r"""Exact draws of topic assignments given the topics, document by document.

With the topics :math:`\pi` fixed and a document's mixture integrated out, token i of word w has

.. math:: p(z_i = k \mid z_{-i}) \propto (\alpha_k + n_{dk}^{-i})\, \pi_{kw}

(Patterson and Teh 2013, eq. 11, with the normalised topics of their eq. 8). The sum has a part of the
document, in which only its own topics count, and a part of the prior, :math:`\alpha_k \pi_{kw}`, whose
cumulative sums are one table for all tokens of a word, exact because the topics are fixed. A draw costs the
number of topics in the document, and log K more where it falls on the prior's part.
"""

import numba
import numpy as np
from jaxtyping import Float, Int, UInt

from geodrift.kernels._random_streams import next_word, open_member
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._two_forms import TwoForms
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch

TO_UNIT = np.float32(2.0**-24)


def _prior_tables(topics: np.ndarray, doc_topic_prior: np.ndarray) -> np.ndarray:
    tables = np.empty_like(topics)
    for word in numba.prange(topics.shape[0]):
        total = np.float32(0.0)
        for topic in range(topics.shape[1]):
            total += doc_topic_prior[topic] * topics[word, topic]
            tables[word, topic] = total
    return tables


_tables_of = TwoForms(_prior_tables, worth_threads=200_000)


def prior_tables(topics: Float[np.ndarray, "W K"], doc_topic_prior: Float[np.ndarray, " K"]) -> np.ndarray:
    """Cumulative sums over k of alpha_k pi_kw, [W, K] float32."""
    return _tables_of(topics.size, topics, doc_topic_prior)


@numba.njit(cache=True)
def above(table: np.ndarray, value: float) -> int:
    """The first place of an increasing table whose entry exceeds ``value``."""
    low, high = 0, table.shape[0] - 1
    while low < high:
        middle = (low + high) >> 1
        if table[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low


@numba.njit(cache=True)
def sweeps_of_document(
    words: np.ndarray,
    counts: np.ndarray,
    assignments: np.ndarray,
    topics: np.ndarray,
    tables: np.ndarray,
    num_sweeps: int,
    first: bool,
    stream: np.uint64,
    numbers: np.ndarray,
    present: np.ndarray,
    place: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Sweep over one document's tokens in order; ``assignments`` holds a word's tokens side by side.

    In a document's first sweep (``first``) no token has a topic yet: each is drawn given those before it.
    The last four are vectors of K numbers: n_dk after the sweeps, the topics with n_dk > 0 in any order, the
    place of each in those, and sums.
    """
    num_topics = topics.shape[1]
    numbers[:] = 0
    size = 0
    for topic in assignments[: 0 if first else assignments.shape[0]]:
        if numbers[topic] == 0:
            present[size], place[topic] = topic, size
            size += 1
        numbers[topic] += 1
    for sweep in range(num_sweeps):
        token = 0
        for entry in range(words.shape[0]):
            word = words[entry]
            row, table = topics[word], tables[word]
            for _ in range(counts[entry]):
                if not (first and sweep == 0):
                    topic = np.int64(assignments[token])
                    numbers[topic] -= 1
                    if numbers[topic] == 0:
                        size -= 1
                        last = present[size]
                        present[place[topic]], place[last] = last, place[topic]
                own = np.float32(0.0)
                for i in range(size):
                    own += np.float32(numbers[present[i]]) * row[present[i]]
                    sums[i] = own
                bits, stream = next_word(stream)
                at = np.float32(bits >> np.uint64(40)) * TO_UNIT * (own + table[num_topics - 1])
                if at < own:
                    i = 0
                    while sums[i] <= at:
                        i += 1
                    topic = np.int64(present[i])
                else:
                    topic = above(table, at - own)
                if numbers[topic] == 0:
                    present[size], place[topic] = topic, size
                    size += 1
                numbers[topic] += 1
                assignments[token] = topic
                token += 1


def _redraw(
    documents: np.ndarray,
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    starts: np.ndarray,
    assignments: np.ndarray,
    topics: np.ndarray,
    tables: np.ndarray,
    num_sweeps: int,
    first: bool,
    family: np.uint64,
) -> None:
    num_topics = topics.shape[1]
    for row in numba.prange(documents.shape[0]):
        entries = slice(indptr[row], indptr[row + 1])
        end = starts[row] + counts[entries].sum()
        sweeps_of_document(
            words[entries],
            counts[entries],
            assignments[starts[row] : end],
            topics,
            tables,
            num_sweeps,
            first,
            open_member(family, documents[row]),
            np.empty(num_topics, np.int32),
            np.empty(num_topics, np.int32),
            np.empty(num_topics, np.int32),
            np.empty(num_topics, np.float32),
        )


_redraw_forms = TwoForms(_redraw, worth_threads=10_000)


def gibbs_sweeps(
    batch: Minibatch,
    starts: Int[np.ndarray, " S"],
    assignments: UInt[np.ndarray, " n"],
    topics: Float[np.ndarray, "W K"],
    doc_topic_prior: Float[np.ndarray, " K"],
    *,
    sweeps: int,
    first: bool,
    streams: Family,
    tables: Float[np.ndarray, "W K"] | None = None,
) -> None:
    """Sweep over the tokens of a minibatch; the assignments are changed in place.

    Args:
        batch: Documents; their numbers are the items of the random streams.
        starts: The place in ``assignments`` at which each document's tokens begin.
        assignments: z of all tokens, in the order of the entries.
        topics: pi of the minibatch's words, float32.
        doc_topic_prior: alpha, float32.
        sweeps: Number of sweeps over each document.
        first: Whether these documents have no assignments yet.
        streams: Random streams of the sweeps.
        tables: `prior_tables` of these topics and this prior, where they are known; None: made here.
    """
    tables = prior_tables(topics, doc_topic_prior) if tables is None else tables
    rows, work = batch.indptr, sweeps * batch.num_tokens
    _redraw_forms(
        work,
        batch.documents,
        rows,
        batch.words,
        batch.counts,
        starts,
        assignments,
        topics,
        tables,
        sweeps,
        first,
        streams.word,
    )


@numba.njit(cache=True)
def gather(starts: np.ndarray, ends: np.ndarray, assignments: np.ndarray) -> np.ndarray:
    """The assignments of some documents, one document after the other."""
    number = 0
    for row in range(starts.shape[0]):
        number += ends[row] - starts[row]
    out, at = np.empty(number, assignments.dtype), 0
    for row in range(starts.shape[0]):
        for token in range(starts[row], ends[row]):
            out[at] = assignments[token]
            at += 1
    return out


@numba.njit(cache=True)
def scatter(starts: np.ndarray, ends: np.ndarray, gathered: np.ndarray, assignments: np.ndarray) -> None:
    """Write assignments in the order of `gather` back to their places."""
    at = 0
    for row in range(starts.shape[0]):
        for token in range(starts[row], ends[row]):
            assignments[token] = gathered[at]
            at += 1


@numba.njit(cache=True)
def add_counts(words: np.ndarray, counts: np.ndarray, after: np.ndarray, word_topic: np.ndarray) -> None:
    """Add the assignments ``after``, in the order of the entries, to the counts N [V, K]."""
    token = 0
    for entry in range(words.shape[0]):
        for _ in range(counts[entry]):
            word_topic[words[entry], after[token]] += 1
            token += 1
