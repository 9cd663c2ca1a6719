r"""Topic mixtures of documents given the topics: geodesic Monte Carlo on the simplex, compiled.

A document with unit vector v has, given the topics beta, the log density (Liu et al. 2016, Eq. 9)

.. math:: \kappa \frac{v'\beta\theta}{|\beta\theta|} + \sum_k (\alpha_k - 1) \log\theta_k

over its mixture theta on the simplex. With c = beta v [K] and the Gram matrix G = beta beta' [K, K] it needs
no vector of the vocabulary's length: v'beta theta = c'theta and |beta theta|^2 = theta'G theta, so a leapfrog
step costs K^2 multiply-adds. The flow is the straight line with exact reflection in the faces; the Metropolis
test makes the transition exact whatever the step size.
"""

import math

import numba
import numpy as np
from jaxtyping import Float, Int

from geodrift.kernels._random_streams import fill_normal, open_member, uniform
from geodrift.kernels._streams import Family
from geodrift.kernels._two_forms import TwoForms

TARGET_ACCEPTANCE = 0.8
# Each trajectory's step is drawn from step * [1 - jitter, 1 + jitter], which no periodic orbit survives.
STEP_JITTER = 0.2


@numba.njit(cache=True, error_model="numpy")
def _force(
    theta: np.ndarray,
    affinity: np.ndarray,
    gram: np.ndarray,
    concentration: float,
    prior: np.ndarray,
    force: np.ndarray,
) -> tuple[float, float]:
    """Gradient of the log density projected on the tangent space (sum zero), into ``force``.

    Returns:
        v'beta theta and |beta theta|.
    """
    size = theta.shape[0]
    # Row by row, so that the inner loop is not a sum: it vectorises without reordering floating-point sums,
    # which would make the bits depend on how the compiler inlined this function.
    force[:] = 0.0
    for j in range(size):
        weight = theta[j]
        for i in range(size):
            force[i] += gram[j, i] * weight
    squared, dot = 0.0, 0.0
    for i in range(size):
        squared += force[i] * theta[i]
        dot += affinity[i] * theta[i]
    norm = math.sqrt(squared)
    scale = concentration / norm
    slope = dot / squared
    mean = 0.0
    for i in range(size):
        force[i] = scale * (affinity[i] - slope * force[i])
        if prior[i] != 1.0:
            force[i] += (prior[i] - 1.0) / theta[i]
        mean += force[i]
    mean /= size
    for i in range(size):
        force[i] -= mean
    return dot, norm


@numba.njit(cache=True, error_model="numpy")
def _drift(theta: np.ndarray, velocity: np.ndarray, time: float) -> None:
    """Straight line for ``time``, reflected within the simplex at each face it meets."""
    size = theta.shape[0]
    while True:
        first, face = time, -1
        for i in range(size):
            if velocity[i] < 0.0 and theta[i] < -velocity[i] * first:
                first, face = theta[i] / -velocity[i], i
        for i in range(size):
            theta[i] += first * velocity[i]
        if face < 0:
            return
        # The face's inward normal within the plane sum = 0 is e_j - 1/K: v_j changes sign, the others share
        # 2 v_j.
        theta[face] = 0.0
        share = 2.0 * velocity[face] / (size - 1)
        outward = velocity[face]
        for i in range(size):
            velocity[i] += share
        velocity[face] = -outward
        time -= first


@numba.njit(cache=True, error_model="numpy")
def _log_density(
    theta: np.ndarray, dot: float, norm: float, concentration: float, prior: np.ndarray
) -> float:
    total = concentration * dot / norm
    for i in range(theta.shape[0]):
        if theta[i] <= 0.0:  # a face: no volume, and log or 1/theta is undefined there
            return -np.inf
        if prior[i] != 1.0:
            total += (prior[i] - 1.0) * math.log(theta[i])
    return total


@numba.njit(cache=True, error_model="numpy")
def _trajectory(
    theta: np.ndarray,
    force: np.ndarray,
    velocity: np.ndarray,
    affinity: np.ndarray,
    gram: np.ndarray,
    concentration: float,
    prior: np.ndarray,
    step: float,
    num_steps: int,
) -> tuple[float, float]:
    """Leapfrog in place; returns v'beta theta and |beta theta| at the end."""
    size = theta.shape[0]
    dot, norm = 0.0, 1.0
    for i in range(size):
        velocity[i] += 0.5 * step * force[i]
    for n in range(num_steps):
        _drift(theta, velocity, step)
        dot, norm = _force(theta, affinity, gram, concentration, prior, force)
        weight = step if n < num_steps - 1 else 0.5 * step
        for i in range(size):
            velocity[i] += weight * force[i]
    return dot, norm


@numba.njit(cache=True, error_model="numpy")
def _draw_velocity(velocity: np.ndarray, stream: np.uint64) -> tuple[float, np.uint64]:
    """N(0, I) on the plane sum = 0; returns half its squared norm and the stream."""
    size = velocity.shape[0]
    stream = fill_normal(velocity, stream)
    mean = 0.0
    for i in range(size):
        mean += velocity[i]
    mean /= size
    energy = 0.0
    for i in range(size):
        velocity[i] -= mean
        energy += velocity[i] * velocity[i]
    return 0.5 * energy, stream


def _draw_mixtures(
    mixtures: np.ndarray,
    affinities: np.ndarray,
    gram: np.ndarray,
    concentration: float,
    prior: np.ndarray,
    step_sizes: np.ndarray,
    num_leapfrog: int,
    burn_in: int,
    num_draws: int,
    adaptation: float,
    family: np.uint64,
    documents: np.ndarray,
    draws: np.ndarray,
) -> np.ndarray:
    """Draw N mixtures of each of S documents; see `draw_mixtures`."""
    size = mixtures.shape[1]
    acceptance = np.zeros(mixtures.shape[0])
    for s in numba.prange(mixtures.shape[0]):
        stream = open_member(family, documents[s])
        theta, proposal = mixtures[s].copy(), np.empty(size)
        force, new_force, velocity = np.empty(size), np.empty(size), np.empty(size)
        affinity = affinities[s]
        dot, norm = _force(theta, affinity, gram, concentration, prior, force)
        current = _log_density(theta, dot, norm, concentration, prior)
        for n in range(burn_in + num_draws):
            kinetic, stream = _draw_velocity(velocity, stream)
            jitter, stream = uniform(stream)
            length = step_sizes[s] * (1.0 + STEP_JITTER * (2.0 * jitter - 1.0))
            proposal[:] = theta
            new_force[:] = force
            dot, norm = _trajectory(
                proposal, new_force, velocity, affinity, gram, concentration, prior, length, num_leapfrog
            )
            proposed = _log_density(proposal, dot, norm, concentration, prior)
            new_kinetic = 0.0
            for i in range(size):
                new_kinetic += 0.5 * velocity[i] * velocity[i]
            log_ratio = proposed - new_kinetic - current + kinetic
            accept = math.exp(min(0.0, log_ratio)) if log_ratio == log_ratio else 0.0  # NaN is a rejection
            chance, stream = uniform(stream)
            if chance < accept:
                theta[:] = proposal
                force[:] = new_force
                current = proposed
            acceptance[s] += accept / (burn_in + num_draws)
            if adaptation > 0.0:
                step_sizes[s] *= math.exp(adaptation * (accept - TARGET_ACCEPTANCE))
            if n >= burn_in:
                draws[s, n - burn_in] = theta
        total = 0.0
        for i in range(size):
            total += theta[i]
        for i in range(size):
            mixtures[s, i] = theta[i] / total
    return acceptance


_forms = TwoForms(_draw_mixtures, worth_threads=300_000)  # multiply-adds


def draw_mixtures(
    mixtures: Float[np.ndarray, "S K"],
    affinities: Float[np.ndarray, "S K"],
    gram: Float[np.ndarray, "K K"],
    concentration: float,
    prior: Float[np.ndarray, " K"],
    step_sizes: Float[np.ndarray, " S"],
    num_leapfrog: int,
    burn_in: int,
    num_draws: int,
    adaptation: float,
    streams: Family,
    documents: Int[np.ndarray, " S"],
    draws: Float[np.ndarray, "S N K"],
) -> Float[np.ndarray, " S"]:
    """Draw N mixtures of each of S documents in place.

    Which of the two compiled forms runs does not change a bit of the result: each document has a random
    stream of its own.

    Args:
        mixtures: Start, overwritten by the last state.
        affinities: beta v of each document.
        gram: beta beta'.
        concentration: kappa.
        prior: alpha.
        step_sizes: Leapfrog step of each document, overwritten while adapting.
        num_leapfrog: Leapfrog steps of one transition.
        burn_in: Transitions before the first kept draw.
        num_draws: N, kept draws.
        adaptation: Weight of the Robbins-Monro move of log step size; 0 keeps the step sizes.
        streams: Random streams of the draws.
        documents: Item of each document's random stream.
        draws: Output.

    Returns:
        Acceptance rates.
    """
    multiply_adds = mixtures.shape[0] * mixtures.shape[1] ** 2 * num_leapfrog * (burn_in + num_draws)
    return _forms(
        multiply_adds,
        mixtures,
        affinities,
        gram,
        concentration,
        prior,
        step_sizes,
        num_leapfrog,
        burn_in,
        num_draws,
        adaptation,
        streams.word,
        documents,
        draws,
    )
