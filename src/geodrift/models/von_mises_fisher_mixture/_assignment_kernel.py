"""The compiled collapsed Gibbs draw of assignments.

Directions and weights are integrated out. With n_k and R_k the number and the sum of the rows of cluster k
without row x, r_0 the prior's resultant and u_k = |kappa_k R_k + r_0|^2,

    p(z = k | rest)  propto  (n_k + g) c(kappa_k) c(sqrt u_k) / c(|kappa_k (R_k + x) + r_0|),
    p(z new | rest)  propto  (weight of new clusters) c(kappa*) c(|r_0|) / c(|kappa* x + r_0|),
    p(background)    propto  (n_0 + a_0) c(0),

with kappa* an independent draw of the prior, or the row's own where it was alone: algorithm 8 of Neal (2000)
with one auxiliary cluster. Where the directions are uniform, r_0 = 0, kappa* cancels.

Operations for one row, d numbers and K clusters, in blocks of B rows: (K + B) d multiplications in two matrix
products (rows by sums, rows by rows); then K bounds of four operations each. -log c(sqrt u) is concave in
u, so its tangent at u_k bounds the probability of cluster k from above, and the constant itself (50 ns) is
computed for those clusters alone whose bound is within e^-45 of the best: less than what the uniform number
resolves. A row that moves corrects the products of the rows behind it by the product of the two rows, B
additions each.
"""

import math

import numba
import numpy as np

from geodrift.distributions._compiled import log_normaliser_of_square
from geodrift.kernels._random_streams import open_member, uniform
from geodrift.models.von_mises_fisher_mixture._conditional import BACKGROUND, STAYED

_NEGLIGIBLE = 45.0
# Columns of what is kept of a cluster: log c(sqrt u), -its slope in u, u, log(n + g) + log c(kappa).
_LEVEL, _SLOPE, _SQUARE, _BASE = range(4)


@numba.njit(cache=True, error_model="numpy")
def _log_c(square, law):
    """Log c(sqrt(square)); rounding may take a square below 0."""
    return log_normaliser_of_square(max(square, 0.0), law.top, law.steps, law.u, law.w)[0]


@numba.njit(cache=True, error_model="numpy")
def refresh(k, sums, law):
    """Compute what is kept of a cluster that has rows."""
    kappa = sums.kappa[k]
    square = max(kappa * (kappa * sums.squares[k] + 2.0 * sums.along[k]) + law.r0_square, 0.0)
    level, ratio = log_normaliser_of_square(square, law.top, law.steps, law.u, law.w)
    kept = sums.kept
    kept[k, _LEVEL], kept[k, _SLOPE], kept[k, _SQUARE] = level, 0.5 * ratio, square
    kept[k, _BASE] = math.log(sums.counts[k] + law.g) + sums.log_c_kappa[k]


@numba.njit(cache=True, error_model="numpy")
def _score_own(k, dot, g_ii, x_along, sums, law):
    """Score of the cluster that a row is in with others: the cluster without the row, given the row."""
    kappa = sums.kappa[k]
    squares, along = sums.squares[k] - 2.0 * dot + g_ii, sums.along[k] - x_along
    without = _log_c(kappa * (kappa * squares + 2.0 * along) + law.r0_square, law)
    return math.log(sums.counts[k] - 1 + law.g) + sums.log_c_kappa[k] + without - sums.kept[k, _LEVEL]


@numba.njit(cache=True, error_model="numpy")
def _score_others(i, own, last, best, sums, law, block, scores, bounds):
    """Scores of all clusters but the row's own; returns the best score."""
    counts, kappa, kept, dots = sums.counts, sums.kappa, sums.kept, block.dots
    g_ii, x_along = block.gram[i, i], block.along[i]
    first = -1
    for k in range(last):
        if k == own or counts[k] == 0:
            bounds[k] = -math.inf
            if k != own:
                scores[k] = -math.inf
            continue
        scores[k] = -math.inf
        gain = kappa[k] * (kappa[k] * (2.0 * dots[i, k] + g_ii) + 2.0 * x_along)
        bounds[k] = kept[k, _BASE] + kept[k, _SLOPE] * gain
        if first < 0 or bounds[k] > bounds[first]:
            first = k
    # The cluster with the best bound first: few others have to be computed then.
    for turn in range(-1 if first >= 0 else last, last):
        k = first if turn < 0 else turn
        if bounds[k] <= best - _NEGLIGIBLE or (turn >= 0 and k == first):
            continue
        gain = kappa[k] * (kappa[k] * (2.0 * dots[i, k] + g_ii) + 2.0 * x_along)
        scores[k] = kept[k, _BASE] + kept[k, _LEVEL] - _log_c(kept[k, _SQUARE] + gain, law)
        best = max(best, scores[k])
    return best


@numba.njit(cache=True, error_model="numpy")
def _score_new(weight, kappa, g_ii, x_along, law):
    """Score of a new cluster of concentration kappa."""
    if weight <= 0.0:
        return -math.inf
    if law.r0_square == 0.0:
        return math.log(weight) + _log_c(0.0, law)
    square = kappa * (kappa * g_ii + 2.0 * x_along) + law.r0_square
    return math.log(weight) + _log_c(kappa * kappa, law) + _log_c(law.r0_square, law) - _log_c(square, law)


@numba.njit(cache=True, error_model="numpy")
def _drawn(scores, last, best, stream):
    """An index below ``last`` with probability proportional to exp(score)."""
    total = 0.0
    for j in range(last):
        total += math.exp(scores[j] - best)
    left = uniform(stream)[0] * total
    chosen = 0
    for j in range(last):
        probability = math.exp(scores[j] - best)
        if probability > 0.0:
            chosen = j
            left -= probability
            if left < 0.0:
                break
    return chosen


@numba.njit(cache=True, error_model="numpy")
def _put(i, k, sign, sums, law, block):
    """Put row i of a block into a cluster (sign 1), or take it out (-1)."""
    dots, gram, number = block.dots, block.gram, len(block.along)
    if k == BACKGROUND:
        sums.background[0] += sign
        return
    sums.counts[k] += sign
    if sums.counts[k] == 0:
        sums.squares[k] = sums.along[k] = 0.0
        dots[i:number, k] = 0.0
        return
    sums.squares[k] = max(sums.squares[k] + 2.0 * sign * dots[i, k] + gram[i, i], 0.0)
    sums.along[k] += sign * block.along[i]
    for j in range(i, number):
        dots[j, k] += sign * gram[i, j]
    refresh(k, sums, law)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def redraw_block(rows, z, sums, law, block, family, scores, bounds, moved_from):
    """Redraw the assignments of a block of rows, one after the other.

    Args:
        rows: Numbers of the rows, [B]; their assignments are ``z[rows]``, and their streams have these
            numbers.
        z: Assignments, changed, [N].
        sums: Of all clusters but for their directions, changed; room for a new cluster of every row.
        law: See there.
        block: See there; changed.
        family: Random streams.
        scores: Room for M + 2 numbers.
        bounds: The same.
        moved_from: [B], filled with the assignments before, or `STAYED`.
    """
    occupied, last = np.int64(0), np.int64(0)  # literals would compile what is called twice
    for k in range(len(sums.counts)):
        if sums.counts[k] > 0:
            occupied, last = occupied + 1, k + 1
            refresh(k, sums, law)
    for i in range(len(rows)):
        before = np.int64(z[rows[i]])
        g_ii, x_along = block.gram[i, i], block.along[i]
        alone = before >= 0 and sums.counts[before] == 1
        kappa = sums.kappa[before] if alone else block.fresh[i]
        weight = law.new_first + law.new_each * (occupied - 1 if alone else occupied)
        new = _score_new(weight, kappa, g_ii, x_along, law)
        noise = -math.inf
        if law.a0 > 0.0:
            rest = sums.background[0] - (1 if before == BACKGROUND else 0)
            noise = math.log(rest + law.a0) + _log_c(0.0, law)
        best = max(new, noise)
        if before >= 0:
            scores[before] = -math.inf
            if not alone:
                scores[before] = _score_own(before, block.dots[i, before], g_ii, x_along, sums, law)
            best = max(best, scores[before])
        best = _score_others(i, before, last, best, sums, law, block, scores, bounds)
        scores[last], scores[last + 1] = new, noise
        after = _drawn(scores, last + 2, best, open_member(family, rows[i]))
        moved_from[i] = STAYED
        if after == last + 1:
            after = BACKGROUND
        elif after == last:
            after = before
            if not alone:
                after = 0
                while sums.counts[after] > 0:
                    after += 1
                if not law.shared:
                    sums.kappa[after], sums.log_c_kappa[after] = kappa, _log_c(kappa * kappa, law)
        if after == before:
            continue
        moved_from[i], z[rows[i]] = before, after
        is_new = after >= 0 and sums.counts[after] == 0
        _put(i, before, np.int64(-1), sums, law, block)
        _put(i, np.int64(after), np.int64(1), sums, law, block)
        occupied += int(is_new) - int(alone)
        last = max(last, after + 1)
