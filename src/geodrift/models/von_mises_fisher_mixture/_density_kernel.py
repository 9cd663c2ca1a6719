"""The compiled log densities of rows under clusters whose directions are integrated out."""

import math

import numba
import numpy as np

from geodrift.distributions._compiled import log_normaliser_of_square

_NEGLIGIBLE = 45.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def add_log_densities(scores, dots, kappa, squares, top, steps, u, w):  # fmt: skip
    """Add log c(|t|) - log c(|t + kappa x|) to scores.

    As a function of the square of its argument -log c is concave, so its tangent at |t|^2 is an upper bound:
    four operations. The constant itself is computed for the clusters whose bound is within e^-45 of the row's
    best score; the others keep their bound.

    Args:
        scores: Logs of weights times c(kappa), [S, K]; changed.
        dots: t_k'x_i, [S, K].
        kappa: [K].
        squares: |t_k|^2, [K].
        top: Of the `DebyeTable`, as what follows.
        steps: See there.
        u: See there.
        w: See there.
    """
    rows, clusters = dots.shape
    levels, slopes = np.empty(clusters), np.empty(clusters)
    for k in range(clusters):
        levels[k], ratio = log_normaliser_of_square(squares[k], top, steps, u, w)
        slopes[k] = 0.5 * ratio
    bounds, gains = np.empty(clusters), np.empty(clusters)
    for i in range(rows):
        first = 0
        for k in range(clusters):
            gains[k] = kappa[k] * (2.0 * dots[i, k] + kappa[k])
            bounds[k] = scores[i, k] + slopes[k] * gains[k]
            if bounds[k] > bounds[first]:
                first = k
        best = -math.inf
        for turn in range(-1, clusters):
            k = first if turn < 0 else turn
            if turn >= 0 and k == first:
                continue
            if bounds[k] <= best - _NEGLIGIBLE:
                scores[i, k] = bounds[k]
                continue
            square = max(squares[k] + gains[k], 0.0)
            scores[i, k] += levels[k] - log_normaliser_of_square(square, top, steps, u, w)[0]
            best = max(best, scores[i, k])
