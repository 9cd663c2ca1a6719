"""Draws kept of a stream of unknown length: those of its latter half, evenly spaced, in bounded number."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float


class StreamDraws:
    """Keeps at most N draws.

    After t steps it holds draws of the steps after t / 2. Two neighbours are at least t' / N steps apart,
    where t' is the step of the later one, so there are never more than N.

    Args:
        most: N.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: list[tuple[int, Float[np.ndarray, "K V"]]] = []

    def offer(self, step: int, draw: Callable[[], Float[np.ndarray, "K V"]]) -> None:
        """Keep the draw of a step, if one is due.

        Args:
            step: Steps taken, more than at the last call.
            draw: Makes the draw; called only if it is kept.
        """
        self._kept = [kept for kept in self._kept if 2 * kept[0] > step]
        if not self._kept or self.most * (step - self._kept[-1][0]) >= step:
            self._kept.append((step, draw()))

    def values(self) -> Float[np.ndarray, "N K V"]:
        """The draws kept, in the order of their steps."""
        return np.stack([draw for _, draw in self._kept])
