"""What a person sees while a run goes on."""

import math
import time
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from geodrift._terminal import say, visible
from geodrift.driver._chain import ShownMetric

if TYPE_CHECKING:
    from rich.console import Console

SHOW_AFTER = 2.0
_LINE_SECONDS = 10.0  # between lines where there is no terminal


class ProgressView:
    """Steps, metrics and time left: a bar on a terminal, metrics below it; elsewhere a line now and then.

    Args:
        console: Where it goes; None: nothing is shown.
        metrics: Which metrics are shown, where a chunk has them, and how.
        after: Seconds before the first sign.
    """

    def __init__(
        self, console: "Console | None", metrics: tuple[ShownMetric, ...] = (), after: float = SHOW_AFTER
    ) -> None:
        self._console, self._after = console, after
        self._metrics = tuple(each for each in metrics if each.on_the_way)
        self._bar: Any = None
        self._furthest: dict[str, float] = {}
        self._began, self._last_line, self._said = time.monotonic(), -math.inf, ""
        self._first: tuple[float, int] | None = None  # time and steps at the end of the first chunk

    def __enter__(self) -> "ProgressView":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, phase: str, metrics: dict[str, float], done: int, total: int, chains: int = 1) -> None:
        """Show a chunk; ``done`` and ``total`` are steps over all chains, and those of each are shown."""
        now, total = time.monotonic(), max(done, total)  # a chain in its pilot may be beyond the warm-up
        if self._first is None:
            self._first = (now, done)
        if self._console is None or (now - self._began < self._after and done < total):
            return
        steps = f"step {done // chains:,}/{total // chains:,}" + (
            f" of {chains} chains" if chains > 1 else ""
        )
        left, told = self._left(done, total, now), shown_as_text(self._metrics, self._grown(metrics))
        if self._console.is_terminal:
            self._show_bar(phase, ", ".join([steps, *left]), ", ".join(told), done, total)
        elif now - self._last_line >= _LINE_SECONDS or done >= total:
            line = f"{phase}: {', '.join([steps, *told, *left])}"
            if line != self._said:  # the last chunk may be told once more
                say(line, self._console.file)
            self._last_line, self._said = now, line

    def _grown(self, metrics: dict[str, float]) -> dict[str, float]:
        """Numbers that grow do not fall back where a chain that is behind comes after one that is ahead."""
        for each in self._metrics:
            if each.grows and each.name in metrics:
                self._furthest[each.name] = max(metrics[each.name], self._furthest.get(each.name, 0.0))
        return metrics | self._furthest

    def tell(self, line: str) -> None:
        """Say a line of the run's own."""
        if self._console is not None:
            say(line, self._console.file)

    def _show_bar(self, phase: str, steps: str, told: str, done: int, total: int) -> None:
        if self._bar is None:
            self._bar = _bar(self._console)
            self._task = self._bar.add_task("", total=total, text="", below="")
            self._bar.start()
        texts = {"text": visible(steps), "below": visible(told)}
        self._bar.update(self._task, description=phase, total=total, completed=done, **texts)

    def _left(self, done: int, total: int, now: float) -> list[str]:
        """The time left, as soon as there is a pace."""
        began, steps = self._first or (now, done)
        if done <= steps:
            return []
        return [f"{(now - began) / (done - steps) * (total - done):,.0f} s left"]


def shown_as_text(shown: tuple[ShownMetric, ...], metrics: dict[str, float]) -> list[str]:
    """The metrics that are shown, those of them that are known."""
    return [
        each.form.format(metrics[each.name])
        for each in shown
        if math.isfinite(metrics.get(each.name, math.nan))
    ]


def _bar(console: "Console") -> Any:
    """A bar with what fits on its line, and lines of metrics below, however narrow the terminal is."""
    from rich.console import RenderableType
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.text import Text

    class BarAndMetrics(Progress):
        """The bar, and below it the field ``below`` of each task."""

        def get_renderables(self) -> Iterator[RenderableType]:
            yield self.make_tasks_table(self.tasks)
            yield from (Text(task.fields["below"]) for task in self.tasks if task.fields["below"])

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[text]}", markup=False),
    )
    return BarAndMetrics(*columns, console=console, transient=True)
