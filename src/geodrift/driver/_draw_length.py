"""How long `geodrift.sample` runs: a number of draws, or a time that a pilot turns into one."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from geodrift._errors import InputError
from geodrift.driver._compiled_chain import CompiledChain
from geodrift.driver._leg import WHOLE, Leg
from geodrift.driver._plan import Plan
from geodrift.driver._record import Record
from geodrift.driver._timing import COMPILING_STEPS, steps_in


class DrawLength(NamedTuple):
    """The arguments of `sample` that say how long."""

    num_draws: int | None
    seconds: float | None
    num_warmup: int
    thin: int

    def plan(
        self, chain: CompiledChain, record: Record | None, look: Callable[[], object]
    ) -> tuple[Plan, Leg]:
        """The plan of so many draws, or of those that fit in the time; and all of it (see `PlanOf`).

        Raises:
            InputError: The run directory holds more draws already.
        """
        number = self.num_draws
        if record is not None:
            # A run of so many seconds, begun before, has fixed its number.
            number = record.run.config.get("num_draws") if number is None else number
            if number is not None and (stored := record.store.counts[0]) > number:
                raise InputError(f"num_draws = {number}: the checkpoint holds {stored} draws already")
        if number is None:
            number = self._number_in_time(chain, record is not None, look)
        if record is not None:
            record.run.update_config(num_draws=number)
        plan = Plan.of_draws(number, self.num_warmup, self.thin, chain.sampler.collects, chain.first)
        return plan, WHOLE

    def _number_in_time(self, chain: CompiledChain, kept: bool, look: Callable[[], object]) -> int:
        # A part of the warm-up is timed; the batches of all of it may be read.
        chain.begin(Plan.of_steps(self.num_warmup, self.num_warmup, 1))
        most = (self.num_warmup - COMPILING_STEPS) // 2
        total = steps_in(self.seconds, [chain], most, kept=kept, look=look).steps
        counts = chain.first + np.arange(self.num_warmup, max(total, self.num_warmup))
        return max(1, int(chain.sampler.collects(counts).sum()) // self.thin)
