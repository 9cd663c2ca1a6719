"""A held-out score that is taken now and then during a run, at a small share of its time."""

import time
from collections.abc import Callable

SHARE = 0.05  # of the time since the first score that scoring may take


class HeldOutScore:
    """Keeps the last score.

    Scores are for the reader alone: no step depends on them, and so they may follow the clock.

    Args:
        name: Of the score among the metrics.
        score: Takes it.
    """

    def __init__(self, name: str, score: Callable[[], float]) -> None:
        self.name, self.score = name, score
        self.value = float("nan")
        self.spent = 0.0
        self.began: float | None = None

    def metrics(self) -> dict[str, float]:
        """The last score, taken anew where there is time for it."""
        started = time.perf_counter()
        if self.began is None:
            self.began = started
        if self.spent <= SHARE * (started - self.began):
            self.value = float(self.score())
            self.spent += time.perf_counter() - started
        return {self.name: self.value}
