r"""Topics merged to fewer: the pairs whose union costs the least of the joint probability.

A chain that starts with as many topics as are asked for soon has two themes in one topic and one theme in
two, and keeps them: no single token's move leads from the one to the other. With more topics than themes
every theme finds a topic of its own, and the topics too many are copies or parts of others. Merging topics i
and j changes the log joint (see `_log_joint`) by

.. math:: \Delta_{ij} = \sum_w g_\eta(N_{iw}, N_{jw}) + \sum_d g_\alpha(n_{di}, n_{dj})
    - g_{V \eta}(N_i, N_j), \qquad
    g_a(x, y) = \log \frac{\Gamma(a + x + y)\, \Gamma(a)}{\Gamma(a + x)\, \Gamma(a + y)},

which needs counts alone. The pair of largest difference is merged until the number asked for is left.
"""

import math

import numba
import numpy as np
from jaxtyping import Bool, Float, Int, Shaped, UInt
from scipy.special import gammaln

from geodrift.models.latent_dirichlet_allocation.documents._vector_draw import padded

DOCUMENTS = 20_000  # that the sum over documents is taken of, evenly spaced; it is scaled up to all of them
_TABLE = 2**16  # counts whose log-gamma functions are kept


@numba.njit(cache=True, error_model="numpy")
def _rise(prior: float, table: np.ndarray, count: int) -> float:
    """Log Gamma(prior + count)."""
    return table[count] if count < len(table) else math.lgamma(prior + count)


@numba.njit(cache=True, error_model="numpy")
def _of_all_pairs(counts: np.ndarray, prior: float, table: np.ndarray) -> np.ndarray:
    """Sum over the rows of ``counts``, [row, topic], of g of each pair of topics; few of a row are not 0."""
    num_topics = counts.shape[1]
    found = np.zeros((num_topics, num_topics))
    here, alone = np.empty(num_topics, np.int64), np.empty(num_topics)
    for row in range(counts.shape[0]):
        number = 0
        for topic in range(num_topics):
            if counts[row, topic]:
                here[number] = topic
                alone[number] = _rise(prior, table, counts[row, topic])
                number += 1
        for i in range(number):
            for j in range(i):
                both = counts[row, here[i]] + counts[row, here[j]]
                found[here[i], here[j]] += _rise(prior, table, both) + table[0] - alone[i] - alone[j]
    return found + found.T


@numba.njit(cache=True, error_model="numpy")
def _of_one(topic: int, counts: np.ndarray, alive: np.ndarray, prior: float, table: np.ndarray) -> np.ndarray:
    """The same sums of one topic and each of those alive."""
    found = np.zeros(len(alive))
    for row in range(counts.shape[0]):
        own = counts[row, topic]
        if own:
            alone = _rise(prior, table, own) - table[0]
            for place in range(len(alive)):
                other = counts[row, alive[place]]
                if other:
                    found[place] += _rise(prior, table, own + other) - _rise(prior, table, other) - alone
    return found


@numba.njit(cache=True, error_model="numpy")
def _counts_of(
    documents: np.ndarray, starts: np.ndarray, assignments: np.ndarray, num_topics: int
) -> np.ndarray:
    counts = np.zeros((len(documents), num_topics), np.int32)
    for row in range(len(documents)):
        for token in range(starts[documents[row]], starts[documents[row] + 1]):
            counts[row, assignments[token]] += 1
    return counts


def merged(
    in_words: Int[np.ndarray, "V K"],
    starts: Int[np.ndarray, " start"],
    seen: Bool[np.ndarray, " D"],
    assignments: UInt[np.ndarray, " n"],
    document_prior: Float[np.ndarray, " L"],
    topic_word_prior: float,
) -> Int[np.ndarray, " K"]:
    """Merge topics until those asked for are left.

    Args:
        in_words: N_kw, of the documents seen.
        starts: The place in ``assignments`` at which each document's tokens begin, and their number.
        seen: Whether a document has assignments.
        assignments: The topic of each token.
        document_prior: alpha of the topics that are left; topics are merged under its mean.
        topic_word_prior: eta.

    Returns:
        For each topic the number of the one it is now part of; the largest has the largest alpha.
    """
    doc_topic_prior = float(document_prior.mean(dtype=np.float64))
    words = np.array(in_words)
    documents = np.flatnonzero(seen)
    chosen = documents[np.linspace(0, len(documents) - 1, min(DOCUMENTS, len(documents))).astype(int)]
    in_documents = _counts_of(chosen, starts, assignments, words.shape[1])
    scale, sizes = len(documents) / max(1, len(chosen)), words.sum(axis=0)
    whole = len(words) * topic_word_prior
    parts = ((words, topic_word_prior, 1.0), (in_documents, doc_topic_prior, scale))
    tables = {prior: gammaln(prior + np.arange(_TABLE)) for prior in (topic_word_prior, doc_topic_prior)}

    def of_sizes(topic: int | slice, others: np.ndarray) -> Float[np.ndarray, "..."]:
        """What the topics' sizes add."""
        one = np.atleast_1d(sizes[topic])[:, None]
        union = gammaln(whole + one + sizes[others]) + gammaln(whole)
        return gammaln(whole + one) + gammaln(whole + sizes[others]) - union

    alive, part_of = np.arange(words.shape[1]), np.arange(words.shape[1])
    table = of_sizes(slice(None), alive) + sum(
        weight * _of_all_pairs(counts, prior, tables[prior]) for counts, prior, weight in parts
    )
    np.fill_diagonal(table, -np.inf)
    while len(alive) > len(document_prior):
        among = table[np.ix_(alive, alive)]
        kept, gone = alive[list(np.unravel_index(among.argmax(), among.shape))].tolist()
        part_of[part_of == gone] = kept
        for counts in (words, in_documents):
            counts[:, kept] += counts[:, gone]
        sizes[kept] += sizes[gone]
        alive = alive[alive != gone]
        table[kept, alive] = table[alive, kept] = of_sizes(kept, alive)[0] + sum(
            weight * _of_one(kept, counts, alive, prior, tables[prior]) for counts, prior, weight in parts
        )
        table[kept, kept] = -np.inf
    places = np.empty(words.shape[1], np.int64)
    by_size = alive[np.argsort(-sizes[alive], kind="stable")]
    places[by_size] = np.argsort(-document_prior, kind="stable")
    return places[part_of]


def gathered(
    counts: Shaped[np.ndarray, "row K"], places: Int[np.ndarray, " n"], num_topics: int
) -> Shaped[np.ndarray, "row L"]:
    """Counts of topics, each added to that of its place; padded to whole vectors."""
    found = np.zeros((len(counts), padded(num_topics)), counts.dtype)
    for topic, place in enumerate(places):
        found[:, place] += counts[:, topic]
    return found
