"""Runs whose steps several processes take together: those of `--processes`, and those of `--distributed`."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer

from geodrift import distributed
from geodrift._errors import InputError
from geodrift._terminal import end_at_once, say
from geodrift.cli._errors import UsageError, told
from geodrift.cli._processes import RESTARTS, Processes
from geodrift.distributed import Team
from geodrift.distributed._supervisor import LOST
from geodrift.distributed._worker import LOG
from geodrift.driver import FitResult, Length, Run, follow, led
from geodrift.models import model_of
from geodrift.models.kit import Model, ModelSettings, corpus_of, fit, make_chains, start_of


def checked(processes: Processes, model: Model, settings: ModelSettings) -> None:
    """Raise UsageError where the options do not go together, or the model is of one process."""
    processes.check()
    number = processes.processes or processes.process_count or 1
    reason = model.cannot_share(settings.to_dict(), number) if processes.asked else None
    if reason:
        raise UsageError(f"{model.name} cannot be fitted by {number} processes: {reason}")


def is_worker() -> bool:
    """Whether a supervisor has started this process."""
    return LOG in os.environ


def supervised(run: Run, length: Length | None, processes: Processes) -> int:
    """Carry a run on with processes of this machine; returns the exit status."""
    number = processes.processes or 1
    restarts = RESTARTS if processes.restarts is None else processes.restarts
    began = run.state if run.has_checkpoint else None

    def commands(address: str) -> list[list[str]] | None:
        more = _left(run, began, length)
        if more is None:
            return None
        worker = [sys.executable, "-m", "geodrift_command", "resume", str(run.path), *more]
        placed = ["--distributed", "--coordinator", address, "--process-count", str(number)]
        return [[*worker, *placed, "--process-id", str(rank)] for rank in range(number)]

    return distributed.supervise(commands, restarts=restarts)


def _left(run: Run, began: dict[str, Any] | None, length: Length | None) -> list[str] | None:
    """The options that say how long to go on, after a part was done; None where nothing is left."""
    if not run.has_checkpoint:
        return _options(length)
    state = run.state
    if began is None or length is None:  # to the end of the plan
        return None if state != began and min(state["counts"]) >= state["total"] else []
    if length.steps is not None:
        steps = length.steps - (min(state["counts"]) - min(began["counts"]))
        return _options(Length(steps=steps)) if steps > 0 else None
    seconds = (length.seconds or 0.0) - (state["seconds"] - began["seconds"])
    return _options(Length(seconds=seconds)) if seconds > 0 else None


def _options(length: Length | None) -> list[str]:
    if length is None:
        return []
    return ["--steps", str(length.steps)] if length.steps is not None else ["--seconds", repr(length.seconds)]


@contextmanager
def together(processes: Processes, **told_all: Any) -> Iterator[Team]:
    """The team of this process; what ends this block wrongly ends the process at once.

    Args:
        processes: The options.
        told_all: What must be the same for all processes.
    """
    try:
        place = distributed.find_place(processes.coordinator, processes.process_id, processes.process_count)
        if not distributed.be_worker():
            say(place)
        team = distributed.join(place)
        distributed.agree(team, **told_all)
        yield team
        distributed.leave()
    except typer.Exit:
        raise
    except Exception as error:
        _end(error)


def _end(error: Exception) -> NoReturn:
    """Others may be gone: the interpreter would wait for them."""
    lost = isinstance(error, distributed.LostProcess)
    # Of a process that was lost the supervisor knows more.
    status = 0 if lost and is_worker() else told(error)
    end_at_once(LOST if lost else status)


def first_makes(team: Team, make: Callable[[], Any]) -> None:
    """Process 0 makes a run, and the others hear whether it could.

    Raises:
        InputError: At the others, where it could not.
    """
    problem: Exception | None = None
    if team.rank == 0:
        try:
            make()
        except Exception as error:
            problem = error
    message = team.share(str(problem).encode() if problem else b"")[0].decode()
    if problem is not None:
        raise problem
    if message:
        raise InputError(f"process 0 could not begin: {message}")


def carried_out(team: Team, run: Run, length: Length | None) -> tuple[Sequence[Any], FitResult | None]:
    """Carry a run on; the result is for process 0."""
    chains = make_chains(model_of(run), run.config, corpus_of(run), team, start=start_of(run))
    if team.rank == 0:
        with led(team, chains) as all_chains:
            return all_chains, fit(model_of(run), all_chains, run, length)
    follow(team, chains, lambda: _stored(run.path))
    return chains, None


def _stored(path: Path) -> Sequence[dict[str, Any]]:
    checkpoint = Run.open(path).read_checkpoint()
    if checkpoint is None:
        raise InputError(
            f"run {path} has no checkpoint here, but process 0 has one: do all see the same disk?"
        )
    return checkpoint.states
