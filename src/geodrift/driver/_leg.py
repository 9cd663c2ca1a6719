"""The part of a plan that one call carries out."""

import time
from typing import NamedTuple

from geodrift.driver._revision import Revision


class Leg(NamedTuple):
    """Where a call ends, at a step, after a time, or with the plan, and where it makes the plan anew.

    The draws are a function of the plan that there is at the end.

    Attributes:
        until: The count at which each chain rests; None: the plan's end.
        seconds: The time after which all of them rest, from the first step; None: whatever it takes.
        revision: Where the plan is made anew; None: nowhere.
    """

    until: int | None = None
    seconds: float | None = None
    revision: Revision | None = None

    def end(self, total: int) -> int:
        """The count at which a chain rests under a plan of ``total`` steps, if the time suffices."""
        return total if self.until is None else min(self.until, total)

    def is_over(self, began: float) -> bool:
        """Whether the time is up that began at ``began`` of `time.monotonic`."""
        return self.seconds is not None and time.monotonic() - began >= self.seconds


WHOLE = Leg()
