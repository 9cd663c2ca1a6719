"""The von Mises-Fisher constant for compiled kernels: one number at a time, as a function of a square.

`log_normaliser_of_square` is the straight-line code of `_bessel` without its compensated arithmetic. Its
error is that of a double-precision sum of terms of size d log d: 1e-12 at d = 4,096. It takes the square of
the argument, of which both the constant and ``A_d(x) / x`` are smooth functions, so that nothing is special
at 0.
"""

import functools
import math
from typing import NamedTuple

import numba
import numpy as np
from jaxtyping import Float

from geodrift.distributions import _bessel
from geodrift.distributions._host import checked_dimension

_TWO_PI = 2.0 * math.pi
_NEGLIGIBLE = 1e-17  # of a sum near 1


class DebyeTable(NamedTuple):
    """What `log_normaliser_of_square` needs of a dimension.

    Attributes:
        top: The order at which the expansion is taken.
        steps: How many orders it is above d/2 - 1.
        u: Coefficients of the sum U, row k those of ``t^k (t^2)^i``.
        w: The same of the sum W.
    """

    top: float
    steps: int
    u: Float[np.ndarray, "terms terms"]
    w: Float[np.ndarray, "terms terms"]


@functools.cache
def debye_table(dim: int) -> DebyeTable:
    """The coefficients of a dimension, of as many terms as change a sum near 1."""
    nu = checked_dimension(dim) / 2 - 1
    top = _bessel._top_order(nu)
    u_rows, w_rows = _bessel._debye_coefficients(top)
    t = np.linspace(0, 1, 101)

    def largest(rows: tuple[tuple[float, ...], ...], k: int) -> float:
        return float(np.abs(t**k * np.polynomial.polynomial.polyval(t * t, np.array(rows[k]))).max())

    sizes = [max(largest(u_rows, k), largest(w_rows, k)) for k in range(len(u_rows))]
    terms = 1 + max(k for k, size in enumerate(sizes) if size > _NEGLIGIBLE)
    u, w = np.zeros((2, terms, terms + 1))
    for k in range(terms):
        u[k, : len(u_rows[k])], w[k, : len(w_rows[k])] = u_rows[k], w_rows[k]
    return DebyeTable(float(top), round(top - nu), u, w)


@numba.njit(cache=True, error_model="numpy")
def _in_three_dimensions(square: float) -> tuple[float, float]:
    """``log x / (4 pi sinh x)`` and ``(coth x - 1/x) / x``, which near 0 are the first terms of their series.

    A tenth of the time of the recurrence, which is long in few dimensions.
    """
    if square < 0.05:
        s = square
        log_sinh = s * (1 / 6 + s * (-1 / 180 + s * (1 / 2835 + s * (-1 / 37800 + s * (1 / 467775)))))
        log_sinh += s**6 * (-691 / 3831077250 + s * 2 / 127702575)
        ratio = 1 / 3 + s * (-1 / 45 + s * (2 / 945 + s * (-1 / 4725 + s * (2 / 93555))))
        ratio += s**5 * (-1382 / 638512875 + s * 4 / 18243225)
        return -math.log(2.0 * _TWO_PI) - log_sinh, ratio
    x = math.sqrt(square)
    small = math.exp(-2.0 * x)
    return math.log(x / _TWO_PI) - x - math.log1p(-small), ((1.0 + small) / (1.0 - small) - 1.0 / x) / x


@numba.njit(cache=True, error_model="numpy")
def log_normaliser_of_square(
    square: float, top: float, steps: int, u: np.ndarray, w: np.ndarray
) -> tuple[float, float]:
    """``log c_d(x)`` and ``A_d(x) / x`` for ``square = x^2``; the slope of the first in it is -A / (2 x)."""
    if top - steps == 0.5:
        return _in_three_dimensions(square)
    h = math.sqrt(top * top + square)
    t = top / h
    s = t * t
    u_sum = w_sum = 0.0
    for k in range(u.shape[0] - 1, -1, -1):
        a = b = 0.0
        for i in range(k, -1, -1):
            a = a * s + u[k, i]
            b = b * s + w[k, i]
        u_sum = u_sum * t + a
        w_sum = w_sum * t + b
    log_c = top * math.log((top + h) / _TWO_PI) - h + 0.5 * math.log(h / (_TWO_PI * u_sum * u_sum))
    ratio = (t / (1.0 + t) + t * w_sum / u_sum) / top
    product = 1.0
    for j in range(steps):
        denominator = 2.0 * (top - j) + square * ratio
        product *= denominator / _TWO_PI
        if product > 1e200:
            log_c -= math.log(product)
            product = 1.0
        ratio = 1.0 / denominator
    return log_c - math.log(product), ratio
