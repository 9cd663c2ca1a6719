"""Vectors copied and added entry by entry, in kernels.

An assignment of whole vectors, ``target[:] = source``, compiles for seconds: the text of its error of shapes
is compiled with it.
"""

import numba
import numpy as np


@numba.njit(cache=True, error_model="numpy")
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """Write ``source`` to the first entries of ``target``."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@numba.njit(cache=True, error_model="numpy")
def add(factor: float, source: np.ndarray, target: np.ndarray) -> None:
    """Add ``factor`` times ``source`` to ``target``."""
    for i in range(source.shape[0]):
        target[i] += factor * source[i]


@numba.njit(cache=True, error_model="numpy")
def copy_as_shares(source: np.ndarray, target: np.ndarray) -> None:
    """Write ``source`` over its sum to the first entries of ``target``."""
    total = 0.0
    for i in range(source.shape[0]):
        total += source[i]
    for i in range(source.shape[0]):
        target[i] = source[i] / total


@numba.njit(cache=True, error_model="numpy")
def sum_of_rows(rows: np.ndarray) -> np.ndarray:
    """The sum of all rows, float64; of `rows.sum(axis=0)` the text of an error about the axis is compiled."""
    total = np.zeros(rows.shape[1])
    for row in range(rows.shape[0]):
        add(1.0, rows[row], total)
    return total
