"""Lists and vectors in registers, against NumPy."""

import numba
import numpy as np
import pytest

from geodrift.kernels._gathered_draw import lanes_place, lanes_sums, list_entry, list_place, list_sum
from geodrift.kernels._lanes import add_in_vector, lane_of, read_lanes, with_lane, write_lanes
from geodrift.kernels._vector_draw import LANES


@numba.njit
def draw(places, weights, begin, blocks, table, own, unit, sums):
    total = list_sum(places, weights, begin, blocks, table, sums, own)
    return total, list_place(sums, blocks, np.float32(unit * total))


@numba.njit
def entry(places, weights, begin, blocks, place, own):
    return list_entry(places, weights, begin, blocks, place, own)


@numba.njit
def draw_in_registers(places, weights, table, lane, place, weight, unit):
    held = with_lane(read_lanes(places), lane, place)
    sums = lanes_sums(held, with_lane(read_lanes(weights), lane, weight), table)
    total = lane_of(sums, LANES - 1)
    write_lanes(places, held)
    return total, lanes_place(sums, np.float32(unit * total))


@numba.njit
def add(array, place, value):
    add_in_vector(array, place, value)


def random_list(blocks, begin=LANES):
    rng = np.random.default_rng(blocks)
    places = rng.integers(40, size=begin + blocks * LANES).astype(np.int32)
    weights = rng.integers(3, size=len(places)).astype(np.float32)
    weights[begin + 5] = 2.0
    return places, weights, rng.uniform(0.1, 1.0, 40).astype(np.float32)


@pytest.mark.parametrize("blocks", [1, 2, 9])
def test_places_are_drawn_in_proportion_to_their_weights(blocks):
    """At evenly spaced levels an entry comes as often as its weight says, within one at each of its ends."""
    places, weights, table = random_list(blocks)
    sums, number = np.empty((blocks + 1) * LANES, np.float32), 20_000
    exact = (weights * table[places])[LANES:].astype(float)
    exact[5] -= table[places[LANES + 5]]
    drawn = np.zeros(len(exact))
    for unit in (np.arange(number) + 0.5) / number:
        total, place = draw(places, weights, LANES, blocks, table, 5, unit, sums)
        drawn[place] += 1
    assert total == pytest.approx(exact.sum(), rel=1e-6)
    np.testing.assert_allclose(drawn / number, exact / exact.sum(), atol=1.5 / number)
    assert not drawn[exact == 0].any()


def test_places_of_a_list_in_registers_are_drawn_in_proportion_to_their_weights():
    places, weights, table = random_list(1, begin=0)
    exact, number = weights * table[places], 5000
    exact[3] = 0.5 * table[7]
    drawn = np.zeros(LANES)
    for unit in (np.arange(number) + 0.5) / number:
        total, place = draw_in_registers(places, weights, table, 3, np.int32(7), np.float32(0.5), unit)
        drawn[place] += 1
    assert places[3] == 7
    assert total == pytest.approx(exact.sum(), rel=1e-6)
    np.testing.assert_allclose(drawn / number, exact / exact.sum(), atol=1.5 / number)


def test_an_entry_is_that_of_the_place_or_the_first_that_is_free():
    places, weights = np.arange(3 * LANES, dtype=np.int32), np.ones(3 * LANES, np.float32)
    arguments = places, weights, LANES, 2
    assert entry(*arguments, np.int32(LANES + 19), 3) == 19
    weights[LANES + 20] = weights[LANES + 25] = 0.0
    assert entry(*arguments, np.int32(LANES + 19), 25) == 19
    assert entry(*arguments, np.int32(LANES + 25), 31) == 20  # it has the place, but is free
    assert entry(*arguments, np.int32(99), 31) == 20
    assert entry(*arguments, np.int32(99), 4) == 4  # the one whose weight is 1 less
    assert entry(*arguments, np.int32(LANES + 4), 4) == 4
    weights[LANES + 20] = weights[LANES + 25] = weights[LANES + 4] = 2.0
    assert entry(*arguments, np.int32(99), 4) == 2 * LANES


def test_a_number_is_added_in_its_place():
    array = np.zeros(3 * LANES, np.float32)
    add(array, 2 * LANES - 1, np.float32(2.0))
    assert array[2 * LANES - 1] == array.sum() == 2.0
