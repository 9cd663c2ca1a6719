"""The pilot: a time to sample turned into a number of steps."""

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from geodrift.driver._chain import Chain
from geodrift.driver._pace import CHUNK_SECONDS
from geodrift.driver._plan import LEAST_WARM_UP, LONG_WARM_UP, PILOT_SHARE, Plan
from geodrift.driver._record import CHECKPOINT_SECONDS, CHECKPOINT_SHARE
from geodrift.driver._side_by_side import SideBySide

# Of the time that a pilot takes, so that its steps are surely within `PILOT_SHARE` of the plan's warm-up.
PILOT_TIME, PILOT_SECONDS = 0.15, 10.0
PILOT_STEPS = int(PILOT_SHARE * LEAST_WARM_UP)  # at most, where little of a plan is warm-up
LEAST_SHARE = 0.05  # of the time that is left after the first steps
MOST_OF_DRAWS = 1 / 3  # of the time: where draws would take more there are fewer of them
CHECKPOINTS = 2  # of a run that is kept: when it has a plan, and at its end
STORAGE_RATE = 2e8  # bytes a second that a plain disk makes durable
DRAWS_COUNT = 0.01  # of the time of steps: draws that take no more are no fewer
DRAWS_BESIDE_LEAST = 0.1  # of the time of steps that are taken in any case: draws have so much in any case
LEAST_DRAWS = 5  # of a chain, where there were to be more: of four chains these are enough for intervals
SEARCHED = 1000  # numbers of steps that a plan is chosen from
COMPILING_STEPS = 3  # taken first, if there is time; their pace tells nothing of the steps that follow


class Paced(NamedTuple):
    """What fits in a time.

    Attributes:
        steps: Of the whole run, so many at least that the pilot's are in it (see `Plan.pilot_ends`).
        num_draws: Those that the chain's shares ask for, or fewer.
        seconds: The time that all chains take for them; more than was given where a run cannot be so short.
        of_checkpoint: Of that, the time of one checkpoint of all chains; 0: there are none.
        kept: Whether draws and states are stored.
    """

    steps: int
    num_draws: int
    seconds: float
    of_checkpoint: float
    kept: bool


def steps_in(
    seconds: float,
    chains: Sequence[Chain],
    most: int | None = None,
    *,
    kept: bool = False,
    look: Callable[[], object] = lambda: None,
) -> Paced:
    """The length of a run that takes a time, found by timing its first steps.

    The chains take these steps, which are warm-up, for at most `PILOT_TIME` of the time and `PILOT_SECONDS`:
    the first as many as there is time for, in chunks that double, the others the same, side by side where
    they will be. The pace is that of the last chunk of at least a third of them, of all chains: they are
    slower at first.

    Args:
        seconds: Time of all chains from now on.
        chains: They stand where the run begins.
        most: Steps to time, at most; None: where warm-up is long, as many as there is time for, and of others
            `PILOT_STEPS` with those that compile.
        kept: Whether draws and states are stored.
        look: Called about every half a second; an exception of its own ends the pilot.

    Raises:
        SamplingError: A step failed.
    """
    started, number, first = time.perf_counter(), len(chains), chains[0]
    before, share = first.count, seconds / number
    limit: float = PILOT_STEPS - COMPILING_STEPS if most is None else most
    if most is None and first.shares.warm_up_fraction >= LONG_WARM_UP:
        limit = math.inf
    ends = started + min(PILOT_TIME * share, PILOT_SECONDS / number)
    with SideBySide(chains) as beside:
        for step in range(COMPILING_STEPS):
            if step == 0 or time.perf_counter() < ends:
                beside.each(lambda chain: _advance(chain, 1, math.inf, look), [first])
        ((num_draws, of_draw),) = beside.each(lambda chain: draws_in(share, chain, kept), [first])
        ends -= PILOT_TIME * min(num_draws * of_draw, share)
        begun = time.perf_counter()
        # The first step may have found a start, which takes longer than a pilot.
        ends = max(ends, begun + min(LEAST_SHARE * (share - (begun - started)), PILOT_SECONDS / number))
        spent, done = _paced_by_first(chains, beside, ends, limit, look)
        if of_draw > 0.0:  # that of components that come and go may have become another
            ((num_draws, of_draw),) = beside.each(lambda chain: draws_in(share, chain, kept), [first])
    of_checkpoint = _of_checkpoint(chains) if kept else 0.0
    left = seconds - of_checkpoints(of_checkpoint, seconds, CHECKPOINTS)
    left = (left - (time.perf_counter() - started)) / number
    taken, count = first.count - before, first.count
    least = first.shares.least_total(taken) - taken
    time_left = draws_beside(first, least, TimeLeft(left, num_draws, of_draw, spent / max(done, 1e-9)))
    shares = first.shares._replace(num_draws=time_left.num_draws)
    more, beyond = steps_left(first, lambda more: shares.plan(count + more), least, time_left)
    return Paced(count + more, shares.num_draws, seconds + number * beyond, of_checkpoint, kept)


class TimeLeft(NamedTuple):
    """What a chain's steps and draws have to fit in.

    Attributes:
        seconds: Of one chain.
        num_draws: Those that are asked for.
        of_draw: Time of one.
        pace: Seconds of a unit of `Chain.work`.
    """

    seconds: float
    num_draws: int
    of_draw: float
    pace: float

    def of_steps(self, num_draws: int) -> float:
        """The time beside so many draws."""
        return self.seconds - num_draws * self.of_draw


def draws_beside(chain: Chain, least: int, left: TimeLeft) -> TimeLeft:
    """The same time, with fewer draws where they cost much and there is no time for all beside the steps.

    Args:
        chain: It stands before its first draw.
        least: Steps that it takes in any case; it may say that it takes more.
        left: The time for both.
    """
    of_draws = left.num_draws * left.of_draw
    if of_draws <= DRAWS_COUNT * left.seconds:
        return left
    of_least = seconds_of(chain, max(least, chain.steps_within(0.0, left.pace)), left.pace)
    if of_draws <= DRAWS_COUNT * of_least:
        return left
    # Steps that have become slower leave no time at all: to drop draws gains little then.
    fit = int(max(left.seconds - of_least, DRAWS_BESIDE_LEAST * of_least) / left.of_draw)
    return left._replace(num_draws=min(left.num_draws, max(LEAST_DRAWS, fit)))


def steps_left(chain: Chain, plan_of: Callable[[int], Plan], least: int, left: TimeLeft) -> tuple[int, float]:
    """How many more steps a chain takes, and the time by which they are beyond what is left.

    A plan may store more draws than were asked for, by how many steps there are from one to the next: of a
    few steps fewer, or more, the draws may be fewer. So the most steps that fit beside their own draws are
    looked for, from those that fit beside the fewest.

    Args:
        chain: It stands before its first draw.
        plan_of: The plan of a run that has so many more steps.
        least: Steps that it takes in any case.
        left: The time for them.
    """
    most = max(least, chain.steps_within(left.of_steps(left.num_draws), left.pace))
    more, of_steps = least, left.of_steps(len(plan_of(least).stored))
    for steps in range(most, least, -max(1, most // SEARCHED)):
        beside = left.of_steps(len(plan_of(steps).stored))
        if chain.steps_within(beside, left.pace) >= steps:
            more, of_steps = steps, beside
            break
    return more, max(0.0, seconds_of(chain, more, left.pace) - of_steps)


def seconds_of(chain: Chain, steps: int, pace: float) -> float:
    """The time in which no more than so many steps fit: of steps that are taken in any case, their own."""
    low, high = 0.0, max(steps, 1) * pace
    for _ in range(20):  # a chain may take so many steps whatever the time
        if chain.steps_within(high, pace) > steps:
            break
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if chain.steps_within(middle, pace) <= steps else (low, middle)
    return low


def _paced_by_first(
    chains: Sequence[Chain],
    beside: SideBySide,
    ends: float,
    limit: float,
    look: Callable[[], object],
) -> tuple[float, float]:
    """Steps of the first chain until a time or a number of them, the same of the others: time and work.

    Both are of the last chunk, of all chains. The others leave one place free, which the first would have
    taken: their time side by side is that of all.
    """
    first, others = chains[0], chains[1:]
    ((last, spent, done),) = beside.each(lambda chain: _last_chunk(chain, ends, limit, look), [first])
    of_step = spent / max(last, 1)
    beside.each(lambda chain: _advance(chain, first.count - chain.count - last, of_step, look), others)
    begun, work = time.perf_counter(), sum(chain.work() for chain in others)
    beside.each(lambda chain: _advance(chain, last, of_step, look), others)
    of_others = time.perf_counter() - begun
    done += sum(chain.work() for chain in others) - work
    return (of_others if beside.number > 1 else spent + of_others), done


def _last_chunk(
    chain: Chain, ends: float, limit: float, look: Callable[[], object]
) -> tuple[int, float, float]:
    """Steps in chunks that double until a time or a number of them: the last's steps, time and work."""
    found, taken, steps, of_step = (0, 0.0, 0.0), 0, 1, math.inf
    while steps > 0:
        begun, work = time.perf_counter(), chain.work()
        _advance(chain, steps, of_step, look)
        now, taken = time.perf_counter(), taken + steps
        if not found[0] or 3 * steps >= taken:
            found = steps, now - begun, chain.work() - work
        of_step = (now - begun) / steps
        fit = (ends - now) / max(of_step, 1e-9)
        steps = int(min(taken + 1, limit - taken, fit))
    return found


def _advance(chain: Chain, steps: int, of_step: float, look: Callable[[], object]) -> None:
    """Take steps that are not stored, which take about ``of_step`` seconds each; see `steps_in`."""
    most = max(1, int(min(steps, CHUNK_SECONDS / max(of_step, 1e-9))))
    for done in range(0, steps, most):
        look()
        chunk = chain.advance(np.array([min(most, steps - done)]), False)
        if chunk.failure is not None:
            raise chunk.failure


def draws_in(seconds: float, chain: Chain, kept: bool) -> tuple[int, float]:
    """How many draws to store of each chain in a time, steps included, and the time that each takes."""
    number, cost = chain.shares.num_draws, chain.cost_of_draw()
    of_draw = cost.seconds + (cost.num_bytes / STORAGE_RATE if kept else 0.0)
    fit = int(MOST_OF_DRAWS * seconds / max(of_draw, 1e-9))
    return min(number, max(LEAST_DRAWS, fit)), of_draw


def _of_checkpoint(chains: Sequence[Chain]) -> float:
    """The time that a checkpoint of all chains takes."""
    began = time.perf_counter()
    arrays = chains[0].state().values()
    of_chain = time.perf_counter() - began + sum(array.nbytes for array in arrays) / STORAGE_RATE
    return len(chains) * of_chain


def of_checkpoints(of_one: float, seconds: float, certain: int) -> float:
    """The time that checkpoints take: some that there are in any case, and those now and then."""
    return certain * of_one + seconds * min(CHECKPOINT_SHARE, of_one / CHECKPOINT_SECONDS)
