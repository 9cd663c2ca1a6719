"""Seconds turned into steps by a pilot."""

import itertools
import time
from collections.abc import Iterable
from types import SimpleNamespace

import numpy as np
import pytest
from fake import CountingChain

from geodrift import Result, SamplingError
from geodrift.driver import Shares, _host_chain, _timing
from geodrift.driver._timing import Paced, TimeLeft, steps_in, steps_left


class TimedChain(CountingChain):
    """Steps that do nothing but let time pass: so many seconds each, on a clock of the chain's own."""

    def __init__(self, paces: Iterable[float], of_a_draw: float = 0.0) -> None:
        self.paces, self.now, self.of_a_draw = iter(paces), 0.0, of_a_draw

    def step(self) -> None:
        self.now += next(self.paces)
        super().step()

    def draw(self) -> dict[str, np.ndarray]:
        self.now += self.of_a_draw
        return super().draw()


def paced(monkeypatch: pytest.MonkeyPatch, chain: TimedChain, seconds: float) -> Paced:
    """What the pilot finds on the chain's clock."""
    clock = SimpleNamespace(perf_counter=lambda: chain.now)
    monkeypatch.setattr(_timing, "time", clock)
    monkeypatch.setattr(_host_chain, "time", clock)
    return steps_in(seconds, [chain])


def planned(monkeypatch: pytest.MonkeyPatch, chain: TimedChain, seconds: float) -> int:
    return paced(monkeypatch, chain, seconds).steps


def total_seconds(monkeypatch: pytest.MonkeyPatch, seconds: float, paces) -> tuple[float, int]:
    """How long all steps take that are planned for ``seconds``, and how many the pilot took."""
    paces = list(itertools.islice(paces, 100_000))
    chain = TimedChain(paces)
    return sum(paces[: planned(monkeypatch, chain, seconds)]), chain.count


@pytest.mark.parametrize("seconds", [60.0, 600.0])
def test_slow_first_steps_do_not_set_the_pace(monkeypatch, seconds):
    """Topics form in the first hundred steps, which take half as long again as those that follow."""
    paces = itertools.chain([1.5, 0.01, 0.01], itertools.repeat(0.015, 100), itertools.repeat(0.01))
    taken, pilot = total_seconds(monkeypatch, seconds, paces)
    assert taken == pytest.approx(seconds, rel=0.01)
    assert pilot > 500


def test_a_pilot_of_a_run_with_little_warm_up_is_warm_up(monkeypatch):
    monkeypatch.setattr(TimedChain, "shares", Shares(0.1, 100))
    taken, pilot = total_seconds(monkeypatch, 60.0, itertools.repeat(0.01))
    assert taken == pytest.approx(60.0, rel=0.01)
    assert pilot == 56


def test_a_step_of_seconds_is_not_timed_many_times(monkeypatch):
    """Full-data methods take seconds a step on a large corpus; a minute must not become five."""
    taken, pilot = total_seconds(monkeypatch, 60.0, itertools.repeat(2.0))
    assert taken == pytest.approx(60.0, abs=2.0)
    assert pilot <= 6


def test_time_too_short_for_the_pilot(monkeypatch):
    """The pilot's steps are a fifth of the shortest plan."""
    taken, pilot = total_seconds(monkeypatch, 0.1, itertools.repeat(2.0))
    assert (taken, pilot) == (20.0, 2)


def test_time_is_left_for_the_draws(monkeypatch):
    """Of .03 s each: a hundred, some more as only every third step brings one, and the pilot's six."""
    steps = planned(monkeypatch, TimedChain(itertools.repeat(0.01), 0.03), 10.0)
    draws = len(TimedChain.shares.plan(steps).stored)
    assert 100 < draws < 115
    assert 0.01 * steps + 0.03 * (draws + 6) == pytest.approx(10.0, abs=0.05)


def test_the_most_steps_that_fit_beside_their_own_draws():
    """Steps of .1 s, draws of .5 s, ten or more: of 59 steps every third after 29 brings one, ten in all, of
    58 every second after that, fourteen."""
    chain, plan_of = TimedChain(itertools.repeat(0.1)), Shares(0.5, 10).plan
    needed = {steps: 0.1 * steps + 0.5 * len(plan_of(steps).stored) for steps in range(4, 200)}
    assert needed[58] > needed[59]
    for seconds in np.arange(7.05, 20.0, 0.1):
        more, _ = steps_left(chain, plan_of, 4, TimeLeft(seconds, 10, 0.5, 0.1))
        assert more == max(steps for steps in needed if needed[steps] <= seconds)
    assert steps_left(chain, plan_of, 40, TimeLeft(3.0, 10, 0.5, 0.1))[0] == 40


@pytest.mark.parametrize(("seconds", "stored"), [(9.1, 25), (3.1, 25), (1.5, 12), (0.3, 5)])
def test_draws_take_a_third_of_the_time_at_most(monkeypatch, seconds, stored):
    """All 25 would take a second."""
    chain = TimedChain(itertools.repeat(1e-4), 0.04)
    monkeypatch.setattr(chain, "shares", Shares(0.5, 25), raising=False)
    assert paced(monkeypatch, chain, seconds).num_draws == stored


@pytest.mark.parametrize(("seconds", "needed"), [(0.1, 20.0), (60.0, 60.0)])
def test_a_run_that_cannot_be_as_short_is_known_to_take_longer(monkeypatch, seconds, needed):
    chain = TimedChain(itertools.repeat(2.0))
    assert paced(monkeypatch, chain, seconds).seconds == pytest.approx(needed, abs=2.1)


def test_steps_that_are_taken_in_any_case_count(monkeypatch):
    """A chain that takes 1,000 steps at least, of .1 s, where 50 fit."""
    chain = TimedChain(itertools.repeat(0.1))
    chain.steps_within = lambda seconds, pace: max(1000, int(seconds / pace))
    assert paced(monkeypatch, chain, 5.0).seconds == pytest.approx(100.0, rel=0.02)


def test_steps_taken_before_count(monkeypatch):
    chain = TimedChain(itertools.repeat(0.01))
    chain.count = 700
    assert planned(monkeypatch, chain, 10.0) == pytest.approx(700 + 1000, abs=1)


def test_the_chain_is_asked_how_many_steps_fit_in_the_time_that_is_left(monkeypatch):
    asked = []

    def steps_within(seconds: float, pace: float) -> int:
        asked.append((seconds, pace))
        return 1234 if seconds < 100.0 else 2000

    chain = TimedChain(itertools.chain(itertools.repeat(0.5, 3), itertools.repeat(0.25)))
    chain.steps_within = steps_within
    assert planned(monkeypatch, chain, 100.0) == chain.count + 1234
    # 3 steps that compile, then chunks of 1, 2, 4, 8, 16 and what ten seconds have room for.
    assert chain.count == 3 + 34
    assert set(asked[:2]) == {(100.0 - 1.5 - 34 * 0.25, 0.25)}


def test_the_pace_is_that_of_all_chains(monkeypatch):
    """The second takes a third longer; each is to have the same number of steps."""
    chains = [TimedChain(itertools.repeat(0.03)), TimedChain(itertools.repeat(0.04))]
    clock = SimpleNamespace(perf_counter=lambda: sum(chain.now for chain in chains))
    monkeypatch.setattr(_timing, "time", clock)
    monkeypatch.setattr(_host_chain, "time", clock)
    assert steps_in(70.0, chains).steps == pytest.approx(1000, rel=0.01)
    assert chains[0].count == chains[1].count


def test_a_step_that_fails_in_the_pilot_is_told(monkeypatch):
    chain, failure = TimedChain(itertools.repeat(0.01)), SamplingError(Result.NON_FINITE, step=50, chain=0)

    def step() -> None:
        if chain.count == 50:
            raise failure
        TimedChain.step(chain)

    chain.step = step
    with pytest.raises(SamplingError) as told:
        planned(monkeypatch, chain, 10.0)
    assert told.value is failure


def test_a_pilot_looks_about_every_half_a_second_whether_it_is_to_stop(monkeypatch):
    """Of 600 seconds the pilot takes ten; nobody who presses Ctrl-C waits for them."""
    chain, looked = TimedChain(itertools.repeat(0.003)), []
    clock = SimpleNamespace(perf_counter=lambda: chain.now)
    monkeypatch.setattr(_timing, "time", clock)
    steps_in(600.0, [chain], look=lambda: looked.append(chain.now))
    assert chain.now > 5
    assert np.diff([0.0, *looked, chain.now]).max() < 0.51


def test_a_pilot_takes_ten_seconds_at_most_however_long_the_run_is(monkeypatch):
    paces = itertools.chain([30.0], itertools.repeat(0.01))
    _, pilot = total_seconds(monkeypatch, 10_000.0, paces)
    assert pilot * 0.01 < 10.5


def test_a_draw_that_waits_once_costs_no_stored_draws():
    """Another program's turn on the core is not what a draw takes."""

    class Waiting(CountingChain):
        asked = 0

        def draw(self):
            self.asked += 1
            time.sleep(0.2 if self.asked < 3 else 0.0)  # the first compiles, the second waits
            return super().draw()

    assert Waiting().cost_of_draw().seconds < 0.1
