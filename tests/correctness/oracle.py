"""Stationary covariances of the textbook schemes on a Gaussian, written by hand: NumPy, and none of our code.

The target is N(0, A^-1), so that every flow is linear in (x, v). A scheme is a list of flows; each maps the
state's covariance P to ``M P M' + N``. The gradient noise n ~ N(0, V) of one step enters every kick of that
step, and what is injected is reduced by what n adds.
"""

import numpy as np
from scipy import linalg

# Fractions of the step. A drift, B kick, O Ornstein-Uhlenbeck, D damping, N noise, E explicit friction and
# noise; each list needs one gradient a step.
SCHEMES = {
    "ABOBA": [("A", 0.5), ("B", 0.5), ("O", 1), ("B", 0.5), ("A", 0.5)],
    "OBABO": [("A", 1), ("B", 0.5), ("O", 1), ("B", 0.5)],
    "BAOAB": [("A", 0.5), ("O", 1), ("A", 0.5), ("B", 1)],
    "liu": [("A", 0.5), ("D", 0.5), ("B", 1), ("N", 1), ("D", 0.5), ("A", 0.5)],
    "chen": [("A", 1), ("E", 1)],
}


def stationary_covariance(scheme, precision, h, friction=1.0, noise=None):
    """Covariance of the position in the long run.

    Args:
        scheme: One of `SCHEMES`, or "euler": ``x + h g + N(0, 2h - h^2 V)``.
        precision: A, ``[n, n]``.
        h: Step size.
        friction: C, a number or a symmetric positive definite matrix.
        noise: V, a number, a diagonal or a matrix; stated and subtracted.
    """
    n = len(precision)
    eye, zero = np.eye(n), np.zeros((n, n))
    v = zero if noise is None else noise * eye if np.ndim(noise) < 2 else np.asarray(noise)
    if scheme == "euler":
        # x' = (I - hA) x + h n + N(0, 2h - h^2 V): the noise is 2h I, whatever V.
        return linalg.solve_discrete_lyapunov(eye - h * precision, 2 * h * eye)
    c = friction * eye if np.ndim(friction) == 0 else np.asarray(friction)
    decay = linalg.expm(-c * h)
    half = (eye + decay) / 2
    injected = {
        "O": eye - decay @ decay - h * h * half @ v @ half,
        "N": 2 * c * h - h * h * v,
        "E": 2 * c * h - h * h * v,
    }
    # One step as (x, v) -> move (x, v) + kicks n + injected noise.
    move, kicks, covariance = np.eye(2 * n), np.zeros((2 * n, n)), np.zeros((2 * n, 2 * n))
    for flow, fraction in SCHEMES[scheme]:
        t = fraction * h
        step, kick, added = np.eye(2 * n), np.zeros((2 * n, n)), zero
        if flow == "A":
            step[:n, n:] = t * eye
        if flow in "BE":
            step[n:, :n], kick[n:] = -t * precision, t * eye
        if flow in "OD":
            step[n:, n:] = linalg.expm(-c * t)
        if flow == "E":
            step[n:, n:] = eye - t * c
        if flow in injected:
            added = injected[flow]
        move, kicks = step @ move, step @ kicks + kick
        covariance = step @ covariance @ step.T
        covariance[n:, n:] += added
    return linalg.solve_discrete_lyapunov(move, covariance + kicks @ v @ kicks.T)[:n, :n]
