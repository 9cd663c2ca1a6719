"""The pace of the chunks, and the bar on stderr."""

import time
from typing import Any

# A run shorter than this many seconds shows no bar.
_SHOW_AFTER = 2.0


class Pace:
    """How many steps to put in the next chunk so that it takes about ``target`` seconds."""

    def __init__(self, target: float) -> None:
        self.target, self.steps = target, 16

    def learn(self, steps: int, seconds: float) -> None:
        """Take account of a chunk."""
        if seconds < self.target / 2 and steps >= self.steps:
            self.steps *= 2
        elif seconds > 2 * self.target:
            self.steps = max(self.steps // 2, 1)


class Bar:
    """A progress bar that appears once a run has taken two seconds."""

    def __init__(self, total: int, shown: bool) -> None:
        self.total, self.shown, self.started = total, shown, time.monotonic()
        self._bar: Any = None

    def update(self, done: int, warming_up: bool) -> None:
        """Show the number of steps done."""
        if not self.shown or time.monotonic() - self.started < _SHOW_AFTER:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True))
            self._task = self._bar.add_task("", total=self.total)
            self._bar.start()
        self._bar.update(self._task, completed=done, description="warm-up" if warming_up else "sampling")

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()
