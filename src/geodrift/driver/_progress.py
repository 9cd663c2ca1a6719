"""What a person sees while a run goes on."""

import math
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from geodrift._terminal import say, visible
from geodrift.driver._chain import ShownMetric

if TYPE_CHECKING:
    from rich.console import Console

SHOW_AFTER = 2.0
_LINE_SECONDS = 10.0  # between lines where there is no terminal


class ProgressView:
    """Steps, metrics and time left: a bar on a terminal, a line now and then elsewhere.

    Args:
        console: Where it goes; None: nothing is shown.
        metrics: Which metrics are shown, where a chunk has them, and how.
        after: Seconds before the first sign.
    """

    def __init__(
        self, console: "Console | None", metrics: tuple[ShownMetric, ...] = (), after: float = SHOW_AFTER
    ) -> None:
        self._console, self._metrics, self._after = console, metrics, after
        self._bar: Any = None
        self._began, self._last_line = time.monotonic(), -math.inf
        self._first: tuple[float, int] | None = None  # time and steps at the end of the first chunk

    def __enter__(self) -> "ProgressView":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, phase: str, metrics: dict[str, float], done: int, total: int) -> None:
        """Show a chunk; ``done`` and ``total`` are steps over all chains."""
        now = time.monotonic()
        if self._first is None:
            self._first = (now, done)
        if self._console is None or (now - self._began < self._after and done < total):
            return
        text = self._text(metrics, done, total, now)
        if self._console.is_terminal:
            self._show_bar(phase, text, done, total)
        elif now - self._last_line >= _LINE_SECONDS or done >= total:
            self._last_line = now
            say(f"{phase}: {text}", self._console.file)

    def _show_bar(self, phase: str, text: str, done: int, total: int) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, Progress, TextColumn

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=20),
                TextColumn("{task.fields[text]}", markup=False),
            )
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task("", total=total, text="")
            self._bar.start()
        self._bar.update(self._task, description=phase, total=total, completed=done, text=visible(text))

    def _text(self, metrics: dict[str, float], done: int, total: int, now: float) -> str:
        parts = [f"step {done:,}/{total:,}"]
        parts += [
            shown.form.format(metrics[shown.name])
            for shown in self._metrics
            if math.isfinite(metrics.get(shown.name, math.nan))
        ]
        began, steps = self._first or (now, done)
        if done > steps:
            parts.append(f"{(now - began) / (done - steps) * (total - done):,.0f} s left")
        return ", ".join(parts)
