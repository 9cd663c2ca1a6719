"""Shear moves compiled, on mixtures and on inner products of the topics; `_shear` has the equations."""

import math
from typing import NamedTuple

import numba
import numpy as np

from geodrift.kernels._random_streams import fill_normal, uniform

TARGET_ACCEPTANCE = 0.44  # of a random walk in one dimension (Roberts and Rosenthal 2001)


class ShearConstants(NamedTuple):
    """Constants of the Metropolis ratio, with log c_V as a table of cubics."""

    num_words: int
    mean_concentration: float  # kappa_0
    topic_concentration: float  # sigma
    doc_topic_prior: float  # alpha, each component's
    spacing: float  # of the table's knots
    coefficients: np.ndarray  # of the cubic polynomials between knots, highest power first, [4, knots - 1]


class ShearState(NamedTuple):
    """Variables of a sequence of moves, changed in place: mixtures, and inner products of the topics beta."""

    unnormalised: np.ndarray  # mixtures up to a factor: L ... L theta, [K, D]
    totals: np.ndarray  # sum of each column of ``unnormalised``, [D]
    gram: np.ndarray  # beta beta', [K, K]
    mean_products: np.ndarray  # beta m, [K]
    velocity_products: np.ndarray  # of velocity i with topic k, [K, K]
    topic_map: np.ndarray  # topics are topic_map times the topics at the start, [K, K]
    velocity_map: np.ndarray  # velocities are those at the start plus velocity_map times those topics, [K, K]


@numba.njit(cache=True, error_model="numpy")
def _mixtures_log_ratio(
    state: ShearState, j: int, k: int, epsilon: float, norm: float, alpha: float
) -> float:
    """The sum over documents in the log ratio; -inf where a component would not be positive.

    Logarithms, half of the cost, are taken of products of eight factors.
    """
    num_topics, num_documents = state.unnormalised.shape
    mixtures_j, mixtures_k, totals = state.unnormalised[j], state.unnormalised[k], state.totals
    turn = norm - 1.0 - epsilon
    log_shares, log_scales = 0.0, 0.0
    for start in range(0, num_documents, 8):
        shares, scales = 1.0, 1.0
        for d in range(start, min(start + 8, num_documents)):
            left = mixtures_k[d] - epsilon * mixtures_j[d]
            if not left > 0.0:
                return -np.inf
            shares *= left / mixtures_k[d]
            scales *= 1.0 + turn * mixtures_j[d] / totals[d]
        log_shares += math.log(shares)
        log_scales += math.log(scales)
    return alpha * (num_documents * math.log(norm) - num_topics * log_scales) + (alpha - 1.0) * log_shares


@numba.njit(cache=True, error_model="numpy")
def _log_normaliser(constants: ShearConstants, gram_sum: float, mean_sum: float) -> float:
    """Log c_V of the resultant's length, from the sums of ``gram`` and of ``mean_products``."""
    kappa, sigma = constants.mean_concentration, constants.topic_concentration
    length = math.sqrt(max(kappa * kappa + 2.0 * kappa * sigma * mean_sum + sigma * sigma * gram_sum, 0.0))
    knot = min(int(length / constants.spacing), constants.coefficients.shape[1] - 1)
    x, c = length - knot * constants.spacing, constants.coefficients
    return ((c[0, knot] * x + c[1, knot]) * x + c[2, knot]) * x + c[3, knot]


@numba.njit(cache=True, error_model="numpy")
def _accept(state: ShearState, j: int, k: int, epsilon: float, norm: float) -> None:
    """Change the state by the accepted move."""
    mixtures, gram, products = state.unnormalised, state.gram, state.velocity_products
    turn = norm - 1.0 - epsilon
    for d in range(mixtures.shape[1]):
        old = mixtures[j, d]
        state.totals[d] += turn * old
        mixtures[j, d] = norm * old
        mixtures[k, d] -= epsilon * old
    # A velocity goes along by parallel transport: v - (v'new) / (1 + old'new) (old + new).
    along = epsilon * products[j, k] / norm
    cosine = (gram[j, j] + epsilon * gram[j, k]) / norm
    share = along / (1.0 + cosine)
    for i in range(mixtures.shape[0]):
        old_map = state.topic_map[j, i]
        state.topic_map[j, i] = (old_map + epsilon * state.topic_map[k, i]) / norm
        state.velocity_map[j, i] -= share * (old_map + state.topic_map[j, i])
        # Inner products of velocity j: first for the new velocity, while topic j is still the old one.
        products[j, i] -= share * (gram[j, i] + (gram[j, i] + epsilon * gram[k, i]) / norm)
    for i in range(mixtures.shape[0]):
        products[i, j] = (products[i, j] + epsilon * products[i, k]) / norm
    state.mean_products[j] = (state.mean_products[j] + epsilon * state.mean_products[k]) / norm
    for i in range(mixtures.shape[0]):
        if i != j:
            gram[j, i] = gram[i, j] = (gram[j, i] + epsilon * gram[k, i]) / norm
    gram[j, j] = 1.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def make_moves(
    state: ShearState,
    constants: ShearConstants,
    shear_scale: np.ndarray,
    stream: np.uint64,
    num_moves: int,
    gain: float,
) -> int:
    """Propose moves of random pairs of topics, with ``state`` and ``shear_scale`` changed in place.

    Returns:
        The number of accepted moves.
    """
    num_topics, accepted, scale = state.unnormalised.shape[0], 0, float(shear_scale[0])
    normal = np.empty(1)
    gram_sum, mean_sum = state.gram.sum(), state.mean_products.sum()
    current = _log_normaliser(constants, gram_sum, mean_sum)
    for _ in range(num_moves):
        chance, stream = uniform(stream)
        j = min(int(chance * num_topics), num_topics - 1)
        chance, stream = uniform(stream)
        k = min(int(chance * (num_topics - 1)), num_topics - 2)
        k += k >= j
        stream = fill_normal(normal, stream)
        chance, stream = uniform(stream)
        epsilon, gram = scale * normal[0], state.gram
        norm = math.sqrt(gram[j, j] + epsilon * (2.0 * gram[j, k] + epsilon * gram[k, k]))
        row, other = 0.0, 0.0
        for i in range(num_topics):
            if i != j:
                row += gram[j, i]
                other += gram[k, i]
        moved_gram = gram_sum + 2.0 * ((row + epsilon * other) / norm - row) + 1.0 - gram[j, j]
        mean_j = state.mean_products[j]
        moved_mean = mean_sum + (mean_j + epsilon * state.mean_products[k]) / norm - mean_j
        proposed = _log_normaliser(constants, moved_gram, moved_mean)
        log_ratio = (
            _mixtures_log_ratio(state, j, k, epsilon, norm, constants.doc_topic_prior)
            - (constants.num_words + 1) * math.log(norm)
            + (current - proposed)
            + (epsilon**2 - (epsilon / norm) ** 2) / (2.0 * scale**2)
        )
        probability = math.exp(min(0.0, log_ratio)) if log_ratio == log_ratio else 0.0  # NaN: rejected
        scale *= math.exp(gain * (probability - TARGET_ACCEPTANCE))
        if chance < probability:
            accepted += 1
            gram_sum, mean_sum, current = moved_gram, moved_mean, proposed
            _accept(state, j, k, epsilon, norm)
    shear_scale[0] = scale
    return accepted
