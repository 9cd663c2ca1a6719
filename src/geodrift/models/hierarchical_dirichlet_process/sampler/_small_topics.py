r"""What the small topics have in a draw together, compiled.

A process has hundreds of topics with a handful of tokens each, and hardly any of them is in a given document
or has a given word. Of a token of document d and word w, with :math:`s_k = \rho_k / (V_b \eta + N_k)`,

.. math:: \sum_k (\alpha_k + n_{dk})\, s_k\, (\eta + N_{kw})
    = \eta \sum_k \alpha_k s_k + \sum_k \alpha_k s_k N_{kw} + \sum_k s_k\, n_{dk} (\eta + N_{kw}),

over the small topics. The first sum is kept up to date as the s_k change; in the second only topics count
that the word has, in the third those of the document. Sets of these are kept as bits
(`geodrift.kernels._bits`); a topic that is in a set and has no token there adds 0.
"""

import numba
import numpy as np

from geodrift.kernels._bits import BITS, lowest, put, take

Whole = int | np.integer
Real = float | np.floating
_TO_UNIT = 2.0**-53
_NONE, _ONE = np.uint64(0), np.uint64(1)


@numba.njit(cache=True, error_model="numpy")
def small_shares(first: Whole, scale: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """alpha_k s_k of the topics from ``first`` on, float32."""
    shares = np.zeros(max(alpha.shape[0] - first, 0), np.float32)
    for small in range(shares.shape[0]):
        shares[small] = alpha[first + small] * scale[first + small]
    return shares


@numba.njit(cache=True, error_model="numpy")
def move_small(
    by: Whole, topic: Whole, word: Whole, row: Whole, place: Whole, tables: tuple, small: tuple, prior: Real
) -> float:
    """Add a token to a small topic's counts (``by`` is 1), or take it out (-1).

    Args:
        by: 1 or -1.
        topic: Its number among the small ones.
        word: w.
        row: Of the document.
        place: That of its N_kw in the first table.
        tables: N_kw of all topics; the small topics of each word and of each document, as bits; their n_dk.
        small: N_kb, rho_kb, alpha, scales s_k and shares alpha_k s_k of the small topics.
        prior: V_b eta.

    Returns:
        What the sum of the shares gains.
    """
    word_topic, of_words, of_documents, in_small = tables
    in_part, masses, alpha, scale, shares = small
    in_small[row, topic] += by
    word_topic[place] += by
    in_part[topic] += by
    if by > 0:
        put(of_documents, row, topic)
        put(of_words, word, topic)
    else:
        if in_small[row, topic] == 0:
            take(of_documents, row, topic)
        if word_topic[place] == 0:
            take(of_words, word, topic)
    before = np.float64(shares[topic])
    scale[topic] = masses[topic] / (prior + in_part[topic])
    shares[topic] = alpha[topic] * scale[topic]
    return np.float64(shares[topic]) - before


@numba.njit(cache=True, error_model="numpy")
def draw_small(
    bits: np.uint64,
    weight: Real,
    word: Whole,
    row: Whole,
    begin: Whole,
    tables: tuple,
    small: tuple,
    eta: Real,
) -> int:
    """Draw one of the small topics, whose weight is ``weight``, by 53 of the random ``bits``.

    Their N_kw are at ``begin`` and after it; the tables and ``small`` are those of `move_small`.
    """
    word_topic, of_words, of_documents, in_small = tables
    _, _, _, scale, shares = small
    level = np.float64(bits >> np.uint64(11)) * _TO_UNIT * weight
    for block in range(of_words.shape[1]):
        left = of_words[word, block]
        while left != _NONE:
            topic = block * BITS + lowest(left)
            left &= left - _ONE
            level -= np.float64(shares[topic]) * word_topic[begin + topic]
            if level < 0.0:
                return topic
    for block in range(of_words.shape[1]):
        left = of_documents[row, block]
        while left != _NONE:
            topic = block * BITS + lowest(left)
            left &= left - _ONE
            level -= np.float64(scale[topic]) * in_small[row, topic] * (eta + word_topic[begin + topic])
            if level < 0.0:
                return topic
    last = 0
    for topic in range(shares.shape[0]):
        own = np.float64(shares[topic]) * eta
        level -= own
        if own > 0.0:
            last = topic
        if level < 0.0:
            return topic
    return last  # rounding took the level beyond the end
