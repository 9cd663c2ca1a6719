r"""Moves that mix topics with each other while no document moves.

The likelihood sees only the directions :math:`\beta\theta_d / |\beta\theta_d|`. Turning topic j towards
topic k, :math:`\beta_j' = (\beta_j + \epsilon\beta_k)/n` with :math:`n = |\beta_j + \epsilon\beta_k|`, and
shearing every mixture against it, :math:`\theta_d' = L\theta_d / s_d` with :math:`(L\theta)_j = n\theta_j`,
:math:`(L\theta)_k = \theta_k - \epsilon\theta_j` and :math:`s_d = 1 + (n - 1 - \epsilon)\theta_{dj}`, leaves
all of them where they are. Only priors and volumes change, so the move is long where alternating mixtures
given topics and topics given mixtures creeps: along it those two conditionals are each narrow.

The map with :math:`\epsilon' = -\epsilon/n` is its own inverse; the volume of (topic j, epsilon) changes by
:math:`n^{-(V+1)}` and that of each mixture by :math:`n / s_d^K`. The Metropolis ratio is thus

.. math:: \sum_d \Big[ \alpha \log n + (\alpha - 1) \log\Big(1 - \epsilon\frac{\theta_{dj}}{\theta_{dk}}\Big)
    - \alpha K \log s_d \Big]
    - (V + 1) \log n + \log\frac{\pi(\beta')}{\pi(\beta)} + \log\frac{q(\epsilon')}{q(\epsilon)}

A move needs no vector of the vocabulary's length: lengths and angles of the moved topics follow from inner
products, so a batch of moves is made on those and on the mixtures, at a cost of O(D + K) each, and topics
and velocities are moved once, by one matrix, at its end.

The sums over documents follow as P' = P L', M' = L M L', but a rounding error in them would be sheared with
them, again and again, with no document to renew it: they are made anew from the documents instead.
"""

import math
from typing import NamedTuple

import numba
import numpy as np
from scipy.interpolate import CubicHermiteSpline

from geodrift.distributions import host_log_normaliser, host_mean_resultant_length
from geodrift.kernels._random_streams import fill_normal, open_member, uniform
from geodrift.kernels._streams import SAM_SHEAR_MOVES, Family
from geodrift.models.spherical_admixture.documents._latents import Latents

TARGET_ACCEPTANCE = 0.44  # of a random walk in one dimension (Roberts and Rosenthal 2001)
GAIN = 0.05  # of the adaptation of the scale
NUM_KNOTS = 8192


class ShearPrior(NamedTuple):
    """What the ratio needs besides the latents."""

    mean_direction: np.ndarray  # m, [V]
    mean_concentration: float  # kappa_0
    topic_concentration: float  # sigma
    doc_topic_prior: float  # alpha
    log_normaliser: CubicHermiteSpline  # log c_V on [0, kappa_0 + K sigma], to 1e-6


def shear_prior(
    mean_direction: np.ndarray,
    mean_concentration: float,
    topic_concentration: float,
    doc_topic_prior: float,
    num_topics: int,
) -> ShearPrior:
    """The constants, with a table of log c_V.

    One value of the function itself costs more than the rest of a move.
    Hermite interpolation with the exact slopes -A has an error of h^4/384 times the fourth derivative.
    """
    num_words = len(mean_direction)
    lengths = np.linspace(0.0, mean_concentration + num_topics * topic_concentration, NUM_KNOTS)
    table = CubicHermiteSpline(
        lengths, host_log_normaliser(num_words, lengths), -host_mean_resultant_length(num_words, lengths)
    )
    return ShearPrior(mean_direction, mean_concentration, topic_concentration, doc_topic_prior, table)


class _Constants(NamedTuple):
    """`ShearPrior` as a compiled kernel takes it."""

    num_words: int
    mean_concentration: float
    topic_concentration: float
    doc_topic_prior: float
    spacing: float  # of the table's knots
    coefficients: np.ndarray  # of its cubics, [4, NUM_KNOTS - 1]


class _Walk(NamedTuple):
    """What a batch of moves changes: mixtures up to their sums, and inner products of topics."""

    raw: np.ndarray  # L ... L theta, not normalised, [K, D]
    totals: np.ndarray  # sums of raw, [D]
    gram: np.ndarray  # beta beta', [K, K]
    mean_products: np.ndarray  # beta m, [K]
    velocity_products: np.ndarray  # of velocity i with topic k, [K, K]
    topic_map: np.ndarray  # topics are topic_map times the topics before the batch, [K, K]
    velocity_map: np.ndarray  # velocities are those before plus velocity_map times those topics, [K, K]


@numba.njit(cache=True, error_model="numpy")
def _mixtures_log_ratio(walk: _Walk, j: int, k: int, epsilon: float, norm: float, alpha: float) -> float:
    """The sum over documents in the ratio. Logarithms are of products of eight: they are half of the cost."""
    num_topics, num_documents = walk.raw.shape
    raw_j, raw_k, totals = walk.raw[j], walk.raw[k], walk.totals
    turn = norm - 1.0 - epsilon
    log_shares, log_scales = 0.0, 0.0
    for start in range(0, num_documents, 8):
        shares, scales = 1.0, 1.0
        for d in range(start, min(start + 8, num_documents)):
            left = raw_k[d] - epsilon * raw_j[d]
            if not left > 0.0:
                return -np.inf
            shares *= left / raw_k[d]
            scales *= 1.0 + turn * raw_j[d] / totals[d]
        log_shares += math.log(shares)
        log_scales += math.log(scales)
    return alpha * (num_documents * math.log(norm) - num_topics * log_scales) + (alpha - 1.0) * log_shares


@numba.njit(cache=True, error_model="numpy")
def _log_normaliser(constants: _Constants, gram_sum: float, mean_sum: float) -> float:
    """Log c_V of the resultant's length, from the sums of ``gram`` and of ``mean_products``."""
    kappa, sigma = constants.mean_concentration, constants.topic_concentration
    length = math.sqrt(max(kappa * kappa + 2.0 * kappa * sigma * mean_sum + sigma * sigma * gram_sum, 0.0))
    knot = min(int(length / constants.spacing), constants.coefficients.shape[1] - 1)
    x, c = length - knot * constants.spacing, constants.coefficients
    return ((c[0, knot] * x + c[1, knot]) * x + c[2, knot]) * x + c[3, knot]


@numba.njit(cache=True, error_model="numpy")
def _accept(walk: _Walk, j: int, k: int, epsilon: float, norm: float) -> None:
    raw, gram, products = walk.raw, walk.gram, walk.velocity_products
    turn = norm - 1.0 - epsilon
    for d in range(raw.shape[1]):
        old = raw[j, d]
        walk.totals[d] += turn * old
        raw[j, d] = norm * old
        raw[k, d] -= epsilon * old
    # A velocity goes along by parallel transport: v - (v'new) / (1 + old'new) (old + new).
    along = epsilon * products[j, k] / norm
    cosine = (gram[j, j] + epsilon * gram[j, k]) / norm
    share = along / (1.0 + cosine)
    for i in range(raw.shape[0]):
        old_map = walk.topic_map[j, i]
        walk.topic_map[j, i] = (old_map + epsilon * walk.topic_map[k, i]) / norm
        walk.velocity_map[j, i] -= share * (old_map + walk.topic_map[j, i])
        # Of velocity j with the topics: its own change first, with the old topic j among them.
        products[j, i] -= share * (gram[j, i] + (gram[j, i] + epsilon * gram[k, i]) / norm)
    for i in range(raw.shape[0]):
        products[i, j] = (products[i, j] + epsilon * products[i, k]) / norm
    walk.mean_products[j] = (walk.mean_products[j] + epsilon * walk.mean_products[k]) / norm
    for i in range(raw.shape[0]):
        if i != j:
            gram[j, i] = gram[i, j] = (gram[j, i] + epsilon * gram[k, i]) / norm
    gram[j, j] = 1.0


@numba.njit(cache=True, error_model="numpy")
def _moves(
    walk: _Walk,
    constants: _Constants,
    shear_scale: np.ndarray,
    stream: np.uint64,
    num_moves: int,
    gain: float,
) -> int:
    """Make the moves; returns how many were accepted."""
    num_topics, accepted, scale = walk.raw.shape[0], 0, float(shear_scale[0])
    normal = np.empty(1)
    gram_sum, mean_sum = walk.gram.sum(), walk.mean_products.sum()
    current = _log_normaliser(constants, gram_sum, mean_sum)
    for _ in range(num_moves):
        chance, stream = uniform(stream)
        j = min(int(chance * num_topics), num_topics - 1)
        chance, stream = uniform(stream)
        k = min(int(chance * (num_topics - 1)), num_topics - 2)
        k += k >= j
        stream = fill_normal(normal, stream)
        chance, stream = uniform(stream)
        epsilon, gram = scale * normal[0], walk.gram
        norm = math.sqrt(gram[j, j] + epsilon * (2.0 * gram[j, k] + epsilon * gram[k, k]))
        row, other = 0.0, 0.0
        for i in range(num_topics):
            if i != j:
                row += gram[j, i]
                other += gram[k, i]
        moved_gram = gram_sum + 2.0 * ((row + epsilon * other) / norm - row) + 1.0 - gram[j, j]
        mean_j = walk.mean_products[j]
        moved_mean = mean_sum + (mean_j + epsilon * walk.mean_products[k]) / norm - mean_j
        proposed = _log_normaliser(constants, moved_gram, moved_mean)
        log_ratio = (
            _mixtures_log_ratio(walk, j, k, epsilon, norm, constants.doc_topic_prior)
            - (constants.num_words + 1) * math.log(norm)
            + (current - proposed)
            + (epsilon**2 - (epsilon / norm) ** 2) / (2.0 * scale**2)
        )
        probability = math.exp(min(0.0, log_ratio))
        scale *= math.exp(gain * (probability - TARGET_ACCEPTANCE))
        if chance < probability:
            accepted += 1
            gram_sum, mean_sum, current = moved_gram, moved_mean, proposed
            _accept(walk, j, k, epsilon, norm)
    shear_scale[0] = scale
    return accepted


def shear(
    latents: Latents,
    topics: np.ndarray,
    velocities: np.ndarray,
    prior: ShearPrior,
    streams: Family,
    num_moves: int,
    adapting: bool,
) -> float:
    """Make moves of random pairs of topics in place; cost O(D + K) a move and O(V K^2) a call.

    The sums in ``latents`` are out of date afterwards; see `renew_sums`.

    A velocity is carried along by parallel transport, which keeps its Gaussian law.

    Args:
        latents: Mixtures, sums and the scale of epsilon.
        topics: beta, [K, V].
        velocities: [K, V], tangent at the topics.
        prior: The model's constants.
        streams: Random streams of the moves.
        num_moves: Pairs to try.
        adapting: Whether to adapt the scale.

    Returns:
        The share of the moves that were accepted.
    """
    beta, num_topics = topics.astype(np.float64), topics.shape[0]
    raw = np.ascontiguousarray(latents.mixtures.T, dtype=np.float64)
    walk = _Walk(
        raw=raw,
        totals=raw.sum(axis=0),
        gram=beta @ beta.T,
        mean_products=beta @ prior.mean_direction,
        velocity_products=velocities.astype(np.float64) @ beta.T,
        topic_map=np.eye(num_topics),
        velocity_map=np.zeros((num_topics, num_topics)),
    )
    table = prior.log_normaliser
    constants = _Constants(
        num_words=topics.shape[1],
        mean_concentration=prior.mean_concentration,
        topic_concentration=prior.topic_concentration,
        doc_topic_prior=prior.doc_topic_prior,
        spacing=float(table.x[1] - table.x[0]),
        coefficients=table.c,
    )
    before, scale = walk.totals.copy(), latents.shear_scale.reshape(1).copy()
    word = np.uint64(open_member(streams.word, SAM_SHEAR_MOVES.items[0]))
    accepted = _moves(walk, constants, scale, word, num_moves, GAIN if adapting else 0.0)
    latents.shear_scale[...] = scale[0]
    topics[...] = walk.topic_map @ beta
    velocities[...] = velocities + walk.velocity_map @ beta
    latents.mixtures[...] = (walk.raw / walk.totals).T
    scales = walk.totals / before
    latents.inverse_norms[...] *= scales
    latents.slopes[...] *= scales**2
    return accepted / num_moves
