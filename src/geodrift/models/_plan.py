"""How many steps a run takes, which are warm-up, and which leave a stored draw.

All of it is a function of the step count alone.
"""

from typing import Any, NamedTuple

import numpy as np


class Progress(NamedTuple):
    """What one chunk of an engine's steps brought.

    Attributes:
        count: Steps taken since the start, an int (typed Any: the name is also a method of tuples).
        total: Steps of the plan.
        phase: "warm-up" or "sampling".
        metrics: Numbers to show, by name.
        draws: What was stored in the chunk, one dictionary of arrays a draw.
    """

    count: Any
    """Steps taken since the start."""
    total: int
    """Steps of the plan."""
    phase: str
    """"warm-up" or "sampling"."""
    metrics: dict[str, float]
    draws: list[dict[str, np.ndarray]]


# A pilot of about a hundred steps is timed before the plan is known, so it has to be warm-up in every plan.
LEAST_WARM_UP = 140


class Plan(NamedTuple):
    """A number of steps, and what happens at each count.

    Attributes:
        total: Steps of the plan.
        warm_up: How many of them, from the start, are warm-up.
        thin: Steps from one stored draw to the next.
    """

    total: int
    warm_up: int
    thin: int

    @classmethod
    def of(cls, total: int, warm_up_fraction: float, num_draws: int) -> "Plan":
        """``total`` steps, the first part warm-up, then ``num_draws`` evenly spaced draws.

        Warm-up is at least `LEAST_WARM_UP` steps, or half of a shorter plan. The last draw is at the end;
        there are fewer draws if there are fewer steps.
        """
        warm_up = max(int(total * warm_up_fraction), min(LEAST_WARM_UP, total // 2))
        return cls(total, warm_up, max(1, (total - warm_up) // num_draws))

    def stores(self, count: int) -> bool:
        """Whether the state after ``count`` steps is stored."""
        return count > self.warm_up and (count - self.warm_up) % self.thin == 0
