"""What a person sees while a run goes on: a bar on a terminal, a line now and then elsewhere."""

import math
import time
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

_PLAIN_SECONDS = 10.0
# Shown when the engine measures them, in this order.
_SHOWN = (
    ("held_out_log_perplexity", "held-out log-perplexity", "{:,.1f}"),
    ("held_out_perplexity", "held-out perplexity", "{:,.1f}"),
    ("kinetic_temperature", "kinetic T", "{:.3f}"),
    ("configurational_temperature", "configurational T", "{:.3f}"),
)


class EngineProgress(Protocol):
    """What an engine's `advance` returns."""

    count: int
    total: int
    phase: str
    metrics: dict[str, float]


class ProgressView:
    """Shows step, documents seen, scores and time left on the console's stream (stderr)."""

    def __init__(self, console: Console):
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=20), TextColumn("{task.fields[text]}"),
            console=console, transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task("start-up", total=None, text="compiling")
        self._last_line = -math.inf
        self._began = time.monotonic()
        self._done_before: float | None = None

    def __enter__(self) -> "ProgressView":
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def update(self, progress: EngineProgress, done: int, total: int) -> None:
        """Show a chunk; `done` and `total` are steps over all chains."""
        now = time.monotonic()
        if self._done_before is None:
            self._began, self._done_before = now, done
        text = self._text(progress, done, total, now)
        if self._console.is_terminal:
            self._bar.update(self._task, description=progress.phase, total=total, completed=done, text=text)
        elif now - self._last_line >= _PLAIN_SECONDS or done >= total:
            self._last_line = now
            self._console.print(f"{progress.phase}: {text}", markup=False, highlight=False, soft_wrap=True)

    def _text(self, progress: EngineProgress, done: int, total: int, now: float) -> str:
        parts = [f"step {done:,}/{total:,}"]
        metrics = progress.metrics
        if "documents" in metrics:
            parts.append(f"{metrics['documents']:,.0f} documents seen")
        parts += [
            f"{label} {form.format(metrics[name])}"
            for name, label, form in _SHOWN
            if name in metrics and math.isfinite(metrics[name])
        ]
        steps = done - (self._done_before or 0)
        if steps > 0:
            parts.append(f"{(now - self._began) / steps * (total - done):,.0f} s left")
        return ", ".join(parts)
