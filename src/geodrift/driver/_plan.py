"""The plan of a run: how many steps it takes, which are warm-up, and after which a draw is stored.

All of it is a function of the step count alone, never of the clock, so that a run that was interrupted goes
on to the same draws.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int

# A pilot is timed before the plan of a model is known, and is at most this share of the plan's warm-up. Where
# less than `LONG_WARM_UP` of a plan is warm-up, that is at least so many steps, for a pilot's sake.
PILOT_SHARE = 0.4
LONG_WARM_UP, LEAST_WARM_UP = 0.4, 140
_BLOCK = 65_536

Collects = Callable[[Int[np.ndarray, " step"]], Bool[np.ndarray, " step"]]
"""Whether a draw may be stored after each of some step counts."""


class Plan(NamedTuple):
    """A number of steps, and what happens at each of them.

    Attributes:
        total: Steps of the run, warm-up included.
        warm_up: Steps of the warm-up, at the start.
        thin: Steps from one stored draw to the next; of a schedule with stages, those that may be stored.
        stored: Steps after the warm-up at whose end a draw is stored, increasing, [draw].
    """

    total: int
    warm_up: int
    thin: int
    stored: np.ndarray

    @classmethod
    def of_steps(cls, total: int, warm_up: int, thin: int) -> "Plan":
        """``total`` steps, of which every ``thin``-th after the warm-up is stored."""
        return cls(total, warm_up, thin, np.arange(thin, total - warm_up + 1, thin))

    @classmethod
    def with_share(cls, total: int, warm_up_fraction: float, num_draws: int) -> "Plan":
        """``total`` steps, the first part warm-up, then ``num_draws`` evenly spaced draws.

        Where little is warm-up, that is at least `LEAST_WARM_UP` steps, or half of a shorter plan. There are
        fewer draws if there are fewer steps.
        """
        least = min(LEAST_WARM_UP, total // 2) if warm_up_fraction < LONG_WARM_UP else 0
        warm_up = max(int(total * warm_up_fraction), least)
        return cls.of_steps(total, warm_up, max(1, (total - warm_up) // num_draws))

    @classmethod
    def of_draws(
        cls, num_draws: int, warm_up: int, thin: int, collects: Collects | None = None, first: int = 0
    ) -> "Plan":
        """``num_draws`` draws after the warm-up.

        Args:
            num_draws: Draws to store.
            warm_up: Steps of the warm-up.
            thin: Of the steps that may be stored, every ``thin``-th is.
            collects: Which steps may be stored, by the sampler's count; None: all.
            first: The sampler's count at the first step.
        """
        if collects is None:
            return cls.of_steps(warm_up + num_draws * thin, warm_up, thin)
        ends, seen, begun = [], 0, first + warm_up
        count = begun
        while seen < num_draws * thin:
            collected = np.flatnonzero(collects(np.arange(count, count + _BLOCK)))
            ends.append(count - begun + 1 + collected[(thin - 1 - seen) % thin :: thin])
            seen, count = seen + collected.size, count + _BLOCK
        stored = np.concatenate(ends)[:num_draws]
        return cls(warm_up + int(stored[-1]), warm_up, thin, stored)

    def extended(self, total: int) -> "Plan":
        """The same warm-up and thinning, to ``total`` steps if that is more."""
        return Plan.of_steps(max(total, self.total), self.warm_up, self.thin)

    @property
    def pilot_ends(self) -> int:
        """The step by which a pilot had ended: what a chain does by its plan it does no earlier."""
        return int(PILOT_SHARE * self.warm_up)

    def draws_after(self, steps: int) -> int:
        """Draws stored in the first ``steps`` steps."""
        return int(np.searchsorted(self.stored, steps - self.warm_up, side="right"))

    def phase(self, steps: int) -> str:
        """``"warm-up"`` or ``"sampling"``, of the step that brought the count to ``steps``."""
        return "warm-up" if steps <= self.warm_up else "sampling"

    def chunk(self, steps: int, wanted: int, room: "Room") -> tuple[Int[np.ndarray, " draw"], bool]:
        """The next chunk: steps up to each of its draws, and whether these draws are stored.

        Args:
            steps: Steps taken so far.
            wanted: About how many steps to take.
            room: The most that the chain can take at once.
        """
        wanted, done = min(wanted, room.steps), steps - self.warm_up
        if done < 0:
            # The warm-up is one draw after another that nobody stores.
            return np.array([min(wanted, -done, self.total - steps)]), False
        draws = self.draws_after(steps)
        if draws == len(self.stored):
            return np.array([min(wanted, self.total - steps)]), False
        ahead = self.stored[draws : draws + room.draws] - done
        if ahead[0] > wanted:
            return np.array([wanted]), False
        fit = int(np.searchsorted(ahead, wanted, side="right"))
        return np.diff(ahead[:fit], prepend=0), True

    def as_dict(self) -> dict[str, Any]:
        """The plan in numbers, for JSON; `of_steps` makes it anew from them."""
        return {"total": self.total, "warm_up": self.warm_up, "thin": self.thin}


class Shares(NamedTuple):
    """How a plan is divided.

    Attributes:
        warm_up_fraction: Part of the steps that is warm-up.
        num_draws: Draws of each chain that are stored.
    """

    warm_up_fraction: float = 0.5
    num_draws: int = 25

    def plan(self, total: int) -> Plan:
        """A plan of so many steps."""
        return Plan.with_share(total, self.warm_up_fraction, self.num_draws)

    def least_total(self, piloted: int) -> int:
        """The least number of steps whose plan has a pilot of so many in it (see `Plan.pilot_ends`)."""
        warm_up = math.ceil(piloted / PILOT_SHARE)
        total = 2 * warm_up if self.warm_up_fraction < LONG_WARM_UP else int(warm_up / self.warm_up_fraction)
        while self.plan(total).pilot_ends < piloted:
            total += 1
        return total

    def after(self, warm_up: int, more: int) -> Plan:
        """A plan with this warm-up and about so many more steps, at most one and a half times the warm-up.

        It is that of its number of steps, of ``warm_up / total``, rounded up to three decimals, and of the
        number of its draws, which a person can type to have the same draws.
        """
        total = warm_up + min(more, int((1 / LONG_WARM_UP - 1) * warm_up))
        while (plan := self._rounded_up(warm_up / total).plan(total)).warm_up != warm_up:
            total += 1
        return plan

    def _rounded_up(self, warm_up_fraction: float) -> "Shares":
        return self._replace(warm_up_fraction=math.ceil(1000 * warm_up_fraction) / 1000)


class Room(NamedTuple):
    """The most that a chain takes in one chunk."""

    steps: int = 2**31 - 1
    draws: int = 2**31 - 1
