"""Arrays whose references are not counted are the same arrays, and their caller holds them."""

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from geodrift.kernels._uncounted import uncounted


@numba.njit(inline="always")
def add_ones(values, upto):
    for place in range(upto):
        values[place] += 1


@numba.njit
def count_up(counts, weights, times):
    counts, weights = uncounted((counts, weights))
    for upto in range(times):
        add_ones(counts, upto)
        weights[upto] *= 2.0
    return counts[1:].sum()


@numba.njit
def made_and_counted(size):
    counts, weights = np.zeros(size, np.int64), np.ones(size)
    total = count_up(counts, weights, size)
    return total, counts, weights


def test_the_arrays_themselves_are_changed():
    counts, weights = np.zeros(7, np.int64), np.ones(7)
    assert count_up(counts, weights, 7) == 15
    assert counts.tolist() == [6, 5, 4, 3, 2, 1, 0]
    assert weights.tolist() == [2.0] * 7


def test_arrays_that_the_caller_made_live_on():
    kept = [made_and_counted(10_000) for _ in range(50)]
    for total, counts, weights in kept:
        assert (total, counts[0], counts[-1], weights.sum()) == (49_985_001, 9_999, 0, 20_000.0)


def test_anything_but_a_tuple_of_arrays_is_refused():
    with pytest.raises(TypingError):
        numba.njit(lambda values: uncounted(values))(np.zeros(3))
    with pytest.raises(TypingError):
        numba.njit(lambda values: uncounted((values, 1)))(np.zeros(3))
