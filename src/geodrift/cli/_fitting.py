"""What `fit`, `resume` and `demo` share."""

import os
import shutil
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from geodrift.cli import UsageError
from geodrift.data import Corpus, describe
from geodrift.files import nearest_directory, refuse_existing
from geodrift.runs import MODELS, Run, create_run, fit_to_run, make_engines, memory_needed, refusal

STARTED = time.monotonic()


def check_length(seconds: float | None, steps: int | None) -> None:
    """One of the two at most, and positive."""
    if seconds is not None and steps is not None:
        raise UsageError("give --seconds or --steps, not both")
    if seconds is not None and not 0 < seconds < float("inf"):
        raise UsageError(f"--seconds must be positive, got {seconds:g}")


def check_model(name: str) -> None:
    """Refuse a model that does not exist."""
    if name not in MODELS:
        raise UsageError(f"there is no model {name!r}; the models are: {', '.join(MODELS)}")


def check_settings(model: str, **settings: Any) -> dict[str, Any]:
    """The settings that were given; those that the model does not have are refused."""
    return _given(
        model, settings, MODELS[model].setting_names(), {"n_topics": "topics", "num_draws": "draws"}
    )


def check_evaluation(model: str, **options: Any) -> dict[str, Any]:
    """The options of `evaluate` that were given; those that the model does not have are refused."""
    check_model(model)
    return _given(model, options, MODELS[model].evaluation_options, {})


def _given(
    model: str, values: dict[str, Any], allowed: Collection[str], typed: dict[str, str]
) -> dict[str, Any]:
    given = {name: value for name, value in values.items() if value is not None}
    for name in given:
        if name not in allowed:
            shown = "--" + typed.get(name, name).replace("_", "-")
            raise UsageError(refusal(MODELS[model], name, shown))
    return given


def start(
    corpus: Corpus, path: Path, config: dict[str, Any], seconds: float | None, steps: int | None
) -> Run:
    """Make a run of a corpus and fit it; ends the process when it was interrupted."""
    console = Console(stderr=True)
    refuse_existing(path)
    for line in describe(corpus):
        say(console, f"corpus: {line}")
    engines = make_engines(config, corpus)
    _say_needs(console, config, engines, path)
    run = create_run(path, config, corpus, engines)
    _fit(console, engines, run, seconds, steps)
    return run


def go_on(path: Path, seconds: float | None, steps: int | None) -> Run:
    """Continue a run from its last checkpoint, or from its start when it was killed before the first one."""
    console = Console(stderr=True)
    run = Run.open(path)
    check_model(run.config["model"])
    if run.has_checkpoint:
        state = run.state
        say(console, f"resuming {path} at step {state['counts'][0]:,} of {state['total']:,}")
    else:
        say(console, f"{path} was not planned yet: it begins anew")
    _fit(console, make_engines(run.config, run.corpus()), run, seconds, steps)
    return run


def say(console: Console, text: str) -> None:
    """A line on stderr, as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _fit(console: Console, engines: list, run: Run, seconds: float | None, steps: int | None) -> None:
    say(console, f"start-up {time.monotonic() - STARTED:.1f} s")
    result = fit_to_run(engines, run, seconds=seconds, steps=steps, console=console)
    say(
        console,
        f"{result.steps:,} steps, {result.draws} draws of each of {len(engines)} chain(s), "
        f"{result.seconds:.1f} s from the first step; run {run.path}",
    )
    if result.interrupted:
        say(console, f"interrupted: go on with geodrift resume {run.path}")
        raise typer.Exit(130)


def _say_needs(console: Console, config: dict[str, Any], engines: list, path: Path) -> None:
    memory, disk = memory_needed(config, engines)
    say(console, f"needs about {_size(memory)} of memory besides the corpus, and up to {_size(disk)} of disk")
    if memory > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        say(console, "warning: that is more memory than this machine has")
    if disk > shutil.disk_usage(nearest_directory(path)).free:
        say(console, "warning: that is more than is free on the disk")


def _size(number: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:,.0f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"
