"""Exact Poisson draws for compiled kernels, as floating-point numbers: right to means of 1e15.

Means below 1 by counting arrivals, which needs no exponential, those below 10 by inversion, larger ones by
Hörmann's transformed rejection with squeeze (1993), whose exact test uses Loader's form of the probability
(2000): sums of terms of size 1 rather than differences of terms of size mean, which lose all digits beyond
1e10.
"""

import math

import numba
import numpy as np

from geodrift.kernels._normal_exponential import exponential
from geodrift.kernels._random_streams import uniform

_INVERSION_BELOW = 10.0
_ARRIVALS_BELOW = 1.0
_RECIPROCALS = np.array([0.0] + [1.0 / k for k in range(1, 128)])
# log k! less Stirling's formula, for k < 16; a series takes over from there.
_STIRLING_ERRORS = np.array(
    [0.0]
    + [math.lgamma(k + 1) - (k + 0.5) * math.log(k) + k - 0.5 * math.log(2 * math.pi) for k in range(1, 16)]
)


@numba.njit(cache=True, error_model="numpy")
def _by_inversion(mean: float, u: float) -> float:
    left = math.exp(-mean)
    k = 0
    # The reciprocals end at 127: beyond a probability of 1e-80, but rounding may leave u above the sum.
    while u > left and k < 127:
        u -= left
        k += 1
        left *= mean * _RECIPROCALS[k]
    return float(k)


@numba.njit(cache=True, error_model="numpy")
def _log_probability(k: float, mean: float) -> float:
    """Log of the Poisson probability of k."""
    if k < 1.0:
        return -mean
    if k < 16.0:
        error = _STIRLING_ERRORS[int(k)]
    else:
        r = 1.0 / k
        error = r * (1 / 12 - r * r * (1 / 360 - r * r * (1 / 1260 - r * r / 1680)))
    away = k - mean
    deviance = k * math.log1p(away / mean) - away
    return -deviance - error - 0.5 * math.log(2.0 * math.pi * k)


@numba.njit(cache=True, error_model="numpy")
def _by_rejection(mean: float, stream: np.uint64) -> tuple[float, np.uint64]:
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    squeeze = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u, stream = uniform(stream)
        v, stream = uniform(stream)
        u -= 0.5
        shifted = 0.5 - abs(u)
        k = math.floor((2.0 * a / shifted + b) * u + mean + 0.43)
        if shifted >= 0.07 and v <= squeeze:
            return k, stream
        if k < 0.0 or (shifted < 0.013 and v > shifted):
            continue
        inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
        if math.log(v * inverse_alpha / (a / (shifted * shifted) + b)) <= _log_probability(k, mean):
            return k, stream


@numba.njit(cache=True, error_model="numpy", forceinline=True)
def poisson(mean: float, stream: np.uint64) -> tuple[float, np.uint64]:
    """A Poisson draw and the stream after it; ``mean`` from 0 to 1e15."""
    if mean >= _INVERSION_BELOW:
        return _by_rejection(mean, stream)
    if mean >= _ARRIVALS_BELOW:
        u, stream = uniform(stream)
        return _by_inversion(mean, u), stream
    count = 0.0
    arrival, stream = exponential(stream)
    while arrival < mean:
        count += 1.0
        wait, stream = exponential(stream)
        arrival += wait
    return count, stream
