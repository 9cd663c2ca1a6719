"""Which draws of a chain are scored."""

import numpy as np
import pytest

from geodrift.models.kit._spread_draws import spread_draws


@pytest.mark.parametrize(
    ("length", "number", "expected"),
    [(50, 1, [49]), (50, 2, [24, 49]), (7, 3, [2, 4, 6]), (4, 4, [0, 1, 2, 3]), (1, 1, [0])],
)
def test_they_are_evenly_spaced_and_the_last_is_among_them(length, number, expected):
    np.testing.assert_array_equal(spread_draws(length, number), expected)


@pytest.mark.parametrize("length", [1, 2, 9, 50])
def test_none_is_chosen_twice(length):
    for number in range(1, length + 1):
        steps = np.diff(spread_draws(length, number))
        assert ((steps == length // number) | (steps == -(-length // number))).all()
