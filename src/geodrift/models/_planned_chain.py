"""What the engines of all models share: a plan of steps, and the chunks that carry it out."""

import abc
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from geodrift.models._plan import Plan, Progress

COMPILING_STEPS = 3  # taken before the pilot, whose pace they do not tell
# The pilot, which turns seconds into a number of steps: so many steps, which `LEAST_WARM_UP` covers, or those
# of this share of the time where they take longer.
PILOT_STEPS, PILOT_SHARE = 100, 0.1
CHUNK_SECONDS = 0.5


class PlannedChain(abc.ABC):
    """One chain whose warm-up, draws and length are functions of its step count.

    A subclass sets ``settings`` (with ``warm_up_fraction`` and ``num_draws``) and calls `start_plan`.
    """

    settings: Any
    count: int
    plan_made: Plan

    @abc.abstractmethod
    def _step(self) -> Any:
        """One step; returns its outcome."""

    @abc.abstractmethod
    def _draw(self) -> dict[str, np.ndarray]:
        """What is stored of the present state."""

    @abc.abstractmethod
    def _metrics(self, outcomes: list[Any]) -> dict[str, float]:
        """Numbers to show of a chunk's outcomes."""

    def snapshot(self) -> dict[str, np.ndarray]:
        """What a reader of the run is given of the present state, beside the draws."""
        return {}

    def start_plan(self) -> None:
        """No step taken, none planned."""
        self.count, self.plan_made = 0, Plan(0, 0, 1)

    @property
    def warming_up(self) -> bool:
        """Whether the next step is warm-up."""
        return self.plan_made.total == 0 or self.count < self.plan_made.warm_up

    def plan_dict(self) -> dict:
        """The plan, for JSON."""
        return self.plan_made._asdict()

    def plan(self, *, seconds: float | None = None, steps: int | None = None) -> None:
        """Fix the number of steps.

        After a plan is done, or when seconds reach beyond it, it is extended at the same thinning.

        Args:
            seconds: Time from now to the end; turned into steps by timing some of the chain's own, see
                `steps_in`.
            steps: Total number of steps of the plan, or of those to add to one that is made.

        Raises:
            ValueError: Not exactly one of them is given, or it is not positive.
        """
        if (seconds is None) == (steps is None):
            raise ValueError("give either seconds or steps")
        if not (seconds or steps or 0) > 0:
            raise ValueError(f"seconds and steps must be positive, got {seconds if steps is None else steps}")
        wanted = self.plan_made.total + (steps or 0) if seconds is None else self._count_after(seconds)
        if self.plan_made.total == 0:
            self.plan_made = Plan.of(wanted, self.settings.warm_up_fraction, self.settings.num_draws)
        else:
            self.plan_made = self.plan_made._replace(total=max(wanted, self.plan_made.total))

    def advance(self) -> Progress | None:
        """About half a second of steps; None when the plan is done.

        Raises:
            SamplingError: The chain met a number that is not finite, or more gradient noise than it can
                subtract.
        """
        if self.count >= self.plan_made.total:
            return None
        started, outcomes, draws = time.perf_counter(), [], []
        while self.count < self.plan_made.total and time.perf_counter() - started < CHUNK_SECONDS:
            outcomes.append(self._step())
            if self.plan_made.stores(self.count):
                draws.append(self._draw())
        phase = "warm-up" if self.count <= self.plan_made.warm_up else "sampling"
        return Progress(self.count, self.plan_made.total, phase, self._metrics(outcomes), draws)

    def _timed_step(self) -> float:
        """One step; returns its seconds."""
        started = time.perf_counter()
        self._step()
        return time.perf_counter() - started

    def _count_after(self, seconds: float) -> int:
        """The count at which a run of ``seconds`` from now ends; takes a few of its steps."""
        return steps_in(seconds, self._timed_step, self.count)


def steps_in(seconds: float, step: Callable[[], float], count: int) -> int:
    """The count at which ``seconds`` end that begin at ``count``.

    The first steps of a chain may take longer than those that follow (they tune its step size), so the pace
    is that of the pilot's second half.

    Args:
        seconds: From now on.
        step: Takes one step and returns its seconds.
        count: Steps taken until now.

    Returns:
        A number of steps, at least twice those taken here.
    """
    compiling = sum(step() for _ in range(COMPILING_STEPS))
    paces, spent = [step()], 0.0
    while (spent := spent + paces[-1]) < PILOT_SHARE * seconds and len(paces) < PILOT_STEPS:
        paces.append(step())
    later = paces[len(paces) // 2 :]
    taken, remaining = COMPILING_STEPS + len(paces), seconds - compiling - spent
    return count + taken + max(taken, int(remaining * len(later) / sum(later)))
