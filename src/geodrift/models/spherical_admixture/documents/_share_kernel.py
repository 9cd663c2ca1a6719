r"""Mixtures given the topics where alpha is below 1: Metropolis moves of how two topics share their sum.

The density of `_mixture_kernel` is then infinite at the faces of the simplex, near which much of the
mass is, some of it at 1e-30; no trajectory follows it there. So two topics i and j divide what they have,
theta_i + theta_j, anew. Under the prior alone the share of i has the law Beta(alpha_i, alpha_j) whatever
the sum, and there are two proposals, at random: one from that law, whose Metropolis ratio is that of the
likelihoods; and a step of the share's log odds, even between plus and minus a length that is between 0.02 and
20, evenly in its logarithm. The first topic is drawn by its weight and the second evenly, so that every
move has something to divide: a pair is drawn with the probability (theta_i + theta_j) / (K - 1), and after
the move with the same.

Of the likelihood a move changes v'beta theta, by delta (c_i - c_j), and theta'G theta, by
delta 2 ((G theta)_i - (G theta)_j) + delta^2 (G_ii + G_jj - 2 G_ij). With G theta kept, a move costs a
few logarithms, and 2 K additions where it is accepted.
"""

import math

import numba
import numpy as np

from geodrift.kernels._random_streams import open_member, uniform
from geodrift.kernels._two_forms import TwoForms
from geodrift.kernels._vectors import copy, copy_as_shares

LEAST = float(np.finfo(np.float32).tiny)  # of a mixture: chains store them in single precision
LOG_LEAST_STEP, LOG_MOST_STEP = math.log(0.02), math.log(20.0)


@numba.njit(cache=True, error_model="numpy")
def _share_of_prior(first: float, second: float, stream: np.uint64) -> tuple[float, np.uint64]:
    """Log odds of a draw from Beta(first, second), both at most 1 (Joehnk 1964), and the stream after it."""
    while True:
        one, stream = uniform(stream)
        other, stream = uniform(stream)
        log_one, log_other = math.log(one) / first, math.log(other) / second
        # In logarithms: where alpha is small both powers may be too small for a number.
        larger = max(log_one, log_other)
        if larger + math.log1p(math.exp(-abs(log_one - log_other))) <= 0.0:
            return log_one - log_other, stream


@numba.njit(cache=True, error_model="numpy")
def _divided(total: float, log_odds: float) -> tuple[float, float]:
    """Two weights of a sum with such log odds of the first."""
    smaller = math.exp(-abs(log_odds))
    larger = total / (1.0 + smaller)
    first, second = (larger, smaller * larger) if log_odds > 0.0 else (smaller * larger, larger)
    return max(first, LEAST), max(second, LEAST)


@numba.njit(cache=True, error_model="numpy")
def _topic_by_weight(theta: np.ndarray, stream: np.uint64) -> tuple[int, np.uint64]:
    """A topic drawn with the probabilities ``theta``, and the stream after it."""
    chance, stream = uniform(stream)
    total, last = 0.0, theta.shape[0] - 1
    for i in range(last):
        total += theta[i]
        if chance < total:
            return i, stream
    return last, stream


@numba.njit(cache=True, error_model="numpy")
def _proposed(
    one: float, other: float, first: float, second: float, stream: np.uint64
) -> tuple[float, float, float, np.uint64]:
    """New weights of two topics that had ``one`` and ``other``, under the prior's ``first`` and ``second``.

    Returns:
        The weights, the log ratio of the prior's densities over that of the proposals, and the stream after
        the draws. The density of log odds is that of the shares to the powers ``first`` and ``second``; what
        is proposed from the prior is from Beta(min(first, 1), min(second, 1)).
    """
    total = one + other
    chance, stream = uniform(stream)
    if chance < 0.5:
        log_odds, stream = _share_of_prior(min(first, 1.0), min(second, 1.0), stream)
        first, second = first - min(first, 1.0), second - min(second, 1.0)
    else:
        along, stream = uniform(stream)
        length = math.exp(LOG_LEAST_STEP + 2.0 * (chance - 0.5) * (LOG_MOST_STEP - LOG_LEAST_STEP))
        log_odds = math.log(one / other) + length * (2.0 * along - 1.0)
    new_one, new_other = _divided(total, log_odds)
    log_ratio = 0.0
    if first > 0.0:
        log_ratio += first * math.log(new_one / one)
    if second > 0.0:
        log_ratio += second * math.log(new_other / other)
    return new_one, new_other, log_ratio, stream


@numba.njit(cache=True, error_model="numpy")
def _move_shares(
    theta: np.ndarray,
    projection: np.ndarray,
    gram: np.ndarray,
    concentration: float,
    prior: np.ndarray,
    from_gram: np.ndarray,
    num_moves: int,
    stream: np.uint64,
) -> tuple[float, np.uint64]:
    """Moves of random pairs of topics, with ``theta`` changed in place; ``from_gram`` is room for G theta.

    Returns:
        The mean acceptance probability and the stream after the moves.
    """
    size = theta.shape[0]
    from_gram[:] = 0.0
    for k in range(size):
        for i in range(size):
            from_gram[i] += gram[k, i] * theta[k]
    dot, squared, acceptance = 0.0, 0.0, 0.0
    for i in range(size):
        dot += projection[i] * theta[i]
        squared += from_gram[i] * theta[i]
    cosine = dot / math.sqrt(squared)
    for _ in range(num_moves):
        i, stream = _topic_by_weight(theta, stream)
        chance, stream = uniform(stream)
        j = min(int(chance * (size - 1)), size - 2)
        j += j >= i
        new_i, new_j, log_ratio, stream = _proposed(theta[i], theta[j], prior[i], prior[j], stream)
        delta = 0.5 * ((new_i - theta[i]) - (new_j - theta[j]))
        new_dot = dot + delta * (projection[i] - projection[j])
        new_squared = squared + delta * (
            2.0 * (from_gram[i] - from_gram[j]) + delta * (gram[i, i] + gram[j, j] - 2.0 * gram[i, j])
        )
        new_cosine = new_dot / math.sqrt(new_squared)
        log_ratio += concentration * (new_cosine - cosine)
        accept = math.exp(min(0.0, log_ratio)) if log_ratio == log_ratio else 0.0  # NaN is a rejection
        acceptance += accept / num_moves
        chance, stream = uniform(stream)
        if chance < accept:
            theta[i], theta[j], dot, squared, cosine = new_i, new_j, new_dot, new_squared, new_cosine
            for k in range(size):
                from_gram[k] += delta * (gram[i, k] - gram[j, k])
    return acceptance, stream


def _draw_mixtures_by_shares(
    mixtures: np.ndarray,
    projections: np.ndarray,
    gram: np.ndarray,
    concentration: float,
    prior: np.ndarray,
    num_sweeps: int,
    burn_in: int,
    num_draws: int,
    family: np.uint64,
    documents: np.ndarray,
    draws: np.ndarray,
) -> np.ndarray:
    """Draw mixtures into ``draws``, return acceptance rates [S]; in a sweep a topic moves once on average."""
    size = mixtures.shape[1]
    num_moves = (num_sweeps * size + 1) // 2
    acceptance = np.zeros(mixtures.shape[0])
    for s in numba.prange(mixtures.shape[0]):
        stream = open_member(family, documents[s])
        theta, from_gram = np.empty(size), np.empty(size)
        for i in range(size):
            theta[i] = max(mixtures[s, i], LEAST)
        for n in range(burn_in + num_draws):
            rate, stream = _move_shares(
                theta, projections[s], gram, concentration, prior, from_gram, num_moves, stream
            )
            acceptance[s] += rate / (burn_in + num_draws)
            if n >= burn_in:
                copy(theta, draws[s, n - burn_in])
        copy_as_shares(theta, mixtures[s])
    return acceptance


draw_mixtures_by_shares = TwoForms(_draw_mixtures_by_shares, worth_threads=10_000)  # moves
