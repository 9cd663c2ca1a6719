r"""Draws of the topic of all tokens at once that a document has in one topic.

Of a small alpha_0 a document has few topics, and a token by itself hardly ever leaves the one that the others
are in: two topics that are one stay two. The tokens of document d in topic k are therefore moved together, as
Teh et al. (2006, section 5.1) draw the dish of a table: n tokens, c_w of them of word w, without them in the
counts,

.. math:: p(b \mid \text{rest}) \propto \prod_{i < n} \frac{\alpha_b + i}{V \eta + N_b + i}
    \prod_w \prod_{j < c_w} (\eta + N_{bw} + j),

among the open topics b that have no other token of the document. How the document's tokens are divided stays,
so this is a Gibbs draw of a part's label; parts and topics' masses need nothing, being integrated out here.
"""

import math

import numba
import numpy as np

from geodrift.kernels._bits import put
from geodrift.kernels._random_streams import next_word, open_member
from geodrift.kernels._vectors import sum_of_rows

_TO_UNIT = 2.0**-53
_UNTIL_LOG = 8  # factors: their product underflows of topics alone that are no choice


@numba.njit(cache=True, error_model="numpy")
def _take(
    own: np.ndarray,
    words: np.ndarray,
    topic: int | np.integer,
    by: int,
    parts: np.ndarray,
    word_topic: np.ndarray,
    in_parts: np.ndarray,
    in_topics: np.ndarray,
    large: int,
    of_words: np.ndarray,
) -> None:
    """Add the tokens ``own`` of a document to a topic's counts (``by`` is 1), or take them out (-1)."""
    for token in own:
        if topic >= large:
            put(of_words, words[token], topic - large)
        word_topic[words[token], topic] += by
        in_parts[parts[words[token]], topic] += by
    in_topics[topic] += by * own.shape[0]


@numba.njit(cache=True, error_model="numpy")
def _logs(
    own: np.ndarray,
    words: np.ndarray,
    word_topic: np.ndarray,
    in_topics: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    whole: float,
    logs: np.ndarray,
    product: np.ndarray,
) -> None:
    """Fill ``logs`` with the log weight of each topic for the tokens ``own``, whose words do not decrease."""
    logs[:], product[:] = 0.0, 1.0
    repeats, last = 0, -1
    for i in range(own.shape[0]):
        word = words[own[i]]
        repeats = repeats + 1 if word == last else 0
        last = word
        counts = word_topic[word]
        for topic in range(alpha.shape[0]):
            product[topic] *= (
                (eta + repeats + counts[topic]) * (alpha[topic] + i) / (whole + in_topics[topic] + i)
            )
        if i % _UNTIL_LOG == _UNTIL_LOG - 1 or i == own.shape[0] - 1:
            for topic in range(alpha.shape[0]):
                logs[topic] += math.log(product[topic])
                product[topic] = 1.0


@numba.njit(cache=True, error_model="numpy")
def _choice(logs: np.ndarray, allowed: np.ndarray, unit: float) -> int:
    """A place among those allowed, with probability proportional to exp(logs)."""
    most, total, chosen = -np.inf, 0.0, -1
    for place in range(logs.shape[0]):
        if allowed[place]:
            most = max(most, logs[place])
    for place in range(logs.shape[0]):
        if allowed[place]:
            total += math.exp(logs[place] - most)
    level = unit * total
    for place in range(logs.shape[0]):
        if allowed[place]:
            chosen = place
            level -= math.exp(logs[place] - most)
            if level < 0.0:
                break
    return chosen


@numba.njit(cache=True, error_model="numpy")
def move_blocks(
    documents: np.ndarray,
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    starts: np.ndarray,
    assignments: np.ndarray,
    parts: np.ndarray,
    word_topic: np.ndarray,
    in_parts: np.ndarray,
    alpha: np.ndarray,
    is_open: np.ndarray,
    eta: float,
    large: int,
    of_words: np.ndarray,
    family: np.uint64,
) -> None:
    """Redraw the topic of every part of some documents; assignments and counts are changed in place.

    ``documents`` are numbers, which name the streams; document s has the entries from ``indptr[s]`` on, of
    the words ``words`` with ``counts`` tokens each, and its assignments begin at ``starts[s]``. ``parts`` has
    the part of the vocabulary of each word, whose sums are ``in_parts``; ``large`` and ``of_words`` are
    those of `TopicTable`.
    """
    number_of_topics, whole = alpha.shape[0], eta * word_topic.shape[0]
    in_topics = sum_of_rows(in_parts)
    logs, product = np.empty(number_of_topics), np.empty(number_of_topics)
    numbers, allowed = np.zeros(number_of_topics, np.int64), np.empty(number_of_topics, np.bool_)
    for row in range(documents.shape[0]):
        length = np.int64(0)
        for entry in range(indptr[row], indptr[row + 1]):
            length += counts[entry]
        of_document, topics = np.empty(length, np.int64), assignments[starts[row] : starts[row] + length]
        done = np.zeros(length, np.bool_)
        token = 0
        for entry in range(indptr[row], indptr[row + 1]):
            for _ in range(counts[entry]):
                of_document[token] = words[entry]
                numbers[topics[token]] += 1
                token += 1
        stream = open_member(family, documents[row])
        # In the order of their first tokens, which no move changes.
        for first in range(length):
            now = int(topics[first])
            if done[first] or not is_open[now]:
                continue
            own = np.flatnonzero(topics == now)
            done[own] = True
            for topic in range(number_of_topics):
                allowed[topic] = is_open[topic] and (topic == now or numbers[topic] == 0)
            _take(own, of_document, now, -1, parts, word_topic, in_parts, in_topics, large, of_words)
            _logs(own, of_document, word_topic, in_topics, alpha, eta, whole, logs, product)
            bits, stream = next_word(stream)
            new = _choice(logs, allowed, np.float64(bits >> np.uint64(11)) * _TO_UNIT)
            _take(own, of_document, new, 1, parts, word_topic, in_parts, in_topics, large, of_words)
            numbers[now] = 0
            numbers[new] = own.shape[0]
            topics[own] = new
        numbers[:] = 0
