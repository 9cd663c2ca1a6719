r"""Mixtures given the topics where alpha is below 1: Metropolis moves of how two topics share their sum.

The density of `_mixture_kernel` is then infinite at the faces of the simplex, near which much of the
mass is, some of it at 1e-30; no trajectory follows it there. So two topics i and j divide what they have,
theta_i + theta_j, anew. Under the prior alone the share of i has the law Beta(alpha_i, alpha_j) whatever
the sum, and there are two proposals, at random: one from that law, whose Metropolis ratio is that of the
likelihoods; and a normal step of the share's log odds, of a length between 0.01 and 10 times a standard
normal, evenly in its logarithm.

Of the likelihood a move changes v'beta theta, by delta (c_i - c_j), and theta'G theta, by
delta 2 ((G theta)_i - (G theta)_j) + delta^2 (G_ii + G_jj - 2 G_ij). With G theta kept, a move costs a
few logarithms, and 2 K additions where it is accepted.
"""

import math

import numba
import numpy as np

from geodrift.kernels._random_streams import fill_normal, open_member, uniform
from geodrift.kernels._two_forms import TwoForms
from geodrift.kernels._vectors import copy

LEAST = float(np.finfo(np.float32).tiny)  # of a mixture: chains store them in single precision
LOG_LEAST_STEP, LOG_MOST_STEP = math.log(0.01), math.log(10.0)


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
def _log_ratio_of_prior(
    log_odds: float, moved: float, first: float, second: float, from_prior: bool
) -> float:
    """Log ratio of the prior's densities of a share over that of the proposals.

    The density of log odds x is sigma(x)^first sigma(-x)^second. What is proposed from the prior is from
    Beta(min(first, 1), min(second, 1)).
    """
    if from_prior:
        first, second = first - min(first, 1.0), second - min(second, 1.0)
        if first == 0.0 and second == 0.0:
            return 0.0
    return first * (_log_share(moved) - _log_share(log_odds)) + second * (
        _log_share(-moved) - _log_share(-log_odds)
    )


@numba.njit(cache=True, error_model="numpy")
def _log_share(log_odds: float) -> float:
    """Log of the share with such log odds."""
    return -math.log1p(math.exp(-log_odds)) if log_odds > 0.0 else log_odds - math.log1p(math.exp(log_odds))


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
    log_odds: float, first: float, second: float, normal: np.ndarray, stream: np.uint64
) -> tuple[float, bool, np.uint64]:
    """The share's new log odds, whether they are from the prior, and the stream after the draws."""
    chance, stream = uniform(stream)
    if chance < 0.5:
        moved, stream = _share_of_prior(min(first, 1.0), min(second, 1.0), stream)
        return moved, True, stream
    stream = fill_normal(normal, stream)
    step = math.exp(LOG_LEAST_STEP + 2.0 * (chance - 0.5) * (LOG_MOST_STEP - LOG_LEAST_STEP))
    return log_odds + step * normal[0], False, stream


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
    size, normal = theta.shape[0], np.empty(1)
    from_gram[:] = 0.0
    for k in range(size):
        for i in range(size):
            from_gram[i] += gram[k, i] * theta[k]
    dot, squared, acceptance = 0.0, 0.0, 0.0
    for i in range(size):
        dot += projection[i] * theta[i]
        squared += from_gram[i] * theta[i]
    for _ in range(num_moves):
        i, stream = _topic_by_weight(theta, stream)
        chance, stream = uniform(stream)
        j = min(int(chance * (size - 1)), size - 2)
        j += j >= i
        total, log_odds = theta[i] + theta[j], math.log(theta[i] / theta[j])
        moved, from_prior, stream = _proposed(log_odds, prior[i], prior[j], normal, stream)
        new_i = max(total / (1.0 + math.exp(-moved)), LEAST)
        new_j = max(total / (1.0 + math.exp(moved)), LEAST)
        delta = 0.5 * ((new_i - theta[i]) - (new_j - theta[j]))
        new_dot = dot + delta * (projection[i] - projection[j])
        new_squared = squared + delta * (
            2.0 * (from_gram[i] - from_gram[j]) + delta * (gram[i, i] + gram[j, j] - 2.0 * gram[i, j])
        )
        log_ratio = concentration * (new_dot / math.sqrt(new_squared) - dot / math.sqrt(squared))
        log_ratio += _log_ratio_of_prior(log_odds, moved, prior[i], prior[j], from_prior)
        accept = math.exp(min(0.0, log_ratio)) if log_ratio == log_ratio else 0.0  # NaN is a rejection
        acceptance += accept / num_moves
        chance, stream = uniform(stream)
        if chance < accept:
            theta[i], theta[j], dot, squared = new_i, new_j, new_dot, new_squared
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
        total = 0.0
        for i in range(size):
            total += theta[i]
        for i in range(size):
            mixtures[s, i] = theta[i] / total
    return acceptance


draw_mixtures_by_shares = TwoForms(_draw_mixtures_by_shares, worth_threads=10_000)  # moves
