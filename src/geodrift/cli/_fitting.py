"""What `fit`, `resume` and `demo` share."""

import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import typer
from jaxtyping import Float

from geodrift._terminal import say
from geodrift.cli import UsageError
from geodrift.data import Corpus, describe
from geodrift.driver import Length, Run
from geodrift.driver._progress import shown_as_text
from geodrift.files import in_units, nearest_directory, refuse_existing
from geodrift.models import model_of
from geodrift.models.kit import Model, ModelChain, corpus_of, create_run, fit, make_chains, needs_of, start_of

STARTED = time.monotonic()


def checked_length(seconds: float | None, steps: int | None) -> Length | None:
    """How long to sample, of which one is told at most, and is positive; None where none is."""
    if seconds is not None and steps is not None:
        raise UsageError("give --seconds or --steps, not both")
    if seconds is not None and not 0 < seconds < float("inf"):
        raise UsageError(f"--seconds must be positive, got {seconds:g}")
    return None if seconds is None and steps is None else Length(seconds, steps)


def start(
    model: Model,
    corpus: Corpus,
    path: Path,
    config: dict[str, Any],
    length: Length,
    begin: Float[np.ndarray, "C J V"] | None = None,
) -> Run:
    """Make a run of a corpus and fit it; ends the process when it was interrupted.

    Args:
        model: What to fit.
        corpus: To what.
        path: Where.
        config: See `make_chains`.
        length: How long.
        begin: Components to begin at; see `make_chains`.
    """
    refuse_existing(path)
    for line in describe(corpus):
        say(f"corpus: {line}")
    chains = make_chains(model, config, corpus, begin)
    _say_needs(*needs_of(model, chains, corpus), path)
    run = create_run(path, model, config, corpus, chains, begin)
    _fit(model, chains, run, length)
    return run


def go_on(path: Path, length: Length | None) -> Run:
    """Continue a run from its last checkpoint, or from its start when it was killed before the first one."""
    run = Run.open(path)
    model = model_of(run)
    run.check_not_ended()
    if run.has_checkpoint:
        state = run.state
        at = min(state["counts"])
        say(f"resuming {path} at step {at:,}; {_left(state['total'] - at)}")
    else:
        say(f"{path} was not planned yet: it begins anew")
    _fit(model, make_chains(model, run.config, corpus_of(run), start_of(run)), run, length)
    return run


def _fit(model: Model, chains: list[ModelChain], run: Run, length: Length | None) -> None:
    say(f"start-up {time.monotonic() - STARTED:.1f} s")
    result = fit(model, chains, run, length)
    say(
        f"{result.steps:,} steps, {result.draws} draws of each of {len(chains)} chain(s), "
        f"{result.seconds:.1f} s from the first step; run {run.path}",
    )
    last = shown_as_text(chains[0].shown_metrics, result.metrics)
    if last:
        say(f"at the end of the first chain: {', '.join(last)}")
    if result.interrupted:
        say(f"interrupted: go on with geodrift resume {run.path}")
        raise typer.Exit(128 + (result.stopped_by or signal.SIGINT))
    if result.left:
        say(f"{_left(result.left)}: geodrift resume {run.path} takes them")


def say_verdict(run: Run) -> None:
    """What may be believed of what a run has found."""
    if run.num_draws:
        for line in str(model_of(run).answers().verdict(run)).splitlines():
            say(line)


def say_next(run: Run) -> None:
    """What to do with a run."""
    command = model_of(run).summary.command
    say(f"next: geodrift {command} {run.path}; geodrift documents {run.path}")


def _left(steps: int) -> str:
    return f"the plan has {steps:,} steps left" if steps else "its plan is done"


def _say_needs(memory: int, disk: int, path: Path) -> None:
    say(
        f"needs about {in_units(memory)} of memory in all, and up to {in_units(disk)} of disk",
    )
    if memory > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        say("warning: that is more memory than this machine has")
    if disk > shutil.disk_usage(nearest_directory(path)).free:
        say("warning: that is more than is free on the disk")
