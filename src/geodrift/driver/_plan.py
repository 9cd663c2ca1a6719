"""Which steps a run takes, which of them are stored, and how they are cut into chunks."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from geodrift.samplers import Sampler

_BLOCK = 65_536


class Plan(NamedTuple):
    """The steps of a run."""

    num_warmup: int
    gaps: Int[np.ndarray, " draw"]  # steps from one stored draw to the next, the first from the warm-up's end
    ends: Int[np.ndarray, " draw"]  # their sums

    @property
    def total(self) -> int:
        """Steps of the whole run, warm-up included."""
        return self.num_warmup + int(self.ends[-1])

    def chunk(self, steps: int, draws: int, wanted: int, room: int, capacity: int) -> tuple[np.ndarray, bool]:
        """The gaps of the next chunk, and whether the draws at their ends are kept.

        Args:
            steps: Taken so far.
            draws: Stored so far.
            wanted: About how many steps.
            room: The most steps.
            capacity: The most draws.
        """
        wanted, done = min(wanted, room), steps - self.num_warmup
        if done < 0:
            # The warm-up is one draw after another that nobody keeps.
            return np.array([min(wanted, -done)]), False
        to_next = int(self.ends[draws]) - done
        if to_next > room:
            return np.array([room]), False
        if to_next < self.gaps[draws]:
            return np.array([to_next]), True
        fit = int(np.searchsorted(self.ends[draws : draws + capacity] - done, wanted, side="right"))
        return self.gaps[draws : draws + max(1, fit)], True


def plan_steps(sampler: Sampler, first: int, num_warmup: int, num_draws: int, thin: int) -> Plan:
    """The plan of a run whose first step has the number ``first``.

    After the warm-up every ``thin``-th of the steps that the sampler collects is stored: of all steps, unless
    its schedule has stages.
    """
    ends, seen, count = [], 0, first + num_warmup
    begun = count
    while seen < num_draws * thin:
        collected = np.flatnonzero(sampler.collects(np.arange(count, count + _BLOCK)))
        ends.append(count - begun + 1 + collected[(thin - 1 - seen) % thin :: thin])
        seen, count = seen + collected.size, count + _BLOCK
    upto = np.concatenate(ends)[:num_draws]
    return Plan(num_warmup, np.diff(upto, prepend=0), upto)


def draws_within(gaps: Int[np.ndarray, " draw"], steps: int) -> int:
    """How many of the draws at the ends of the gaps fall within that many steps."""
    return int(np.searchsorted(np.cumsum(gaps), steps, side="right"))
