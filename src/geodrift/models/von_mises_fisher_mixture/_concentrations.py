r"""The prior of concentrations, and exact draws given the assignments by slice sampling.

kappa / (kappa + m) has the symmetric Beta law with parameters (p, p): kappa has the median m in every
dimension, falls off as kappa^(-1-p), and is cut at the largest concentration that rows in single precision
can tell. In d dimensions a law of concentration t d has a mean resultant length that depends on t alone as
d grows, about 2 t / (1 + sqrt(1 + 4 t^2)): with m = d and p = 1 clusters from almost uniform to tight are
equally likely whatever d is. A lighter tail, a Gamma's, would hold tight clusters back in few dimensions,
where n rows say only n (d - 1) / 2 times log kappa. The tail must be cut because equal rows have a
likelihood without a bound.

With the directions integrated out, a cluster of n rows with sum R has

    log p(kappa | z) = log prior + n log c(kappa) - log c(|kappa R + r_0|) + constant.
"""

import math
from typing import NamedTuple

import numba
import numpy as np
from jaxtyping import Float
from scipy.special import betainc, betaincinv

from geodrift.distributions._compiled import log_normaliser_of_square
from geodrift.kernels._random_streams import open_member, uniform

SMALLEST = 1e-6  # of the median: below it a law is uniform to all digits
_WIDEST = 3.0  # of a slice's first interval, in log kappa


class ConcentrationPrior(NamedTuple):
    """The law of kappa.

    Attributes:
        median: m.
        shape: p.
        largest: Where the law is cut; it is cut at `SMALLEST` times the median, too.
    """

    median: float
    shape: float
    largest: float

    @property
    def mass(self) -> float:
        """The share of the Beta law between the cuts."""
        ends = np.array([SMALLEST * self.median, self.largest])
        low, high = betainc(self.shape, self.shape, ends / (ends + self.median))
        return float(high - low)

    def draws(self, rng: np.random.Generator, size: int) -> Float[np.ndarray, " size"]:
        """Independent draws."""
        found = np.empty(size)
        left = np.arange(size)
        while len(left):
            first, second = rng.standard_gamma(self.shape, (2, len(left)))
            found[left] = self.median * first / np.maximum(second, 1e-300)
            left = left[~((found[left] <= self.largest) & (found[left] >= SMALLEST * self.median))]
        return found

    def quantiles(self, number: int) -> Float[np.ndarray, " number"]:
        """Middles of so many equally probable parts of the law."""
        ends = np.array([SMALLEST * self.median, self.largest])
        low, high = betainc(self.shape, self.shape, ends / (ends + self.median))
        middles = low + (high - low) * (np.arange(number) + 0.5) / number
        share = betaincinv(self.shape, self.shape, middles)
        return np.clip(self.median * share / (1 - share), *ends)

    def log_density(self, kappa: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Log of the density but for its constant; minus infinity beyond the cut."""
        p, m = self.shape, self.median
        value = (p - 1) * np.log(kappa) - 2 * p * np.log(kappa + m)
        inside = (kappa >= SMALLEST * m) & (kappa <= self.largest)
        return np.where(inside, value, -np.inf)


@numba.njit(cache=True, error_model="numpy")
def log_target(v, members, counts, squares, along, r0_square, median, shape, largest, top, steps, u, w):
    """Log density of v = log kappa given clusters that share it, but for a constant."""
    kappa = math.exp(v)
    if not (median * SMALLEST <= kappa <= largest):
        return -math.inf
    value = shape * (v - 2.0 * math.log(kappa + median))
    log_c = log_normaliser_of_square(kappa * kappa, top, steps, u, w)[0]
    for k in members:
        square = max(kappa * (kappa * squares[k] + 2.0 * along[k]) + r0_square, 0.0)
        value += counts[k] * log_c - log_normaliser_of_square(square, top, steps, u, w)[0]
    return value


@numba.njit(cache=True, error_model="numpy")
def _width(members, counts, squares, dim):
    """About the width of the slice: a function of the data and the assignments alone.

    Near kappa with A(kappa) = r the law of log kappa given n rows has a standard deviation of about
    sqrt(2 / (n d)) (1 - r^2) / r^2, by the large-d form of A; the prior bounds it.
    """
    number = length = 0.0
    for k in members:
        number += counts[k]
        length += math.sqrt(max(squares[k], 0.0))
    r = min(length / max(number, 1.0), 1.0 - 1e-9)
    if number < 2.0 or r <= 0.0:
        return _WIDEST
    spread = math.sqrt(2.0 / (number * dim)) * (1.0 + (1.0 - r * r) / (r * r))
    return min(max(4.0 * spread, 1e-6), _WIDEST)


@numba.njit(cache=True, error_model="numpy")
def _slice(
    v, width, stream, members, counts, squares, along, r0_square, median, shape, largest, top, steps, u, w
):
    """One transition of a slice sampler with stepping out (Neal 2003), and the stream after it."""
    level = log_target(
        v, members, counts, squares, along, r0_square, median, shape, largest, top, steps, u, w
    )
    first, stream = uniform(stream)
    level += math.log(first)
    place, stream = uniform(stream)
    ends = np.empty(2)
    ends[0], ends[1] = v - place * width, v + (1.0 - place) * width
    for side in range(2):
        while level < log_target(
            ends[side], members, counts, squares, along, r0_square, median, shape, largest, top, steps, u, w
        ):
            ends[side] += width * (2 * side - 1)
    while True:
        place, stream = uniform(stream)
        proposed = ends[0] + place * (ends[1] - ends[0])
        if level < log_target(
            proposed, members, counts, squares, along, r0_square, median, shape, largest, top, steps, u, w
        ):
            return proposed, stream
        if proposed < v:
            ends[0] = proposed
        else:
            ends[1] = proposed
        if ends[1] - ends[0] < 1e-14 * (1.0 + abs(v)):
            return v, stream


@numba.njit(cache=True, nogil=True, error_model="numpy")
def draw_concentrations(
    kappa, log_c_kappa, counts, squares, along, r0_square, shared, transitions, dim, median, shape, largest,
    top, steps, u, w, family,
):  # fmt: skip
    """Move the concentrations of all clusters that have rows; those of others are not looked at."""
    occupied = np.flatnonzero(counts > 0)
    groups = 1 if shared else len(occupied)
    for group in range(groups):
        members = occupied if shared else occupied[group : group + 1]
        if len(members) == 0 and not shared:
            continue
        first = 0 if shared else members[0]
        stream = open_member(family, first)
        # Rounding must not leave the edge.
        v = math.log(min(max(kappa[first], median * SMALLEST * (1 + 1e-12)), largest * (1 - 1e-12)))
        width = _width(members, counts, squares, dim)
        for _ in range(transitions):
            v, stream = _slice(
                v, width, stream, members, counts, squares, along, r0_square, median, shape, largest, top,
                steps, u, w,
            )  # fmt: skip
        new = min(max(math.exp(v), median * SMALLEST), largest)
        log_c = log_normaliser_of_square(new * new, top, steps, u, w)[0]
        if shared:
            kappa[:] = new
            log_c_kappa[:] = log_c
        else:
            kappa[first], log_c_kappa[first] = new, log_c
