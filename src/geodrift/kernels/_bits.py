"""Sets of small numbers as the bits of words of 64, for compiled kernels."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

BITS = 64
_ONE = np.uint64(1)


@intrinsic
def lowest(typing_context: Any, word: Any) -> tuple[Any, Callable]:
    """The place of the lowest bit of a word that is not 0."""

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


@numba.njit(cache=True, inline="always")
def put(sets: np.ndarray, row: int | np.integer, number: int | np.integer) -> None:
    """Put a number into a row's set."""
    sets[row, number // BITS] |= _ONE << np.uint64(number % BITS)


@numba.njit(cache=True, inline="always")
def take(sets: np.ndarray, row: int | np.integer, number: int | np.integer) -> None:
    """Take a number out of a row's set."""
    sets[row, number // BITS] &= ~(_ONE << np.uint64(number % BITS))


@numba.njit(cache=True)
def above_zero(counts: np.ndarray, first: int, sets: np.ndarray) -> None:
    """Make each row's set those places from ``first`` on, counted from there, whose count is not 0."""
    for row in range(counts.shape[0]):
        sets[row] = np.uint64(0)
        for place in range(first, counts.shape[1]):
            if counts[row, place] != 0:
                put(sets, row, place - first)
