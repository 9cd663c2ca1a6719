r"""One draw of an assignment at a cost that grows with the topics of its document, not with K.

The weights of `_sweeps`, of a token of document d and word w in part b, are a sum of four parts. With
:math:`s_k = \rho_{kb} / (V_b \eta + N_{kb})` and the word's counts N_kw as M_k of the tokens of a *visit* (up
to `VISIT` tokens of the word, of one group of documents, drawn one after the other) and N'_k of all others,

.. math:: (\alpha_k + n_{dk})\, s_k\, (\eta + N_{kw}) =
    n_{dk}\, s_k (\eta + N_{kw}) + \alpha_k s_k M_k + \alpha_k s_k N'_k + \alpha_k s_k \eta.

The first is a sum over the document's topics and the second one over the visit's tokens. The third has the
word's topics, and the last all: these two stay as they are during a visit but for s. So each has a table of
cumulative sums with a bound :math:`c_k \geq s_k` in the place of s, and a topic found in it is taken with
probability :math:`s_k / c_k`; otherwise all is drawn anew. What is taken has exactly the weights above
(rejection sampling: only accepted topics count, and each has its weight). The split by what is not zero is
that of Yao, Mimno and McCallum (2009).

Parameters of `draw`: ``topics`` and ``numbers`` are those of `TokenLists`, of which the document's list
begins at ``begin`` and has ``blocks`` vectors; ``own`` is the token's entry, whose number is taken as 1
less. The vectors of all topics are without the token: ``scale`` is s, ``products`` is s_k (eta + N_kw),
``bound`` is alpha_k c_k, ``smooth`` the cumulative sums of eta ``bound``. ``visit_topics`` and
``visit_priors`` are the topics of the visit's tokens and alpha of each, 0 for the token itself and where
there is none. The word's list of ``size`` topics begins at ``row`` of ``row_topics``; ``upto`` has its
cumulative sums of ``bound`` times N'_k, and ``of_word`` the last of them or 0. ``sums`` is work space.
"""

from typing import Any

import numba
import numpy as np

from geodrift.kernels._gathered_draw import lanes_place, lanes_sums, list_place, list_sum
from geodrift.kernels._lanes import lane_of
from geodrift.kernels._random_streams import uniform
from geodrift.kernels._vector_draw import LANES

VISIT = LANES  # tokens
TRIED = 8  # topics, before bounds are made anew: whether one is taken has the same law under any bounds


@numba.njit(cache=True, error_model="numpy", inline="always")
def first_above(table: np.ndarray, size: np.int64, level: float) -> np.int64:
    """The first place of an increasing table of ``size`` entries that exceeds ``level``; else the last."""
    low, left = np.uint64(0), np.uint64(size)
    while left > np.uint64(1):
        half = left >> np.uint64(1)
        # A product, not a branch: which half it is cannot be foreseen.
        low += half * np.uint64(table[low + half - np.uint64(1)] <= level)
        left -= half
    return np.int64(low)


@numba.njit(cache=True, error_model="numpy", inline="always")
def draw(
    begin: np.int64,
    blocks: np.int64,
    topics: np.ndarray,
    numbers: np.ndarray,
    own: np.int64,
    products: np.ndarray,
    sums: np.ndarray,
    visit_topics: Any,
    visit_priors: Any,
    scale: np.ndarray,
    of_word: float,
    upto: np.ndarray,
    row_topics: np.ndarray,
    row: np.int64,
    size: np.int64,
    smooth: np.ndarray,
    alpha: np.ndarray,
    bound: np.ndarray,
    stream: np.uint64,
) -> tuple[np.int64, np.uint64]:
    """Draw a topic; the parameters are those of the module's text.

    What is found in each of the first three parts is computed before one of them is chosen: where a processor
    guesses wrong which it is, it does much of its work twice.

    Returns:
        The topic, or -1 where `TRIED` were not taken and bounds are to be made anew; the stream after it.
    """
    of_document = np.float64(list_sum(topics, numbers, begin, blocks, products, sums, own - begin))
    of_visit = lanes_sums(visit_topics, visit_priors, scale)
    with_visit = of_document + np.float64(lane_of(of_visit, LANES - 1))
    with_word = with_visit + of_word
    total, topic, found, tried = with_word + smooth[-1], np.int64(-1), False, 0
    while not found and tried < TRIED:
        unit, stream = uniform(stream)
        level, tried = unit * total, tried + 1
        entry = begin + list_place(sums, blocks, np.float32(level))
        lane = lanes_place(of_visit, np.float32(level - of_document))
        topic = np.int64(row_topics[row + first_above(upto, size, level - with_visit)])
        if level >= with_word:
            topic = np.int64(first_above(smooth, smooth.shape[0], level - with_word))
        unit, stream = uniform(stream)
        taken = unit * bound[topic] < alpha[topic] * scale[topic]
        of_lane, of_entry = np.int64(lane_of(visit_topics, lane)), np.int64(topics[entry])
        prior, number = lane_of(visit_priors, lane), numbers[entry] - np.float32(entry == own)
        topic = of_lane if level < with_visit else topic
        topic = of_entry if level < of_document else topic
        # What rounding took beyond the last entry with a weight is drawn anew.
        taken = prior > 0.0 if level < with_visit else taken
        found = number > 0.0 if level < of_document else taken
    if not total > 0.0:
        topic = np.int64(unit * alpha.shape[0])
    elif not found:
        topic = np.int64(-1)
    return topic, stream
