"""How many steps a run takes, which of them are warm-up, and which leave a stored draw: a function of the step count alone."""

from typing import NamedTuple

import numpy as np


class Progress(NamedTuple):
    """What one chunk of an engine's steps brought."""

    count: int
    """Steps taken since the start."""
    total: int
    """Steps of the plan."""
    phase: str
    """"warm-up" or "sampling"."""
    metrics: dict[str, float]
    draws: list[dict[str, np.ndarray]]


class Plan(NamedTuple):
    """A number of steps, and what happens at each count."""

    total: int
    warm_up: int
    thin: int

    @classmethod
    def of(cls, total: int, warm_up_fraction: float, num_draws: int) -> "Plan":
        """``total`` steps, the first part warm-up, then ``num_draws`` evenly spaced draws (fewer if there are fewer steps), the last at the end."""
        warm_up = int(total * warm_up_fraction)
        return cls(total, warm_up, max(1, (total - warm_up) // num_draws))

    def stores(self, count: int) -> bool:
        """Whether the state after ``count`` steps is stored."""
        return count > self.warm_up and (count - self.warm_up) % self.thin == 0
