"""When several processes are stuck: from what they show, and from the time of the processor that they use."""

import os
import statistics
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from geodrift.distributed._progress import Signs

STUCK_SECONDS = 60.0
STUCK_STEPS = 10  # median steps
BUSY = 0.1  # cores that all processes together use, at least, where one of them is at work
ALWAYS_STUCK = 20  # times the limit, after which being busy does not count


class Watch:
    """Tells whether processes still get on.

    A process that is at work between two exchanges (compiling, scoring, writing a checkpoint) shows nothing,
    but uses the processor; where one is stopped or waits for ever, soon all of them wait.

    Args:
        clock: The time in seconds.
        stuck_seconds: The least limit.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, stuck_seconds: float = STUCK_SECONDS
    ) -> None:
        self._clock, self._least = clock, stuck_seconds
        self._signs, self._sign_at = Signs(0, 0), clock()
        self._busy_at, self._busy_from = clock(), (clock(), 0.0)
        self._step_at: float | None = None
        self._gaps: deque[float] = deque(maxlen=101)

    @property
    def limit(self) -> float:
        """Seconds without a sign after which processes are stuck."""
        return max(self._least, STUCK_STEPS * statistics.median(self._gaps) if self._gaps else 0.0)

    def look(self, signs: Signs, processor_seconds: float) -> float | None:
        """Take note of what the processes show.

        Args:
            signs: Of process 0.
            processor_seconds: Time of the processor that all processes have used.

        Returns:
            Seconds without a sign where they are stuck; None where they are not.
        """
        now = self._clock()
        if signs.steps > self._signs.steps:
            if self._step_at is not None:
                self._gaps.append((now - self._step_at) / (signs.steps - self._signs.steps))
            self._step_at = now
        if signs != self._signs:
            self._signs, self._sign_at = signs, now
        since, used = self._busy_from
        if now - since >= 1.0:
            if processor_seconds - used >= BUSY * (now - since):
                self._busy_at = now
            self._busy_from = (now, processor_seconds)
        quiet, idle = now - self._sign_at, now - max(self._sign_at, self._busy_at)
        stuck = idle > self.limit or (self._step_at is not None and quiet > ALWAYS_STUCK * self.limit)
        return quiet if stuck else None


def processor_seconds(process: int) -> float:
    """Time of the processor that a process has used; 0 where the system does not tell."""
    fields = _fields(process)
    if not fields:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_stopped(process: int) -> bool:
    """Whether a signal has stopped a process."""
    return _fields(process)[:1] == ["T"]


def _fields(process: int) -> list[str]:
    """What Linux tells of a process, from its state on; nothing elsewhere, or where it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []
