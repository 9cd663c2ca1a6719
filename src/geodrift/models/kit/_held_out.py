"""A held-out score that is taken now and then during a run, at a small share of its time."""

import time
from collections.abc import Callable

SHARE = 0.05  # of the time since the first score that scoring may take


class HeldOutScore:
    """Keeps the last score.

    Scores are for the reader alone: no step depends on them, and so they may follow the clock. The first may
    have compiled, and says little of how long the others take: the second is taken when as much time has gone
    by, and later ones, and one at the end, as they fit in `SHARE` of the time.

    Args:
        name: Of the score among the metrics.
        score: Takes it.
    """

    def __init__(self, name: str, score: Callable[[], float]) -> None:
        self.name, self.score = name, score
        self.value = float("nan")
        self.taken, self.last = 0, 0.0  # the number of scores, and the seconds of the last one
        self.spent, self.began = 0.0, 0.0  # seconds of all but the first, and when that had been taken

    def metrics(self, *, at_end: bool = False) -> dict[str, float]:
        """The last score, taken anew where there is time for it.

        Args:
            at_end: Whether the chain has taken its last step.
        """
        started = time.perf_counter()
        if self._due(started - self.began, at_end):
            self.value = float(self.score())
            ended = time.perf_counter()
            self.last = ended - started
            if self.taken:
                self.spent += self.last
            else:
                self.began = ended
            self.taken += 1
        return {self.name: self.value}

    def _due(self, elapsed: float, at_end: bool) -> bool:
        if self.taken < 2:
            return self.taken == 0 or elapsed >= self.last
        return self.spent <= SHARE * elapsed or (at_end and self.last <= SHARE * elapsed)
