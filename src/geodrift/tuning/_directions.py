"""Widths of a few directions, from draws and gradients of which there are fewer than dimensions.

Each number is given the scale at which its draws and its gradients vary as much. Within the dimensions that
draws and gradients span the factor is then that of `better_factor`, the geometric mean of the draws'
covariance and the inverse of the gradients'; beyond them it is a number. A direction in which chains are
still on their way is found in part, so that several windows are needed.
"""

import numpy as np
from jaxtyping import Float

from geodrift.estimators._low_rank import LowRank
from geodrift.tuning._powers import power

MOST_DIRECTIONS = 64
LEAST_WIDTH = 1.3  # of a direction that is kept, or its inverse: of less there are many by chance
REGULAR = 0.05  # of the mean variance is added to all directions


def better_directions(
    factor: LowRank, draws: Float[np.ndarray, "n d"], gradients: Float[np.ndarray, "n d"]
) -> LowRank:
    """The factor of coordinates in which draws and gradients have the same covariance.

    Args:
        factor: Of the coordinates in which they are given.
        draws: Coordinates.
        gradients: Of the log density at them.
    """
    y, g = (a - a.mean(axis=0) for a in (draws, gradients))
    ratio = np.sqrt(y.std(axis=0) / np.maximum(g.std(axis=0), np.finfo(np.float32).tiny))
    y, g, factor = y / ratio, g * ratio, rescaled(factor, ratio)
    basis = np.linalg.qr(np.concatenate([y, g]).T)[0]
    (covariance, of_draws), (precision, of_gradients) = (_covariance(a, basis) for a in (y, g))
    root, inverse_root = power(covariance, 0.5), power(covariance, -0.5)
    middle = root @ power(inverse_root @ np.linalg.inv(precision) @ inverse_root, 0.5) @ root
    elsewhere = np.sqrt(of_draws / of_gradients)
    scaled = LowRank(factor.scales * np.sqrt(elsewhere), factor.directions, factor.widths)
    return widened(scaled, basis, middle / elsewhere)


def widened(
    factor: LowRank, basis: Float[np.ndarray, "d m"], covariance: Float[np.ndarray, "m m"]
) -> LowRank:
    """The factor where its coordinates have a covariance in an orthonormal basis, and 1 elsewhere."""
    both = np.linalg.qr(np.concatenate([factor.directions, basis], axis=1))[0]
    old, new, one = both.T @ factor.directions, both.T @ basis, np.eye(both.shape[1])
    root = one + (old * (factor.widths - 1)) @ old.T
    middle = one + new @ (covariance - np.eye(len(covariance))) @ new.T
    return _of_covariance(factor.scales, both, root @ middle @ root)


def rescaled(factor: LowRank, ratio: Float[np.ndarray, " d"]) -> LowRank:
    """The factor where each of its coordinates is this wide."""
    u, more = factor.directions, factor.widths - 1
    # R D^2 R for R = 1 + u more u', over the diagonal matrix D on both sides: 1 and what u/D and D u span.
    over, times = u / ratio[:, None], u * ratio[:, None]
    both = np.linalg.qr(np.concatenate([over, times], axis=1))[0]
    left, right = both.T @ (over * more), both.T @ times
    inner = (times.T @ times) * more
    covariance = np.eye(both.shape[1]) + left @ right.T + right @ left.T + left @ (inner @ (both.T @ over).T)
    return _of_covariance(factor.scales * ratio, both, covariance)


def _of_covariance(
    scales: Float[np.ndarray, " d"], basis: Float[np.ndarray, "d m"], covariance: Float[np.ndarray, "m m"]
) -> LowRank:
    """The scales, and of the covariance in a basis the directions that are wide or narrow."""
    squares, axes = np.linalg.eigh((covariance + covariance.T) / 2)
    logs = np.log(np.maximum(squares, 1e-12 * squares.max(initial=0.0))) / 2
    kept = np.argsort(-np.abs(logs))[:MOST_DIRECTIONS]
    kept = kept[np.abs(logs[kept]) > np.log(LEAST_WIDTH)]
    return LowRank(scales, basis @ axes[:, kept], np.exp(logs[kept]))


def _covariance(
    samples: Float[np.ndarray, "n d"], basis: Float[np.ndarray, "d m"]
) -> tuple[Float[np.ndarray, "m m"], float]:
    """In the basis, and what is added to all directions."""
    along, added = samples @ basis, REGULAR * float(np.mean(samples**2))
    return along.T @ along / len(samples) + added * np.eye(basis.shape[1]), added
