"""What `fit`, `resume` and `demo` share."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer

from geodrift._terminal import say
from geodrift.cli import UsageError, _sharing
from geodrift.cli._files import typed
from geodrift.cli._processes import Processes
from geodrift.cli._starting import Start, topics_to_begin_at
from geodrift.data import Corpus, InputError, VectorSource, describe
from geodrift.distributed import Team, agree
from geodrift.driver import FitResult, Length, Run
from geodrift.driver._progress import shown_as_text
from geodrift.files import in_units, nearest_directory, refuse_existing
from geodrift.models import model_of
from geodrift.models.kit import (
    Model,
    ModelChain,
    corpus_of,
    create_run,
    doubts_of,
    fit,
    make_chains,
    needs_of,
    start_of,
)

STARTED = time.monotonic()
MOST_SECONDS = 100_000_000


def checked_length(seconds: float | None, steps: int | None) -> Length | None:
    """How long to sample, of which one is told at most, and is positive; None where none is."""
    if seconds is not None and steps is not None:
        raise UsageError("give --seconds or --steps, not both")
    if seconds is not None and not 0 < seconds <= MOST_SECONDS:
        raise UsageError(f"--seconds must be positive and at most {MOST_SECONDS:,}, got {seconds:g}")
    return None if seconds is None and steps is None else Length(seconds, steps)


def start(
    model: Model,
    load: Callable[[], Corpus | VectorSource],
    path: Path,
    config: dict[str, Any],
    length: Length,
    processes: Processes,
    begin: Start,
) -> Run | None:
    """Make a run of a corpus and fit it; ends the process when it was interrupted.

    Args:
        model: What to fit.
        load: Gives the corpus.
        path: Where.
        config: See `make_chains`.
        length: How long.
        processes: That share the work.
        begin: Which topics the chains begin at, if any.

    Returns:
        The run; None at processes that have nothing to say of it.
    """
    if processes.distributed:
        told = config | {"length": length._asdict(), "start": [str(each) for each in begin]}
        with _sharing.together(processes, **told) as team:
            _sharing.first_makes(team, lambda: _make_shared(model, load(), path, config, length, begin))
            run = Run.open(path)
            agree(team, run=run.config["id"])  # another run may stand at the path of another machine
            return _fit_together(team, run, length)
    refuse_existing(path)
    refuse_within_corpus(path)
    if processes.processes is not None:
        return _supervised(_make_shared(model, load(), path, config, length, begin), length, processes)
    run, chains = _make(model, load(), path, config, config, begin)
    _fit(model, chains, run, length)
    return run


def refuse_within_corpus(path: Path) -> None:
    """Refuse a place in a corpus: a run there goes when the corpus is made anew."""
    for parent in (path.absolute(), *path.absolute().parents):
        if (parent / "manifest.json").is_file() and (parent / "document-frequencies.npy").is_file():
            raise UsageError(f"--run {path} lies in the corpus {parent}: choose a place outside of it")


def _make_shared(
    model: Model,
    corpus: Corpus | VectorSource,
    path: Path,
    config: dict[str, Any],
    length: Length,
    begin: Start,
) -> Run:
    """A run whose chains other processes, or all, will make; what was asked for is in it from the start."""
    run, _ = _make(model, corpus, path, config | {"chains": 1}, config, begin)
    run.update_config(request=length._asdict())
    return run


def _make(
    model: Model,
    corpus: Corpus | VectorSource,
    path: Path,
    made: dict[str, Any],
    config: dict[str, Any],
    begin: Start,
) -> tuple[Run, list[ModelChain]]:
    """The run directory of a config, and the chains of the config ``made``."""
    for line in describe(corpus) if isinstance(corpus, Corpus) else corpus.describe():
        say(f"corpus: {line}")
    topics, told = topics_to_begin_at(corpus, begin)
    chains = make_chains(model, made, corpus, start=topics)
    # Where others make the chains, there is but one of them here.
    everyone = (chains * config["chains"])[: config["chains"]]
    _say_needs(*needs_of(model, everyone, corpus), path, "in all" if made is config else "in each process")
    return create_run(path, model, config | {"start": told}, corpus, chains, topics), chains


def go_on(path: Path, length: Length | None, processes: Processes) -> Run | None:
    """Continue a run from its last checkpoint, or from its start when it was killed before the first one."""
    run = Run.open(path)
    model = model_of(run)
    _sharing.checked(processes, model, model.settings_type.from_dict(run.config["settings"]))
    run.check_not_ended()
    if processes.distributed:
        told = {"run": run.config["id"], "length": length and length._asdict()}
        with _sharing.together(processes, **told) as team:
            return _fit_together(team, run, length)
    if run.has_checkpoint:
        state = run.state
        at = min(state["counts"])
        say(f"resuming {path} at step {at:,}; {_left(state['total'] - at)}")
    else:
        say(f"{path} was not planned yet: it begins anew")
    if processes.processes is not None:
        return _supervised(run, length, processes)
    _fit(model, make_chains(model, run.config, corpus_of(run), start=start_of(run)), run, length)
    return run


def _fit(model: Model, chains: list[ModelChain], run: Run, length: Length | None) -> None:
    say(f"start-up {time.monotonic() - STARTED:.1f} s")
    _tell(chains, run, fit(model, chains, run, length))


def _supervised(run: Run, length: Length | None, processes: Processes) -> Run:
    status = _sharing.supervised(run, length, processes)
    if status:
        raise typer.Exit(status)
    return run


def _fit_together(team: Team, run: Run, length: Length | None) -> Run | None:
    """This process's part of a fit; what was found is told by process 0, or by the supervisor."""
    chains, result = _sharing.carried_out(team, run, length)
    if result is None:
        return None
    _tell(chains, run, result)
    return None if _sharing.is_worker() else run


def _tell(chains: Sequence[ModelChain], run: Run, result: FitResult) -> None:
    """How a fit went; ends the process where it was interrupted."""
    if result.left is None:
        say(f"interrupted before it was planned: geodrift resume {typed(run.path)} begins it anew")
        raise typer.Exit(128 + (result.stopped_by or signal.SIGINT))
    of_chains = "one chain" if len(chains) == 1 else f"each of {len(chains)} chains"
    say(
        f"{result.steps:,} steps, {result.draws} draws of {of_chains}, "
        f"{result.seconds:.1f} s from the first step; run {run.path}",
    )
    last = shown_as_text(chains[0].shown_metrics, result.metrics)
    if last:
        say(f"at the end of the first chain: {', '.join(last)}")
    if result.interrupted:
        say(f"interrupted: go on with geodrift resume {typed(run.path)}")
        raise typer.Exit(128 + (result.stopped_by or signal.SIGINT))
    if result.left:
        say(f"{_left(result.left)}: geodrift resume {typed(run.path)} takes them")
        return
    for line in doubts_of(chains):
        say(f"warning: {line}")


def say_verdict(run: Run) -> None:
    """What may be believed of what a run has found."""
    if not run.num_draws:
        return
    from geodrift.cli._waiting import Waiting
    from geodrift.models.kit._tables import paragraphs

    try:
        with Waiting("comparing the chains"):
            told = "\n".join(model_of(run).answers().closing(run))
    except InputError as error:
        say(f"note: {error}")  # of a fit that is done and has nothing to tell of
        return
    for line in paragraphs(told).splitlines():
        say(line)


def say_next(run: Run) -> None:
    """What to do with a run."""
    if not run.num_draws:
        resume = f"geodrift resume {typed(run.path)} --seconds 60"
        say(f"next: {resume} (no draws yet: the run is still in warm-up)")
        return
    commands = (model_of(run).summary.command, "report", "documents")
    say("next: " + "; ".join(f"geodrift {command} {typed(run.path)}" for command in commands))


def _left(steps: int) -> str:
    return f"the plan has {steps:,} steps left" if steps else "its plan is done"


def _say_needs(memory: int, disk: int, path: Path, where: str) -> None:
    say(
        f"needs about {in_units(memory)} of memory {where}, and up to {in_units(disk)} of disk",
    )
    if memory > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        say("warning: that is more memory than this machine has")
    if disk > shutil.disk_usage(nearest_directory(path)).free:
        say("warning: that is more than is free on the disk")
