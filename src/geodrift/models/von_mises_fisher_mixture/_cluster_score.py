"""How well rows fit one cluster: the log of their density with direction and concentration integrated out.

The integral over log kappa is Laplace's, around a maximum found on a grid and by golden section: good to a
few hundredths, for searches that compare clusterings, where no law depends on it. The mode and the scale
also make the proposal of a concentration, whose density the Metropolis test accounts for.
"""

import math

import numba
import numpy as np
from jaxtyping import Float, Int

from geodrift.distributions._compiled import log_normaliser_of_square
from geodrift.models.von_mises_fisher_mixture._concentrations import log_target
from geodrift.models.von_mises_fisher_mixture._parameters import Prior

_GRID = 24
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def mode_and_scale(count, square, along, r0_square, median, shape, largest, top, steps, u, w):
    """Mode and standard deviation of log kappa given one cluster, and the log integral of `log_target`."""
    one = np.zeros(1, np.int64)
    counts, squares = np.full(1, count), np.full(1, square)
    products = np.full(1, along)
    low, high = math.log(1e-3 * median), math.log(largest) - 1e-9

    def at(v):
        return log_target(
            v, one, counts, squares, products, r0_square, median, shape, largest, top, steps, u, w
        )

    width = (high - low) / (_GRID - 1)
    best, found = low, -math.inf
    for i in range(_GRID):
        value = at(low + i * width)
        if value > found:
            best, found = low + i * width, value
    a, b = max(low, best - width), min(high, best + width)
    c, d = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    at_c, at_d = at(c), at(d)
    for _ in range(22):
        if at_c > at_d:
            b, d, at_d = d, c, at_c
            c = b - _GOLDEN * (b - a)
            at_c = at(c)
        else:
            a, c, at_c = c, d, at_d
            d = a + _GOLDEN * (b - a)
            at_d = at(d)
    mode = 0.5 * (a + b)
    peak, h = at(mode), 0.01
    centre = min(max(mode, low + h), high - h)  # beyond the cuts there is nothing
    curvature = (2.0 * at(centre) - at(centre - h) - at(centre + h)) / (h * h)
    scale = 1.0 / math.sqrt(min(max(curvature, 0.05), 1e12))
    return mode, scale, peak + math.log(scale) + 0.5 * math.log(2.0 * math.pi)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _scores(counts, squares, along, constant, r0_square, median, shape, largest, top, steps, u, w):
    found = np.zeros(len(counts))
    for k in range(len(counts)):
        if counts[k] > 0:
            found[k] = (
                mode_and_scale(
                    counts[k], squares[k], along[k], r0_square, median, shape, largest, top, steps, u, w
                )[2]
                + constant
            )
    return found


class ClusterScore:
    """Scores of clusters under a prior.

    Args:
        prior: Of concentrations and directions.
        table: The `DebyeTable` of the dimension.
    """

    def __init__(self, prior: Prior, table: tuple) -> None:
        concentration = prior.concentration
        p = concentration.shape
        log_beta = 2 * math.lgamma(p) - math.lgamma(2 * p) + math.log(concentration.mass)
        self.r0_square = float(prior.r0 @ prior.r0)
        self.arguments = (self.r0_square, *map(float, concentration), *table)
        of_r0 = log_normaliser_of_square(self.r0_square, *table)[0]
        self.constant = of_r0 + p * math.log(concentration.median) - log_beta

    def __call__(
        self,
        counts: Int[np.ndarray, " n"],
        squares: Float[np.ndarray, " n"],
        along: Float[np.ndarray, " n"],
    ) -> Float[np.ndarray, " n"]:
        """Log density of the rows of each cluster; 0 where there are none.

        Args:
            counts: Rows.
            squares: |R|^2.
            along: R'r_0.
        """
        arrays = (np.asarray(counts, float), np.asarray(squares, float), np.asarray(along, float))
        return _scores(*arrays, self.constant, *self.arguments)

    def at(self, kappa: float) -> "ScoreAt":
        """Scores where all clusters have one concentration, which is given."""
        return ScoreAt(kappa, self.r0_square, self.arguments[4:])

    def proposal(self, count: float, square: float, along: float) -> tuple[float, float]:
        """Mode and standard deviation of log kappa."""
        return mode_and_scale(float(count), float(square), float(along), *self.arguments)[:2]


class ScoreAt:
    """Scores of clusters that share a concentration: their directions alone are integrated out.

    A score with a concentration for each cluster would favour tight clusters, which the shared one does not.

    Args:
        kappa: The concentration.
        r0_square: |r_0|^2 of the directions' prior.
        table: The `DebyeTable` of the dimension.
    """

    def __init__(self, kappa: float, r0_square: float, table: tuple) -> None:
        self.kappa, self.r0_square, self.table = kappa, r0_square, table
        self.log_c = log_normaliser_of_square(kappa * kappa, *table)[0]
        self.constant = log_normaliser_of_square(r0_square, *table)[0]

    def __call__(
        self,
        counts: Int[np.ndarray, " n"],
        squares: Float[np.ndarray, " n"],
        along: Float[np.ndarray, " n"],
    ) -> Float[np.ndarray, " n"]:
        """As of `ClusterScore`."""
        kappa, counts = self.kappa, np.asarray(counts, float)
        ends = kappa * (kappa * np.asarray(squares, float) + 2 * np.asarray(along, float)) + self.r0_square
        of_ends = np.array([log_normaliser_of_square(end, *self.table)[0] for end in np.maximum(ends, 0.0)])
        return np.where(counts > 0, counts * self.log_c + self.constant - of_ends, 0.0)
