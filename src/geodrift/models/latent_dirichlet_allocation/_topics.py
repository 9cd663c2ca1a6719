r"""The topics given all assignments: Dirichlet draws, of the words that are needed and no more.

Given all assignments, topic k is Dirichlet(eta + N_k.), independent of the others. By the aggregation of a
Dirichlet, with W of V words in a minibatch,

.. math::

    g_{kw} \sim \mathrm{Gamma}(\eta + N_{kw}), \quad
    R_k \sim \mathrm{Gamma}\Big(\sum_{w' \notin W} (\eta + N_{kw'})\Big), \quad
    \pi_{kw} = \frac{g_{kw}}{\sum_{W} g_k + R_k}

has exactly the law of those W entries, at a cost of O(K W) for a vocabulary of any size.
"""

import math

import numba
import numpy as np
from jaxtyping import Float, Int, Real

from geodrift.kernels._gamma import gamma
from geodrift.kernels._normal_exponential import exponential
from geodrift.kernels._random_streams import open_member
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._two_forms import TwoForms

# Of a draw below this the quotient with any topic's sum is 0 in single precision, and in a cumulative sum
# beside a word's other topics long before.
_LEAST_LOG = -80.0
# Items of streams in the place of a word: R_k of all topics; those below are of one topic each.
_REST = -2


@numba.njit(cache=True)
def _gamma_or_nothing(shape: float, stream: np.uint64) -> tuple[float, np.uint64]:
    """A Gamma draw and the stream after it; 0 where shape < 1 and it is below exp(`_LEAST_LOG`) or so."""
    if shape >= 1.0:
        return gamma(shape, stream)
    # Gamma(s) = Gamma(s + 1) U^(1/s).
    fall, stream = exponential(stream)
    if -fall / shape < _LEAST_LOG:
        return 0.0, stream
    draw, stream = gamma(shape + 1.0, stream)
    return draw * math.exp(-fall / shape), stream


def _gammas(word_topic: np.ndarray, words: np.ndarray, prior: float, family: np.uint64) -> np.ndarray:
    """Gamma(prior + N_kw) for the given words, [W, K]; a stream for each word."""
    num_topics = word_topic.shape[1]
    draws = np.empty((words.shape[0], num_topics))
    for i in numba.prange(words.shape[0]):
        stream = open_member(family, words[i])
        for topic in range(num_topics):
            draws[i, topic], stream = _gamma_or_nothing(prior + word_topic[words[i], topic], stream)
    return draws


_gammas_forms = TwoForms(_gammas, worth_threads=20_000)


@numba.njit(cache=True)
def draw_sums(shapes: np.ndarray, family: np.uint64) -> np.ndarray:
    """Gamma draws of one shape a topic, [K]: R_k. 0 where a shape is 0."""
    stream = open_member(family, _REST)
    draws = np.zeros(shapes.shape[0])
    for topic in range(shapes.shape[0]):
        if shapes[topic] > 0.0:
            draws[topic], stream = _gamma_or_nothing(shapes[topic], stream)
    return draws


@numba.njit(cache=True)
def _tiny(shapes: np.ndarray, item: int | np.integer, family: np.uint64) -> np.ndarray:
    """Gamma draws divided by the largest of them, given that each is 0 by `_gamma_or_nothing`.

    Given that an exponential is above a bound, what it is beyond the bound is exponential again: the draws
    are exp(`_LEAST_LOG`) times Gamma draws of the same shapes.
    """
    stream, logs = open_member(family, item), np.full(shapes.shape[0], -np.inf)
    for i in range(shapes.shape[0]):
        if shapes[i] > 0.0:
            draw, stream = gamma(shapes[i] + 1.0, stream)
            fall, stream = exponential(stream)
            logs[i] = math.log(draw) - fall / shapes[i]
    return np.exp(logs - logs.max())


def draw_topics(
    word_topic: Int[np.ndarray, "V K"],
    topic_totals: Real[np.ndarray, " K"],
    words: Int[np.ndarray, " W"],
    prior: float,
    streams: Family,
) -> Float[np.ndarray, "W K"]:
    """An exact joint draw of the topics' entries for some words, given all assignments.

    Args:
        word_topic: N, [V, K].
        topic_totals: Its sums over words, [K].
        words: Distinct words, [W].
        prior: eta, each word's Dirichlet parameter.
        streams: Random streams of the draw.

    Returns:
        pi, [W, K] float32; its columns sum to 1 where ``words`` are all words.
    """
    family = streams.word
    draws = _gammas_forms(len(words) * word_topic.shape[1], word_topic, words, prior, family)
    others = word_topic.shape[0] - len(words)
    inside = word_topic[words].sum(axis=0, dtype=np.int64)
    rest_shapes = prior * others + (topic_totals - inside if others else 0.0 * inside)
    rest = draw_sums(rest_shapes, family)
    sums = draws.sum(axis=0) + rest
    for topic in np.flatnonzero(sums == 0.0):
        shapes = np.append(prior + word_topic[words, topic], rest_shapes[topic])
        drawn = _tiny(shapes, _REST - 1 - topic, family)
        draws[:, topic], sums[topic] = drawn[:-1], drawn.sum()
    return (draws / sums).astype(np.float32)


def expected_topics(
    word_topic: Real[np.ndarray, "W K"], topic_totals: Real[np.ndarray, " K"], prior: float, num_words: int
) -> Float[np.ndarray, "W K"]:
    """The topics' mean given all assignments, (eta + N_kw) / (V eta + N_k), [W, K] float32."""
    scale = np.float32(1.0) / (topic_totals + prior * num_words).astype(np.float32)
    return (word_topic.astype(np.float32) + np.float32(prior)) * scale
