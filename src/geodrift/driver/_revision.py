"""The plan of a time made anew on the way: steps may become faster or slower after a short pilot."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from geodrift.driver._chain import Chain
from geodrift.driver._plan import PILOT_SHARE, Plan
from geodrift.driver._timing import CHECKPOINTS, Paced, least_steps, of_checkpoints, steps_left

# Of the steps of the first plan, below `PILOT_SHARE`: these are warm-up in both plans, and no chain has done
# anything by its plan yet.
REVISION_SHARE = 0.75 * PILOT_SHARE
TIMED_SHARE = 1 / 3  # of them, the last ones, are timed
LEAST_TIMED = 1 / 4  # of them; where a pilot has taken more than the others it has told as much
LEAST_SECONDS = 1.0  # that steps are timed for: less tells no more than a pilot


class Revision(NamedTuple):
    """Where the plan is made anew.

    Attributes:
        begin: Count of each chain from which its steps are timed.
        end: Count of each chain until which they are.
        plan: The plan from there on, given the seconds of a unit of `Chain.work`, of all chains.
    """

    begin: int
    end: int
    plan: Callable[[float], Plan]


def revision_of(
    chains: Sequence[Chain], paced: Paced, ends: float, note: Callable[[Plan], object]
) -> Revision | None:
    """Where the plan of a pilot is made anew; None where the pilot tells as much.

    The plan that comes of it is a function of its number of steps, like every other, and the steps before are
    the same under both: the draws are those of a run that is given that number.

    Args:
        chains: They stand where the pilot has left them.
        paced: What the pilot has found.
        ends: When the time is up that was asked for, of `time.perf_counter`.
        note: Called with the new plan.
    """
    first = chains[0]
    end = int(REVISION_SHARE * paced.steps)
    begin = max(first.count, end - int(TIMED_SHARE * end))
    seconds = (end - begin) / paced.steps * paced.seconds
    told = end - begin < LEAST_TIMED * end or seconds < LEAST_SECONDS
    if told or first.shares.warm_up_fraction < 2 * PILOT_SHARE:
        return None

    def plan(pace: float) -> Plan:
        left = ends - time.perf_counter()
        left -= of_checkpoints(paced.of_checkpoint, left, CHECKPOINTS - 1)  # one was when it had a plan
        shares, least = first.shares._replace(num_draws=paced.num_draws), least_steps(first.count)
        more, _ = steps_left(first, shares, least, left / len(chains), paced.of_draws, pace)
        revised = shares.plan(first.count + more)
        note(revised)
        return revised

    return Revision(begin, end, plan)
