"""The plan of a time made anew on the way: steps may become faster or slower after a short pilot."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from geodrift.driver._chain import Chain
from geodrift.driver._plan import LONG_WARM_UP, Plan
from geodrift.driver._timing import (
    CHECKPOINTS,
    Paced,
    TimeLeft,
    draws_beside,
    draws_in,
    of_checkpoints,
    steps_left,
)

# Of the steps of the first plan, within `PILOT_SHARE` of the warm-up: no chain has done anything by its plan
# yet.
REVISION_SHARE = 0.15
TIMED_SHARE = 1 / 3  # of them, the last ones, are timed
LEAST_TIMED = 1 / 4  # of them; where a pilot has taken more than the others it has told as much
LEAST_SECONDS = 1.0  # that steps are timed for: less tells no more than a pilot
# Of the warm-up's last steps, as near to those that follow as can be; for `LEAST_SECONDS` at least, or half.
TIMED_OF_WARM_UP = 0.1
LEAST_AFTER = 0.5  # times the warm-up: steps that follow on it in any case


class Revision(NamedTuple):
    """Where the plan is made anew.

    Attributes:
        begin: Count of each chain from which its steps are timed.
        end: Count of each chain until which they are.
        plan: The plan from there on, given the seconds of a unit of `Chain.work`, of all chains; and where it
            is made anew once more.
    """

    begin: int
    end: int
    plan: "Callable[[float], tuple[Plan, Revision | None]]"


class Revisions:
    """The plan of a pilot made anew twice: its warm-up in the first steps, its end when warm-up is over.

    What comes of it is a function of the number of steps, the part of them that is warm-up and the number of
    draws, like every plan, and what chains do in their warm-up depends on its length alone: the draws are
    those of a run that is given these three numbers.

    Args:
        chains: They stand where the pilot has left them.
        paced: What the pilot has found.
        ends: When the time is up that was asked for, of `time.perf_counter`.
        note: Called with each new plan.
    """

    def __init__(
        self, chains: Sequence[Chain], paced: Paced, ends: float, note: Callable[[Plan], object]
    ) -> None:
        self.chains, self.paced, self.ends, self.note = chains, paced, ends, note
        self.shares = chains[0].shares._replace(num_draws=paced.num_draws)

    def first(self) -> Revision | None:
        """Of the warm-up; of the end alone where the pilot tells as much; None where little is warm-up."""
        if self.shares.warm_up_fraction < LONG_WARM_UP:
            return None
        end = int(REVISION_SHARE * self.paced.steps)
        begin = max(self.chains[0].count, end - int(TIMED_SHARE * end))
        seconds = (end - begin) / self.paced.steps * self.paced.seconds
        if end - begin < LEAST_TIMED * end or seconds < LEAST_SECONDS:
            return self._of_end(self.shares.plan(self.paced.steps))
        return Revision(begin, end, self._of_all)

    def _of_all(self, pace: float) -> tuple[Plan, Revision | None]:
        taken = self.chains[0].count
        revised = self._with_more(
            lambda more: self.shares.plan(taken + more), self.shares.least_total(taken) - taken, pace
        )
        self.note(revised)
        return revised, self._of_end(revised)

    def _of_end(self, plan: Plan) -> Revision | None:
        """None where warm-up is too short to tell."""
        end, taken = plan.warm_up, self.chains[0].count
        steps_of_least = int(LEAST_SECONDS * self.paced.steps / self.paced.seconds)
        begin = max(taken, end - max(int(TIMED_OF_WARM_UP * end), min(steps_of_least, end // 2)))
        return Revision(begin, end, self._with_new_end) if begin < end else None

    def _with_new_end(self, pace: float) -> tuple[Plan, None]:
        warm_up = self.chains[0].count
        revised = self._with_more(
            lambda more: self.shares.after(warm_up, more), int(LEAST_AFTER * warm_up), pace
        )
        self.note(revised)
        return revised, None

    def _with_more(self, plan_of: Callable[[int], Plan], least: int, pace: float) -> Plan:
        """The plan with as many more steps of each chain as there is time for, and draws.

        A draw may cost more than the pilot found: where the number of components is sampled, there are more
        of them now.
        """
        number, first = len(self.chains), self.chains[0]
        num_draws, of_draw = draws_in(self.paced.seconds / number, first, self.paced.kept)
        left = self.ends - time.perf_counter()
        left -= of_checkpoints(self.paced.of_checkpoint, left, CHECKPOINTS - 1)  # one was when it had a plan
        left_of_chain = draws_beside(first, least, TimeLeft(left / number, num_draws, of_draw, pace))
        self.shares = self.shares._replace(num_draws=left_of_chain.num_draws)
        return plan_of(steps_left(first, plan_of, least, left_of_chain)[0])
