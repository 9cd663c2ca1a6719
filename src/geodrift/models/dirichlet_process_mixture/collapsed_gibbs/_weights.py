"""Weights of all clusters for a row, as products over its tokens, for compiled kernels.

Weights are float32. A row of more than three tokens has an exponent of each weight beside it, and every three
tokens what the weights have gained moves there: no row is too long.
"""

import numba
import numpy as np

from geodrift.kernels._vectors import copy

ONE = np.float32(1.0)
BLOCK = 3  # tokens between two moves of what weights have gained to exponents
_NEVER = np.int32(-(2**28))  # exponent of a weight that is 0


@numba.njit(cache=True, error_model="numpy", inline="always")
def _multiply(
    begin: np.int64,
    offset: np.float32,
    shift: np.float32,
    scale: np.float32,
    table: np.ndarray,
    totals: np.ndarray,
    above: np.ndarray,
    below: np.ndarray,
) -> None:
    """Numerators and denominators of one more token, both divided by the number of words."""
    row = table[begin : begin + above.shape[0]]
    for k in range(above.shape[0]):
        above[k] *= np.float32(row[k]) + offset
        below[k] *= (totals[k] + shift) * scale


@numba.njit(cache=True, error_model="numpy", inline="always")
def _divide(above: np.ndarray, below: np.ndarray) -> None:
    for k in range(above.shape[0]):
        above[k] /= below[k]
        below[k] = ONE


@numba.njit(cache=True, error_model="numpy")
def split_off(above: np.ndarray, bits: np.ndarray, exponents: np.ndarray) -> None:
    """Move the powers of two of positive weights to their exponents; ``bits`` is ``above`` as int32."""
    for k in range(bits.shape[0]):
        if above[k] > 0.0:
            power = (bits[k] >> 23) - 127
            exponents[k] += power
            bits[k] -= power << 23
        else:
            exponents[k] = _NEVER
            above[k] = ONE


@numba.njit(cache=True, error_model="numpy")
def put_back(above: np.ndarray, bits: np.ndarray, exponents: np.ndarray) -> None:
    """Weights relative to the largest: what is 2^-100 of it or less becomes 0."""
    most = exponents.max()
    for k in range(bits.shape[0]):
        power = exponents[k] - most
        if power > -100:
            bits[k] += power << 23
        else:
            above[k] = 0.0


@numba.njit(cache=True, error_model="numpy", inline="always")
def weigh(
    first: np.int64,
    last: np.int64,
    words: np.ndarray,
    counts: np.ndarray,
    size: np.int64,
    table: np.ndarray,
    totals: np.ndarray,
    masses: np.ndarray,
    prior: np.float32,
    scale: np.float32,
    above: np.ndarray,
    below: np.ndarray,
    bits: np.ndarray,
    exponents: np.ndarray,
) -> None:
    """Weights of all clusters for the row of the entries ``first`` to ``last``, into ``above``."""
    copy(masses, above)
    below[:] = ONE
    taken, split = 0, False
    for entry in range(first, last):
        begin = np.int64(words[entry]) * size
        for again in range(counts[entry]):
            if taken % BLOCK == 0 and taken:
                _divide(above, below)
                if not split:
                    exponents[:] = 0
                    split = True
                split_off(above, bits, exponents)
            offset = prior + np.float32(again)
            _multiply(begin, offset, np.float32(taken), scale, table, totals, above, below)
            taken += 1
    if taken:
        _divide(above, below)
    if split:
        split_off(above, bits, exponents)
        put_back(above, bits, exponents)
