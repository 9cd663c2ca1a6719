r"""Langevin moves of all topics at once, for the samplers that discretise; Ma, Chen and Fox (2015).

A topic's entries are gammas of shapes :math:`a_{kw}` in one of two charts: :math:`\theta` itself with the
metric :math:`G = diag(1/\theta)` (SGRLD, Patterson and Teh 2013, eq. 9; SGRHMC, Ma et al., Algorithm 1),
mirrored at 0, or :math:`\log \theta` without a metric (SGLD, SGHMC). In :math:`\theta` without a metric, as
Ma et al. have these two, the force is infinite at 0 and a step near it goes anywhere.

Each entry takes the step of `geodrift.samplers.SGRLD`, `SGRHMC`, `SGLD` or `SGHMC` (the two with momenta by
ABOBA, begun at the kick, so that the state is the point at which its gradient is taken).
"""

import math

import numba
import numpy as np
from jaxtyping import Float, Int

from geodrift.kernels._normal_exponential import normal
from geodrift.kernels._random_streams import open_member
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._two_forms import TwoForms
from geodrift.models.latent_dirichlet_allocation.scaled_counts._cir_topics import BLOCK

SGRLD, SGRHMC, SGLD, SGHMC = range(4)
KINDS = {"sgrld": SGRLD, "sgrhmc": SGRHMC, "sgld": SGLD, "sghmc": SGHMC}
_LEAST = float(np.finfo(np.float32).tiny / np.finfo(np.float32).eps)  # as `metrics.ExpandedMean.reflect`


@numba.njit(cache=True, error_model="numpy", forceinline=True)
def kick(
    kind: int, x: float, r: float, shape: float, h: float, friction: float, z: float
) -> tuple[float, float]:
    """The part of a step that uses the shape and the noise.

    Args:
        kind: A value of `KINDS`.
        x: theta or its logarithm.
        r: Momentum of unit variance.
        shape: a, which sets the drift.
        h: Step size, time.
        friction: C, 1/time.
        z: Standard normal draw.

    Returns:
        (x, r) after it.
    """
    if kind == SGRLD:
        x = abs(x + h * (shape - x) + math.sqrt(2.0 * h * x) * z)
        return max(x, _LEAST), r
    if kind == SGLD:
        return x + h * (shape - math.exp(x)) + math.sqrt(2.0 * h) * z, r
    if kind == SGRHMC:
        # r <- R r + K h force + S z with y = C h / G: exact given theta.
        root, decay = math.sqrt(x), math.exp(-friction * h * x)
        force = (shape - 0.5 - x) / root
        return x, decay * r + 0.5 * (1.0 + decay) * h * force + math.sqrt(1.0 - decay * decay) * z
    decay = math.exp(-friction * h)
    force = shape - math.exp(x)
    return x, decay * r + 0.5 * (1.0 + decay) * h * force + math.sqrt(1.0 - decay * decay) * z


@numba.njit(cache=True, error_model="numpy", forceinline=True)
def drift(kind: int, x: float, r: float, h: float) -> tuple[float, float]:
    """(x, r) after motion without force for a time h."""
    if kind == SGHMC:
        return x + h * r, r
    middle = max(abs(x + 0.5 * h * math.sqrt(x) * r), _LEAST)
    x += h * math.sqrt(middle) * r
    return max(abs(x), _LEAST), -r if x < 0.0 else r


def _moves(
    kind: int,
    x: np.ndarray,
    momenta: np.ndarray,
    place: np.ndarray,
    counts: np.ndarray,
    prior: float,
    factors: np.ndarray,
    pulls: np.ndarray,
    step_size: float,
    friction: float,
    family: np.uint64,
    sums: np.ndarray,
) -> None:
    num_words, num_topics = x.shape
    has_momenta = kind in (SGRHMC, SGHMC)
    in_logs = kind in (SGLD, SGHMC)
    for block in numba.prange(sums.shape[0]):
        for word in range(block * BLOCK, min((block + 1) * BLOCK, num_words)):
            row = place[word]
            stream = open_member(family, word)
            for topic in range(num_topics):
                at, r = float(x[word, topic]), 0.0
                shape = prior + counts[row, topic] if row >= 0 else prior
                if in_logs:
                    at += math.log(factors[topic])
                    shape -= pulls[topic] * math.exp(at)
                else:
                    at *= factors[topic]
                    shape -= pulls[topic] * at
                if has_momenta:
                    r = float(momenta[word, topic])
                z, stream = normal(stream)
                at, r = kick(kind, at, r, shape, step_size, friction, z)
                if has_momenta:
                    at, r = drift(kind, at, r, 0.5 * step_size)
                    at, r = drift(kind, at, r, 0.5 * step_size)
                    momenta[word, topic] = r
                x[word, topic] = at
                sums[block, topic] += math.exp(at) if in_logs else at


_forms = TwoForms(_moves, worth_threads=16_384)


def move_topics(
    kind: int,
    x: Float[np.ndarray, "V K"],
    momenta: Float[np.ndarray, "M K"],
    place: Int[np.ndarray, " V"],
    counts: Float[np.ndarray, "W K"],
    prior: float,
    factors: Float[np.ndarray, " K"],
    pulls: Float[np.ndarray, " K"],
    step_size: float,
    friction: float,
    streams: Family,
) -> Float[np.ndarray, " K"]:
    """Move every entry of the topics by one step, in place.

    Args:
        kind: A value of `KINDS`.
        x: theta, or its log for "sgld" and "sghmc", float32.
        momenta: r, of unit variance, float32; not read for "sgrld" and "sgld".
        place: Row of ``counts`` of each word; -1 for a word that has none.
        counts: Estimates of N_kw.
        prior: eta, each word's Dirichlet parameter.
        factors: Factors by which each topic's theta is multiplied before the step.
        pulls: Coefficient of theta in the drift, from the likelihood's normalisation: N_k / theta_k with
            gammas on the prior, 0 with gammas on the posterior.
        step_size: h, time.
        friction: C, 1/time (for "sgrhmc" the damping is C theta).
        streams: Random streams of the moves; the item of a word's entries is w.

    Returns:
        The sums of theta over words.
    """
    sums = np.zeros((-(-x.shape[0] // BLOCK), x.shape[1]))
    constants = (prior, factors, pulls, step_size, friction, streams.word)
    _forms(x.size, kind, x, momenta, place, counts, *constants, sums)
    return sums.sum(axis=0)
