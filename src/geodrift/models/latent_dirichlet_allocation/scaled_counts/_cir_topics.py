r"""Exact Cox-Ingersoll-Ross moves of all topics at once, in log space; Baker et al. (2018), section 4.1.

.. math:: d\theta_{kw} = (\hat a_{kw} - \theta_{kw})\,dt + \sqrt{2 \theta_{kw}}\,dW, \quad
    \hat a_{kw} = \eta + \hat N_{kw}

Each entry moves as in `geodrift.processes.host_cox_ingersoll_ross`; here the shapes are computed on the way,
and the topics' sums with the moves.
"""

import math

import numba
import numpy as np
from jaxtyping import Float, Int

from geodrift.kernels._cox_ingersoll_ross import log_move
from geodrift.kernels._random_streams import open_member
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._two_forms import TwoForms

BLOCK = 64  # words whose part of the topics' sums one thread adds up
# A theta below e^-30 adds nothing to a sum, which is about eta V at least.
NOTHING = -30.0


def _moves(
    log_theta: np.ndarray,
    place: np.ndarray,
    counts: np.ndarray,
    prior: float,
    log_factors: np.ndarray,
    step_size: float,
    family: np.uint64,
    sums: np.ndarray,
) -> None:
    log_growth = math.log(math.expm1(step_size)) if step_size < 700.0 else step_size
    log_scale = math.log(-math.expm1(-step_size))
    num_words, num_topics = log_theta.shape
    for block in numba.prange(sums.shape[0]):
        for word in range(block * BLOCK, min((block + 1) * BLOCK, num_words)):
            row = place[word]
            for topic in range(num_topics):
                shape = prior + counts[row, topic] if row >= 0 else prior
                log_mean = log_theta[word, topic] + log_factors[topic] - log_growth
                moved = log_scale + log_move(log_mean, shape, open_member(family, word * num_topics + topic))
                log_theta[word, topic] = moved
                if moved > NOTHING:
                    sums[block, topic] += math.exp(moved)


_forms = TwoForms(_moves, worth_threads=4096)


def move_topics(
    log_theta: Float[np.ndarray, "V K"],
    place: Int[np.ndarray, " V"],
    counts: Float[np.ndarray, "W K"],
    prior: float,
    log_factors: Float[np.ndarray, " K"],
    step_size: float,
    streams: Family,
) -> Float[np.ndarray, " K"]:
    """Move every entry of the topics once, in place.

    Args:
        log_theta: Float32; minus infinity stands for 0.
        place: Row of ``counts`` of each word; -1 for a word that has none.
        counts: Estimates of N_kw, not negative.
        prior: eta, each word's Dirichlet parameter.
        log_factors: Logs of the factors by which each topic is multiplied before the move.
        step_size: h, the time in the equation.
        streams: Random streams of the moves; the item of an entry is w K + k.

    Returns:
        The sums of theta over words.
    """
    num_words, num_topics = log_theta.shape
    sums = np.zeros((-(-num_words // BLOCK), num_topics))
    _forms(log_theta.size, log_theta, place, counts, prior, log_factors, step_size, streams.word, sums)
    return sums.sum(axis=0)
