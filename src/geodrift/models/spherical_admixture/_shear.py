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

The sums over documents follow as P' = P L', M' = L M L', but a rounding error in them would be sheared with
them, again and again, with no document to renew it: they are made anew from the documents instead.
"""

import math
from typing import NamedTuple

import numba
import numpy as np
from scipy.interpolate import CubicHermiteSpline

from geodrift.distributions import host_log_normaliser, host_mean_resultant_length
from geodrift.models.spherical_admixture._latents import Latents

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


@numba.njit(cache=True, error_model="numpy")
def _mixtures_log_ratio(
    mixtures: np.ndarray, j: int, k: int, epsilon: float, norm: float, alpha: float
) -> float:
    num_documents, num_topics = mixtures.shape
    total = num_documents * alpha * math.log(norm)
    for d in range(num_documents):
        theta_j = float(mixtures[d, j])
        theta_k = float(mixtures[d, k])
        if theta_k <= max(0.0, epsilon * theta_j):
            return -np.inf
        total += (alpha - 1.0) * math.log(1.0 - epsilon * theta_j / theta_k)
        total -= alpha * num_topics * math.log(1.0 + (norm - 1.0 - epsilon) * theta_j)
    return total


@numba.njit(cache=True, error_model="numpy")
def _shear_mixtures(
    mixtures: np.ndarray,
    inverse_norms: np.ndarray,
    slopes: np.ndarray,
    j: int,
    k: int,
    epsilon: float,
    norm: float,
) -> None:
    num_documents, num_topics = mixtures.shape
    for d in range(num_documents):
        theta_j = float(mixtures[d, j])
        scale = 1.0 + (norm - 1.0 - epsilon) * theta_j
        mixtures[d, j] = norm * theta_j
        mixtures[d, k] -= epsilon * theta_j
        for i in range(num_topics):
            mixtures[d, i] /= scale
        inverse_norms[d] *= scale
        slopes[d] *= scale * scale


def shear(
    latents: Latents,
    topics: np.ndarray,
    velocities: np.ndarray,
    prior: ShearPrior,
    rng: np.random.Generator,
    num_moves: int,
    adapting: bool,
) -> float:
    """Make moves of random pairs of topics in place; cost O(D + V) a move.

    The sums in ``latents`` are out of date afterwards; see `renew_sums`.

    A velocity is carried along by parallel transport, which keeps its Gaussian law.

    Args:
        latents: Mixtures, sums and the scale of epsilon.
        topics: beta, [K, V].
        velocities: [K, V], tangent at the topics.
        prior: The model's constants.
        rng: Random numbers.
        num_moves: Pairs to try.
        adapting: Whether to adapt the scale.

    Returns:
        The share of the moves that were accepted.
    """
    num_topics, num_words = topics.shape
    accepted = 0
    resultant = prior.mean_concentration * prior.mean_direction + prior.topic_concentration * topics.sum(
        axis=0, dtype=np.float64
    )
    current = float(prior.log_normaliser(np.linalg.norm(resultant)))
    for _ in range(num_moves):
        j, k = rng.choice(num_topics, 2, replace=False)
        scale = float(latents.shear_scale)
        epsilon, chance = scale * rng.standard_normal(), rng.random()
        old = topics[j].astype(np.float64)
        new = old + epsilon * topics[k]
        norm = float(np.linalg.norm(new))
        new /= norm
        moved = resultant + prior.topic_concentration * (new - old)
        proposed = float(prior.log_normaliser(np.linalg.norm(moved)))
        log_ratio = (
            _mixtures_log_ratio(latents.mixtures, j, k, epsilon, norm, prior.doc_topic_prior)
            - (num_words + 1) * math.log(norm)
            + (current - proposed)
            + (epsilon**2 - (epsilon / norm) ** 2) / (2 * scale**2)
        )
        probability = math.exp(min(0.0, log_ratio))
        if adapting:
            latents.shear_scale[...] *= math.exp(GAIN * (probability - TARGET_ACCEPTANCE))
        if chance < probability:
            accepted += 1
            resultant, current = moved, proposed
            velocities[j] -= (velocities[j] @ new) / (1.0 + old @ new) * (old + new)
            topics[j] = new
            _shear_mixtures(latents.mixtures, latents.inverse_norms, latents.slopes, j, k, epsilon, norm)
    return accepted / num_moves
