"""The loop that drives engines, one a chain, and keeps a run directory that survives being killed."""

import errno
import json
import math
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from rich.console import Console

from geodrift._errors import InputError
from geodrift.files import sync_directory
from geodrift.runs._checkpoint import Checkpoint
from geodrift.runs._progress import ProgressView
from geodrift.runs._run import Run

CHECKPOINT_SECONDS = 5.0
# A full disk, a quota, a file size limit.
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Engine(Protocol):
    """One chain of a model."""

    count: int

    @property
    def config(self) -> dict[str, Any]:
        """Hyperparameters and sizes, for JSON."""
        ...

    def plan(self, *, seconds: float | None = None, steps: int | None = None) -> None:
        """Fix the number of steps, or add steps to a plan."""

    def plan_dict(self) -> dict[str, Any]:
        """The plan; `total` is its number of steps."""
        ...

    def advance(self) -> Any:
        """A chunk of steps, or None when the plan is done."""

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to go on."""
        ...

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take up a state."""

    def snapshot(self) -> dict[str, np.ndarray]:
        """What a reader of the run is given of the present state, beside the draws; may be empty."""
        ...


class StorageFullError(OSError):
    """The disk is full; the run is as its last checkpoint left it."""


class FitResult(NamedTuple):
    """How a fit ended."""

    interrupted: bool
    steps: int
    """Steps of each chain since the start of the run."""
    draws: int
    """Stored draws of each chain."""
    seconds: float
    """Time from the first step to the end, of this call."""
    metrics: dict[str, float]
    """The last ones of the first chain."""


def fit_to_run(
    engines: Sequence[Engine],
    run: Run,
    *,
    seconds: float | None = None,
    steps: int | None = None,
    console: Console | None = None,
) -> FitResult:
    """Start or continue a run.

    A run without a checkpoint is planned: `seconds` are shared by the chains, and the first chain's pilot
    fixes the number of steps of all. What was asked for is written down before the pilot, so that a run
    killed in it is planned anew. A run with a checkpoint goes on from it: to the end of its plan, and beyond
    if `seconds` or `steps`, counted from here, reach further.

    Args:
        engines: One a chain, as made for the start of the run.
        run: The run directory.
        seconds: Time for the steps.
        steps: Number of steps of each chain.
        console: Where progress goes; stderr when not given.

    Raises:
        InputError: Another process writes to the run, there is nothing left to do, or a new run was not given
            a length.
        StorageFullError: The disk is full.
    """
    console = Console(stderr=True) if console is None else console
    with run.locked(), _stop_signals(console) as stop, _full_disk(run), ProgressView(console) as view:
        loop = _Loop(engines, run, view)
        loop.begin(seconds, steps)
        loop.go(stop)
        return loop.finish(interrupted=stop.is_set() and any(loop.left()))


class _Loop:
    """The state of one call of `fit_to_run`."""

    def __init__(self, engines: Sequence[Engine], run: Run, view: ProgressView):
        self.engines, self.run, self.view = engines, run, view
        checkpoint = run.read_checkpoint()
        self.info: dict[str, Any] = (
            {"metrics_bytes": 0, "seconds": 0.0} if checkpoint is None else checkpoint.info
        )
        self.resumed = checkpoint is not None
        if checkpoint is not None:
            for engine, state in zip(engines, checkpoint.states, strict=True):
                engine.restore(state)
        self.store = run.open_store()
        self.metrics_file = run.path / "metrics.jsonl"
        _cut(self.metrics_file, self.info["metrics_bytes"])
        self.last_metrics: dict[str, float] = {}
        self.began = self.saved = time.monotonic()
        self.pace_from: tuple[float, int] | None = None

    def begin(self, seconds: float | None, steps: int | None) -> None:
        """Plan, and write the first checkpoint."""
        if self.resumed:
            self._extend(seconds, steps)
        else:
            self._plan(seconds, steps)
        self.run.update_config(plan=self.engines[0].plan_dict())
        self.checkpoint()

    def _plan(self, seconds: float | None, steps: int | None) -> None:
        if seconds is None and steps is None:
            request = self.run.config.get("request", {})
            seconds, steps = request.get("seconds"), request.get("steps")
        if seconds is None and steps is None:
            raise InputError(f"run {self.run.path} has no plan; say how long with --seconds or --steps")
        # The pilot takes a while: a run killed in it is planned by what was asked for.
        self.run.update_config(request={"seconds": seconds, "steps": steps})
        first, *others = self.engines
        # One machine: the chains take turns.
        first.plan(seconds=None if seconds is None else seconds / len(self.engines), steps=steps)
        for engine in others:
            engine.plan(steps=first.plan_dict()["total"])

    def _extend(self, seconds: float | None, steps: int | None) -> None:
        left = self.left()
        if seconds is not None:
            # The pace so far, not a new pilot: a pilot's steps would store no draws. Without a pace the run
            # was killed in its first seconds, and has its plan before it.
            pace = self.info.get("seconds_per_step")
            steps = math.ceil(seconds / len(self.engines) / pace) if pace else max(left)
        if steps is not None:
            for engine in self.engines if steps > max(left) else ():
                engine.plan(steps=steps - max(left))
        elif not any(left):
            raise InputError(
                f"run {self.run.path} has done its plan; say how much longer with --seconds or --steps"
            )

    def left(self) -> list[int]:
        """Steps that each engine's plan has still before it."""
        return [engine.plan_dict()["total"] - engine.count for engine in self.engines]

    def go(self, stop: threading.Event) -> None:
        """Chunks of steps, chain after chain, until every plan is done."""
        todo = dict(enumerate(self.engines))
        while todo and not stop.is_set():
            for chain in list(todo):
                progress = todo[chain].advance()
                if progress is None:
                    del todo[chain]
                    continue
                self._record(chain, progress)
                if stop.is_set():
                    break
            if time.monotonic() - self.saved > CHECKPOINT_SECONDS:
                self.checkpoint()

    def _record(self, chain: int, progress: Any) -> None:
        self.store.append(chain, progress.draws)
        if chain == 0:
            self.last_metrics = progress.metrics
        entry = {
            "chain": chain,
            "count": progress.count,
            "phase": progress.phase,
            "seconds": round(self._seconds(), 3),
        } | _finite(progress.metrics)
        line = (json.dumps(entry) + "\n").encode()
        with self.metrics_file.open("ab") as stream:
            stream.write(line)
        self.info["metrics_bytes"] += len(line)
        if self.pace_from is None:
            # From the end of the first chunk: that one compiled.
            self.pace_from = (time.monotonic(), self._done())
        self.view.update(progress, self._done(), sum(engine.plan_dict()["total"] for engine in self.engines))

    def checkpoint(self) -> None:
        """Make the draws and metrics so far durable, then the state that counts them."""
        self.store.sync()
        if self.metrics_file.exists():
            sync_directory(self.metrics_file)
        if self.pace_from is not None and (done := self._done() - self.pace_from[1]) > 0:
            self.info["seconds_per_step"] = (time.monotonic() - self.pace_from[0]) / done
        self.info |= {
            "draws": list(self.store.counts),
            "counts": [engine.count for engine in self.engines],
            "total": max(engine.plan_dict()["total"] for engine in self.engines),
        }
        info = self.info | {"seconds": self._seconds()}
        states, snapshots = zip(
            *((engine.state(), engine.snapshot()) for engine in self.engines), strict=True
        )
        self.run.write_checkpoint(Checkpoint(list(states), info, snapshots))
        self.saved = time.monotonic()

    def finish(self, *, interrupted: bool) -> FitResult:
        """The last checkpoint and the summary."""
        self.checkpoint()
        counts = self.info["counts"]
        self.run.write_summary(
            {
                "finished": not interrupted,
                "steps": counts,
                "draws": self.info["draws"],
                "seconds": self._seconds(),
                "metrics": _finite(self.last_metrics),
            }
        )
        seconds = time.monotonic() - self.began
        return FitResult(interrupted, min(counts), min(self.info["draws"]), seconds, self.last_metrics)

    def _done(self) -> int:
        return sum(engine.count for engine in self.engines)

    def _seconds(self) -> float:
        return self.info["seconds"] + time.monotonic() - self.began


@contextmanager
def _stop_signals(console: Console) -> Iterator[threading.Event]:
    """Turn the first Ctrl-C (or SIGTERM) into an event: a chunk of steps is never cut in two."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def request(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        console.print(
            "stopping after these steps (again: at once, as of the last checkpoint)", soft_wrap=True
        )

    before = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _full_disk(run: Run) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        raise StorageFullError(
            error.errno,
            f"{error.strerror}: run {run.path} is kept as of its last checkpoint; make room, then resume it",
        ) from error


def _cut(path: Path, size: int) -> None:
    if path.exists():
        with path.open("r+b") as stream:
            stream.truncate(size)


def _finite(metrics: dict[str, float]) -> dict[str, float | None]:
    """JSON has no NaN."""
    return {name: float(value) if math.isfinite(value) else None for name, value in metrics.items()}
