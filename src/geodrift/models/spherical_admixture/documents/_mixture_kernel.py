r"""Mixtures given the topics, by geodesic Monte Carlo on the simplex (Byrne and Girolami 2013), compiled.

The mixture theta of a document with unit vector v has, given the topics beta, the log density (the factors of
Eq. (9) of Liu et al. 2016 that hold theta)

.. math:: \kappa \frac{v'\beta\theta}{|\beta\theta|} + \sum_k (\alpha_k - 1) \log\theta_k

on the simplex. With the projections c = beta v [K] and the Gram matrix G = beta beta' [K, K] no vector of the
vocabulary's length is needed: v'beta theta = c'theta and |beta theta|^2 = theta'G theta, so a leapfrog step
costs K^2 multiply-adds. Between kicks mixtures move along straight lines, reflected exactly in the faces of
the simplex; the Metropolis test makes the transition exact whatever the step size.
"""

import math

import numba
import numpy as np

from geodrift.kernels._random_streams import fill_normal, open_member, uniform
from geodrift.kernels._two_forms import TwoForms
from geodrift.kernels._vectors import copy, copy_as_shares

TARGET_ACCEPTANCE = 0.8
# Each trajectory's step is uniform on step * [1 - jitter, 1 + jitter], so that none returns to its start for
# ever.
STEP_JITTER = 0.2


@numba.njit(cache=True, error_model="numpy")
def _force(
    theta: np.ndarray,
    projection: np.ndarray,
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
        dot += projection[i] * theta[i]
    norm = math.sqrt(squared)
    scale = concentration / norm
    slope = dot / squared
    mean = 0.0
    for i in range(size):
        force[i] = scale * (projection[i] - slope * force[i])
        if prior[i] != 1.0:
            force[i] += (prior[i] - 1.0) / theta[i]
        mean += force[i]
    mean /= size
    for i in range(size):
        force[i] -= mean
    return dot, norm


@numba.njit(cache=True, error_model="numpy")
def _drift(theta: np.ndarray, velocity: np.ndarray, time: float) -> None:
    """Move in a straight line for ``time``, reflected at each face of the simplex; both arrays in place."""
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
    projection: np.ndarray,
    gram: np.ndarray,
    concentration: float,
    prior: np.ndarray,
    step: float,
    num_steps: int,
) -> tuple[float, float]:
    """Leapfrog steps, with ``theta``, ``velocity`` and ``force`` changed in place.

    Returns:
        v'beta theta and |beta theta| at the end.
    """
    size = theta.shape[0]
    dot, norm = 0.0, 1.0
    for i in range(size):
        velocity[i] += 0.5 * step * force[i]
    for n in range(num_steps):
        _drift(theta, velocity, step)
        dot, norm = _force(theta, projection, gram, concentration, prior, force)
        weight = step if n < num_steps - 1 else 0.5 * step
        for i in range(size):
            velocity[i] += weight * force[i]
    return dot, norm


@numba.njit(cache=True, error_model="numpy")
def _draw_velocity(velocity: np.ndarray, stream: np.uint64) -> tuple[float, np.uint64]:
    """Fill ``velocity`` from N(0, I) on the plane of sum 0.

    Returns:
        Its kinetic energy and the stream after the draws.
    """
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
    projections: np.ndarray,
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
    """Draw mixtures into ``draws``, return acceptance rates [S]; see `MixtureSampler` for the arguments."""
    size = mixtures.shape[1]
    acceptance = np.zeros(mixtures.shape[0])
    for s in numba.prange(mixtures.shape[0]):
        stream = open_member(family, documents[s])
        theta, proposal = mixtures[s].copy(), np.empty(size)
        force, new_force, velocity = np.empty(size), np.empty(size), np.empty(size)
        projection = projections[s]
        dot, norm = _force(theta, projection, gram, concentration, prior, force)
        current = _log_density(theta, dot, norm, concentration, prior)
        for n in range(burn_in + num_draws):
            kinetic, stream = _draw_velocity(velocity, stream)
            jitter, stream = uniform(stream)
            length = step_sizes[s] * (1.0 + STEP_JITTER * (2.0 * jitter - 1.0))
            copy(theta, proposal)
            copy(force, new_force)
            dot, norm = _trajectory(
                proposal, new_force, velocity, projection, gram, concentration, prior, length, num_leapfrog
            )
            proposed = _log_density(proposal, dot, norm, concentration, prior)
            new_kinetic = 0.0
            for i in range(size):
                new_kinetic += 0.5 * velocity[i] * velocity[i]
            log_ratio = proposed - new_kinetic - current + kinetic
            accept = math.exp(min(0.0, log_ratio)) if log_ratio == log_ratio else 0.0  # NaN is a rejection
            chance, stream = uniform(stream)
            if chance < accept:
                copy(proposal, theta)
                copy(new_force, force)
                current = proposed
            acceptance[s] += accept / (burn_in + num_draws)
            if adaptation > 0.0:
                step_sizes[s] *= math.exp(adaptation * (accept - TARGET_ACCEPTANCE))
            if n >= burn_in:
                copy(theta, draws[s, n - burn_in])
        copy_as_shares(theta, mixtures[s])
    return acceptance


draw_mixtures = TwoForms(_draw_mixtures, worth_threads=300_000)  # multiply-adds
