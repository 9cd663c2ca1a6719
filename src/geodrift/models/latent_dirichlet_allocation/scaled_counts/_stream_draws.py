"""Draws of a stream without an end: those of its latter half, evenly spaced, in bounded number."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float


class StreamDraws:
    """Keeps at most so many draws.

    After t steps it holds draws of the steps after t / 2 that lie at least t' / N apart, where t' is the step
    of the later one: never more than N of them.

    Args:
        most: N.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: list[tuple[int, Float[np.ndarray, "K V"]]] = []

    def offer(self, step: int, draw: Callable[[], Float[np.ndarray, "K V"]]) -> None:
        """Take the draw of a step, if one is due.

        Args:
            step: Steps taken, more than at the last offer.
            draw: Makes it.
        """
        self._kept = [kept for kept in self._kept if 2 * kept[0] > step]
        if not self._kept or self.most * (step - self._kept[-1][0]) >= step:
            self._kept.append((step, draw()))

    def values(self) -> Float[np.ndarray, "N K V"]:
        """What is kept, in order."""
        return np.stack([draw for _, draw in self._kept])
