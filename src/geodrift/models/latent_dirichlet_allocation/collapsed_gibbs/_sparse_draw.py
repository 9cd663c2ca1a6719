r"""One draw of an assignment at a cost that grows with the topics of its document, not with K.

The weights of `_sweeps`, of a token of document d and word w in part b, are a sum of four parts. With
:math:`s_k = \rho_{kb} / (V_b \eta + N_{kb})` and the word's counts N_kw as M_k of the tokens of a *visit* (up to
`VISIT` tokens of the word, of one group of documents, drawn one after the other) and N'_k of all others,

.. math:: (\alpha_k + n_{dk})\, s_k\, (\eta + N_{kw}) =
    n_{dk}\, s_k (\eta + N_{kw}) + \alpha_k s_k M_k + \alpha_k s_k N'_k + \alpha_k s_k \eta.

The first is a sum over the document's topics and the second one over the visit's tokens. The third has the
word's topics, and the last all: these two stay as they are during a visit but for s. So each has a table of
cumulative sums with a bound :math:`c_k \geq s_k` in the place of s, and a topic found in it is taken with
probability :math:`s_k / c_k`; otherwise all is drawn anew. What is taken has exactly the weights above
(rejection sampling: only accepted topics count, and each has its weight). The split by what is not zero is
that of Yao, Mimno and McCallum (2009).
"""

import numba
import numpy as np

from geodrift.kernels._gathered_draw import list_place, list_sum
from geodrift.kernels._random_streams import uniform

VISIT = 16  # tokens
TRIED = 8  # topics, before bounds are made anew: whether one is taken has the same law under any bounds


@numba.njit(cache=True, error_model="numpy", inline="always")
def first_above(table: np.ndarray, size: np.int64, level: float) -> np.int64:
    """The first place of an increasing table of ``size`` > 0 entries that exceeds ``level``; else the last."""
    low = 0
    while size > 1:
        half = size >> 1
        if table[low + half - 1] <= level:
            low += half
        size -= half
    return low


@numba.njit(cache=True, error_model="numpy", inline="always")
def draw(
    begin: np.int64,
    blocks: np.int64,
    topics: np.ndarray,
    numbers: np.ndarray,
    products: np.ndarray,
    sums: np.ndarray,
    visit_topics: np.ndarray,
    visit_priors: np.ndarray,
    scale: np.ndarray,
    visit_sums: np.ndarray,
    of_word: float,
    upto: np.ndarray,
    row_topics: np.ndarray,
    row: np.int64,
    size: np.int64,
    smooth: np.ndarray,
    alpha: np.ndarray,
    bound: np.ndarray,
    stream: np.uint64,
) -> tuple[np.int64, np.int64, np.uint64]:
    """Draw a topic.

    Args:
        begin: The document's list in ``topics`` and ``numbers``.
        blocks: Its length in vectors.
        topics: See `TokenLists`.
        numbers: n_dk without the token, see `TokenLists`.
        products: s_k (eta + N_kw) without the token.
        sums: Work space.
        visit_topics: Topics of the visit's tokens, one vector.
        visit_priors: alpha of each, 0 for the token itself and where there is none.
        scale: s.
        visit_sums: Work space.
        of_word: The last of the sums ``upto``; 0 where there are none.
        upto: Cumulative sums of alpha_k c_k N'_k over the word's list.
        row_topics: Topics of the words' lists.
        row: Where the word's list begins.
        size: Its length.
        smooth: Cumulative sums of alpha_k c_k eta.
        alpha: float64.
        bound: alpha_k c_k.
        stream: Random stream.

    Returns:
        The topic, or -1 where `TRIED` were not taken and bounds are to be made anew; its entry in the
        document's list if it was found there, or -1; and the stream after it.
    """
    of_document = np.float64(list_sum(topics, numbers, begin, blocks, products, sums))
    with_visit = of_document + np.float64(list_sum(visit_topics, visit_priors, 0, 1, scale, visit_sums))
    with_word = with_visit + of_word
    total = with_word + smooth[-1]
    entry, topic, found, tried = np.int64(-1), np.int64(-1), False, 0
    while not found and tried < TRIED:
        tried += 1
        unit, stream = uniform(stream)
        level = unit * total
        if level < of_document:
            entry = begin + list_place(sums, blocks, np.float32(level))
            topic, found = np.int64(topics[entry]), numbers[entry] > 0.0
        elif level < with_visit:
            at = list_place(visit_sums, 1, np.float32(level - of_document))
            topic, entry, found = np.int64(visit_topics[at]), np.int64(-1), visit_priors[at] > 0.0
        else:
            entry = np.int64(-1)
            if level < with_word:
                topic = np.int64(row_topics[row + first_above(upto, size, level - with_visit)])
            else:
                topic = np.int64(first_above(smooth, smooth.shape[0], level - with_word))
            unit, stream = uniform(stream)
            found = unit * bound[topic] < alpha[topic] * scale[topic]
    if not total > 0.0:
        topic = np.int64(unit * alpha.shape[0])
    elif not found:
        topic = np.int64(-1)
    return topic, entry, stream
