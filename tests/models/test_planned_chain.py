"""Seconds turned into steps by a pilot."""

import itertools

import pytest

from geodrift.models._planned_chain import steps_in


def total_seconds(seconds: float, paces) -> tuple[float, int]:
    """How long all steps take that are planned for ``seconds``, and how many the pilot took."""
    paces = list(itertools.islice(paces, 100_000))
    feed = iter(paces)
    count = steps_in(seconds, lambda: next(feed), 0)
    return sum(paces[:count]), len(paces) - len(list(feed))


@pytest.mark.parametrize("seconds", [60.0, 600.0])
def test_slow_first_steps_do_not_set_the_pace(seconds: float) -> None:
    paces = itertools.chain([1.5, 0.01, 0.01], itertools.repeat(0.02, 40), itertools.repeat(0.01))
    taken, pilot = total_seconds(seconds, paces)
    assert taken == pytest.approx(seconds, rel=0.01)
    assert pilot == 103


def test_a_step_of_seconds_is_not_timed_a_hundred_times() -> None:
    """Full-data methods take seconds a step on a large corpus; a minute must not become five."""
    taken, pilot = total_seconds(60.0, itertools.repeat(2.0))
    assert taken == pytest.approx(60.0, abs=2.0)
    assert pilot <= 3 + 3


def test_time_too_short_for_the_pilot() -> None:
    """Half of the shortest plan is warm-up, which the pilot's steps are in."""
    taken, pilot = total_seconds(0.1, itertools.repeat(2.0))
    assert (taken, pilot) == (16.0, 4)


def test_steps_taken_before_count() -> None:
    assert steps_in(10.0, lambda: 0.01, 700) == pytest.approx(700 + 1000, abs=1)
