"""The plan of a time made anew on the way, on a clock that the chains move on."""

import signal
from types import SimpleNamespace

import numpy as np
import pytest
from fake import FakeChain, shares_of

from geodrift.driver import (
    Length,
    Run,
    Shares,
    _fit,
    _host_chain,
    _loop,
    _record,
    _revision,
    _timing,
    fit_to_run,
    sampled,
)
from geodrift.driver._fit import plan_and_leg

SECONDS = 120.0
# The pilot's ten seconds are 250 steps of one chain; the plan that comes of it has 3,000 and is made anew
# after 450, of which the last 150 are timed, and its end after 1,500.
PILOT, TOTAL, END, WARM_UP = 250, 3000, 450, 1500


class Clock:
    """Seconds since the first step, of all chains."""

    def __init__(self):
        self.now = 0.0


class PacedChain(FakeChain):
    """Steps of .04 s, later of another pace; what it does by its plan shows in its draws."""

    def __init__(self, clock, later=1.0, turns=PILOT + 25, of_a_state=0.0, shares=None, **options):
        super().__init__(shares=shares or Shares(), **options)
        self.clock, self.later, self.turns, self.of_a_state = clock, later, turns, of_a_state

    def step(self):
        self.clock.now += 0.04 * (self.later if self.count >= self.turns else 1.0)
        super().step()
        plan = self.plan
        if plan is not None and self.count in (plan.pilot_ends + 1, 3 * plan.warm_up // 4):
            self.position = self.position + np.float32(1.0)

    def state(self):
        self.clock.now += self.of_a_state
        return super().state()


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    told = SimpleNamespace(perf_counter=lambda: clock.now, monotonic=lambda: clock.now)
    for module in (_fit, _host_chain, _loop, _record, _revision, _timing):
        monkeypatch.setattr(module, "time", told)
    return clock


@pytest.fixture
def paced_run(make_run, clock):
    """A new run, and a function that makes its chains."""

    def make(chains=1, **options):
        def fresh():
            return [PacedChain(clock, chain=chain, **options) for chain in range(chains)]

        return make_run("run", chains)[0], fresh

    return make


def assert_draws_of_steps(run, fresh, total):
    """The draws are those of a run that is given the steps, the part that is warm-up, and their number."""
    stored = Run.open(run.path)
    assert stored.config["plan"] == stored.state["plan"]
    assert stored.config["plan"] == shares_of(stored).plan(total).as_dict()
    assert stored.state["counts"] == [total] * stored.num_chains
    again = fresh()
    for chain in again:
        chain.shares = shares_of(stored)
    for name, values in sampled(again, total).items():
        np.testing.assert_array_equal(stored.draws["posterior"][name].values, values, err_msg=name)


@pytest.mark.parametrize("of_a_state", [pytest.param(0.0, marks=pytest.mark.slow), 0.2])
@pytest.mark.parametrize(
    ("later", "chains"),
    [
        pytest.param(2 / 3, 1, marks=pytest.mark.slow),
        (1.3, 2),
        *(pytest.param(*other, marks=pytest.mark.slow) for other in ((2 / 3, 2), (1.3, 1), (1.0, 1))),
    ],
)
def test_steps_that_change_their_pace_after_the_pilot_take_the_time(
    paced_run, quiet, clock, later, chains, of_a_state
):
    """A third faster, as topics form, or slower, as all documents join; a checkpoint is no part of a pace."""
    turns = (PILOT + 25) // chains
    run, fresh = paced_run(chains, later=later, turns=turns, of_a_state=of_a_state / chains)
    result = fit_to_run(fresh(), run, Length(seconds=SECONDS), console=quiet)
    assert clock.now == pytest.approx(SECONDS, rel=0.015)
    assert result.seconds == pytest.approx(SECONDS, rel=0.015)
    assert (result.left, result.interrupted, result.draws) == (0, False, 25)
    assert_draws_of_steps(run, fresh, result.steps)


@pytest.mark.slow
def test_a_pace_that_becomes_much_slower_makes_no_plan_that_the_first_steps_are_beyond(paced_run, quiet):
    """They are two fifths of its warm-up at most, or they would be others under the new plan."""
    run, fresh = paced_run(later=10.0)
    result = fit_to_run(fresh(), run, Length(seconds=SECONDS), console=quiet)
    assert Run.open(run.path).config["plan"]["warm_up"] == pytest.approx(2.5 * END, rel=0.01)
    assert_draws_of_steps(run, fresh, result.steps)


@pytest.mark.parametrize(
    ("seconds", "fraction", "revised"),
    [
        (SECONDS, 0.5, True),
        (SECONDS, 0.4, True),
        (SECONDS, 0.1, False),  # the steps may be draws under another plan
        (30.0, 0.5, False),  # the pilot was as long
        (1.0, 0.5, False),
    ],
)
def test_which_warm_ups_are_made_anew(clock, seconds, fraction, revised):
    chain = PacedChain(clock, shares=Shares(fraction, 25))
    plan, leg = plan_and_leg([chain], Length(seconds=seconds))
    end = None if leg.revision is None else leg.revision.end
    assert end == (None if fraction < 0.4 else end if revised else plan.warm_up)
    if revised:
        assert end <= plan.pilot_ends < plan.warm_up
        assert (leg.revision.begin, leg.revision.end) == pytest.approx((END * 2 / 3, END), rel=0.03)


def test_a_run_of_a_number_of_steps_keeps_its_plan(clock):
    assert plan_and_leg([PacedChain(clock)], Length(steps=TOTAL))[1].revision is None


def test_where_a_pilot_has_taken_all_but_a_second_the_end_alone_is_made_anew(clock):
    """A long first step makes the pilot short."""
    chain = PacedChain(clock)
    chain.count = 1
    paced = _timing.Paced(1200, 25, 12.0, 0.0, True)
    ends = [
        _revision.Revisions([chain], paced._replace(seconds=seconds), seconds, print).first().end
        for seconds in (12.0, 24.0)
    ]
    assert ends == [600, 180]


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(0.7, marks=pytest.mark.slow),
        *(pytest.param(pace, marks=pytest.mark.slow) for pace in (0.95, 1.05)),
        1.5,
    ],
)
@pytest.mark.parametrize("seconds", [pytest.param(20.0, marks=pytest.mark.slow), SECONDS])
def test_steps_that_change_their_pace_in_warm_up_change_the_end_alone(
    paced_run, quiet, clock, later, seconds
):
    """As the priors that were larger at first become those of the model."""
    total = int(seconds / 0.04)
    run, fresh = paced_run(later=later, turns=int(0.4 * total))
    result = fit_to_run(fresh(), run, Length(seconds=seconds), console=quiet)
    assert clock.now == pytest.approx(seconds, rel=0.02)
    assert Run.open(run.path).config["plan"]["warm_up"] == pytest.approx(0.5 * total, rel=0.02)
    assert result.draws == pytest.approx(25, abs=3)
    assert_draws_of_steps(run, fresh, result.steps)


@pytest.mark.parametrize(("later", "fraction"), [(0.3, 0.4), (4.0, 2 / 3)])
def test_warm_up_is_two_fifths_to_two_thirds_of_a_plan_whatever_the_pace(paced_run, quiet, later, fraction):
    run, fresh = paced_run(later=later, turns=1000)
    result = fit_to_run(fresh(), run, Length(seconds=SECONDS), console=quiet)
    assert result.steps == pytest.approx(WARM_UP / fraction, rel=0.02)
    assert_draws_of_steps(run, fresh, result.steps)


def test_draws_that_have_become_dear_are_fewer_and_the_time_is_kept(paced_run, quiet, clock, monkeypatch):
    """A tenth of the time by what the pilot finds; from half of the warm-up on five times as dear."""

    def draw(chain):
        clock.now += 0.5 if chain.count < WARM_UP // 2 else 2.5
        return FakeChain.draw(chain)

    monkeypatch.setattr(PacedChain, "draw", draw)
    run, fresh = paced_run()
    result = fit_to_run(fresh(), run, Length(seconds=SECONDS), console=quiet)
    assert clock.now == pytest.approx(SECONDS, rel=0.05)
    assert 5 <= result.draws < 20
    assert_draws_of_steps(run, fresh, result.steps)


def test_cheap_draws_are_stored_where_slower_steps_have_left_no_time(paced_run, quiet, clock, monkeypatch):
    """Other work slows the steps down, so that they take all that is left; a draw takes .1 s."""

    def draw(chain):
        clock.now += 0.1
        return FakeChain.draw(chain)

    monkeypatch.setattr(PacedChain, "draw", draw)
    run, fresh = paced_run(later=4.0, turns=1000)
    result = fit_to_run(fresh(), run, Length(seconds=SECONDS), console=quiet)
    assert result.draws >= 25


class Killed(BaseException):
    """Stands for the end of the process: nothing may catch it and go on."""


@pytest.mark.parametrize("chains", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize(
    ("after", "known"),
    [pytest.param(1, False, marks=pytest.mark.slow), (500, True)],
    ids=["before a checkpoint", "after one"],
)
def test_a_run_killed_after_the_revision_goes_on_by_the_plan_of_its_checkpoint(
    paced_run, quiet, chains, after, known
):
    run, fresh = paced_run(chains, later=2 / 3, turns=(PILOT + 25) // chains)
    walks = fresh()
    last, plans = walks[-1], []
    step, begin = last.step, last.begin

    def noting(plan):
        plans.append(plan.total)
        begin(plan)

    def dying():
        if plans and plans[-1] != plans[0] and last.count > END // chains + after:
            raise Killed
        step()

    last.step, last.begin = dying, noting
    with pytest.raises(Killed):
        fit_to_run(walks, run, Length(seconds=SECONDS), console=quiet)
    first, revised = sorted(set(plans))
    assert revised > 1.2 * first
    assert Run.open(run.path).state["plan"]["total"] == (revised if known else first)
    result = fit_to_run(fresh(), run, console=quiet)
    assert result.steps == (revised if known else first)
    assert_draws_of_steps(run, fresh, result.steps)


@pytest.mark.parametrize("at", [pytest.param(PILOT + 25, marks=pytest.mark.slow), END * 2 // 3 + 50])
def test_ctrl_c_before_the_revision_keeps_the_run_and_the_first_plan(paced_run, quiet, capfd, at):
    run, fresh = paced_run(later=2 / 3)
    (walk,) = fresh()
    step = walk.step

    def interrupted():
        if walk.count == at:
            signal.raise_signal(signal.SIGINT)
        step()

    walk.step = interrupted
    result = fit_to_run([walk], run, Length(seconds=SECONDS), console=quiet)
    assert result.interrupted
    assert at < result.steps < END
    first = result.steps + result.left
    assert first == pytest.approx(TOTAL, rel=0.03)
    again = fit_to_run(fresh(), run, console=quiet)
    assert (again.steps, again.left) == (first, 0)
    assert_draws_of_steps(run, fresh, first)
