"""A sign of life while a command works."""

import threading
import time
from types import TracebackType
from typing import Any

from geodrift._terminal import progress_console, say

SHOW_AFTER = 2.0  # seconds before the first sign on a terminal
_LINE_SECONDS = 10.0  # between lines where there is no terminal


class Waiting:
    """A bar on a terminal once the work takes longer than two seconds; elsewhere a line every ten.

    Args:
        what: What goes on.
    """

    def __init__(self, what: str) -> None:
        self._what, self._console = what, progress_console()
        self._bar: Any = None
        self._began = self._last_line = time.monotonic()
        self._done, self._total = 0, 0
        on_terminal = self._console.is_terminal
        self._timer = threading.Timer(
            SHOW_AFTER if on_terminal else _LINE_SECONDS, self._show if on_terminal else self._say_what
        )
        self._timer.daemon = True

    def __enter__(self) -> "Waiting":
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()
        if self._bar is not None:
            self._bar.stop()

    def at(self, done: int, total: int, what: str | None = None) -> None:
        """So much of the work is done.

        Args:
            done: Pieces that are done.
            total: Pieces that there are; 0 where nobody can say.
            what: What goes on now, if it is something else.
        """
        now = time.monotonic()
        if what is not None and what != self._what:
            self._began = now  # the time left is that of this work, whatever was done before
        self._done, self._total, self._what = done, total, what or self._what
        if self._bar is not None:
            self._bar.update(self._task, description=self._what, completed=done, total=total or None)
        elif not self._console.is_terminal and now - self._last_line >= _LINE_SECONDS:
            self._last_line = now
            told = f": {done:,} of {total:,}{self._left(now)}" if total else ""
            say(self._what + told, self._console.file)

    def _left(self, now: float) -> str:
        """The time left, where enough is done to tell: the first piece takes longer than the others."""
        if self._done < max(2, self._total / 20):
            return ""
        return f", {(now - self._began) / self._done * (self._total - self._done):,.0f} s left"

    def _say_what(self) -> None:
        """Where work tells nothing of its pieces, that it goes on."""
        if not self._total:
            say(self._what, self._console.file)

    def _show(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        bar = Progress(*columns, console=self._console, transient=True)
        self._task = bar.add_task(self._what, total=self._total or None, completed=self._done)
        bar.start()
        self._bar = bar
