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
    by: Whole,
    small: Whole,
    word: Whole,
    row: Whole,
    place: Whole,
    of_words: np.ndarray,
    of_documents: np.ndarray,
    in_small: np.ndarray,
    word_topic: np.ndarray,
    in_part: np.ndarray,
    masses: np.ndarray,
    part_prior: Real,
    alpha: np.ndarray,
    scale: np.ndarray,
    shares: np.ndarray,
) -> float:
    """Add a token to a small topic's counts (``by`` is 1), or take it out (-1).

    Counts, masses, alpha and scales are those of the small topics alone; N_kw is at ``place`` of
    ``word_topic``. Returns what the sum of the shares gains.
    """
    in_small[row, small] += by
    word_topic[place] += by
    in_part[small] += by
    if by > 0:
        put(of_documents, row, small)
        put(of_words, word, small)
    else:
        if in_small[row, small] == 0:
            take(of_documents, row, small)
        if word_topic[place] == 0:
            take(of_words, word, small)
    before = np.float64(shares[small])
    scale[small] = masses[small] / (part_prior + in_part[small])
    shares[small] = alpha[small] * scale[small]
    return np.float64(shares[small]) - before


@numba.njit(cache=True, error_model="numpy")
def draw_small(
    bits: np.uint64,
    weight: Real,
    word: Whole,
    row: Whole,
    begin: Whole,
    of_words: np.ndarray,
    of_documents: np.ndarray,
    in_small: np.ndarray,
    word_topic: np.ndarray,
    scale: np.ndarray,
    shares: np.ndarray,
    prior: Real,
) -> int:
    """Draw one of the small topics, whose weight is ``weight``, by 53 of the random ``bits``.

    Their N_kw are at ``begin`` and after it in ``word_topic``.
    """
    level = np.float64(bits >> np.uint64(11)) * _TO_UNIT * weight
    for block in range(of_words.shape[1]):
        left = of_words[word, block]
        while left != _NONE:
            small = block * BITS + lowest(left)
            left &= left - _ONE
            level -= np.float64(shares[small]) * word_topic[begin + small]
            if level < 0.0:
                return small
    for block in range(of_words.shape[1]):
        left = of_documents[row, block]
        while left != _NONE:
            small = block * BITS + lowest(left)
            left &= left - _ONE
            level -= np.float64(scale[small]) * in_small[row, small] * (prior + word_topic[begin + small])
            if level < 0.0:
                return small
    last = 0
    for small in range(shares.shape[0]):
        own = np.float64(shares[small]) * prior
        level -= own
        if own > 0.0:
            last = small
        if level < 0.0:
            return small
    return last  # rounding took the level beyond the end
