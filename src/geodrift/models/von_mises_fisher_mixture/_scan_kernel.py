"""The compiled restricted Gibbs scan over the rows of two clusters."""

import math

import numba
import numpy as np

from geodrift.distributions._compiled import log_normaliser_of_square
from geodrift.kernels._vectors import add


@numba.njit(cache=True, error_model="numpy")
def _sums_of_sides(x, sides, along):
    """Of either side the sum of its rows, their number, the sum's square and its product with r_0."""
    sums, counts = np.zeros((2, x.shape[1])), np.zeros(2)
    squares, products = np.zeros(2), np.zeros(2)
    for i in range(len(x)):
        add(1.0, x[i], sums[sides[i]])
        counts[sides[i]] += 1.0
        products[sides[i]] += along[i]
    for side in range(2):
        squares[side] = np.dot(sums[side], sums[side])
    return sums, counts, squares, products


@numba.njit(cache=True, nogil=True, error_model="numpy")
def restricted_scan(
    x, sides, order, uniforms, target, along, kappa, g, r0_square, top, steps, u, w
):  # fmt: skip
    """One scan; returns the log probability of its choices.

    Args:
        x: Rows of both clusters, [n, d].
        sides: 0 or 1 for each, changed.
        order: The rows that are redrawn, in their order.
        uniforms: One for each of ``order``.
        target: Where the scan is to end, [n]; empty: it is drawn.
        along: x'r_0.
        kappa: Of both clusters.
        g: Dirichlet parameter.
        r0_square: |r_0|^2.
        top: Of the `DebyeTable`, as what follows.
        steps: See there.
        u: See there.
        w: See there.
    """
    sums, counts, squares, products = _sums_of_sides(x, sides, along)
    scores, dots = np.zeros(2), np.zeros(2)
    log_p = 0.0
    for place in range(len(order)):
        i = order[place]
        old = sides[i]
        for k in range(2):
            dots[k] = np.dot(sums[k], x[i])
        norm = np.dot(x[i], x[i])
        counts[old] -= 1.0
        squares[old] += norm - 2.0 * dots[old]
        products[old] -= along[i]
        dots[old] -= norm
        for k in range(2):
            base = kappa * (kappa * squares[k] + 2.0 * products[k]) + r0_square
            gain = kappa * (kappa * (2.0 * dots[k] + norm) + 2.0 * along[i])
            scores[k] = (
                math.log(counts[k] + g)
                + log_normaliser_of_square(max(base, 0.0), top, steps, u, w)[0]
                - log_normaliser_of_square(max(base + gain, 0.0), top, steps, u, w)[0]
            )
        log_odds = scores[1] - scores[0]
        first = -math.log1p(math.exp(log_odds)) if log_odds < 700.0 else -log_odds
        second = -math.log1p(math.exp(-log_odds)) if log_odds > -700.0 else log_odds
        new = int(math.log(uniforms[place]) >= first) if len(target) == 0 else target[i]
        log_p += second if new == 1 else first
        sides[i] = new
        counts[new] += 1.0
        squares[new] += 2.0 * dots[new] + norm
        products[new] += along[i]
        if new != old:
            add(-1.0, x[i], sums[old])
            add(1.0, x[i], sums[new])
    return log_p
