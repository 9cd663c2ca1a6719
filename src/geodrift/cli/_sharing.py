"""Runs whose steps several processes take together: those of `--processes`, and those of `--distributed`."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer

from geodrift import distributed
from geodrift._errors import InputError
from geodrift._terminal import end_at_once, keep_stdout_for_results, say
from geodrift.cli._errors import UsageError, told
from geodrift.cli._files import typed
from geodrift.cli._processes import Processes
from geodrift.distributed import RESTARTS, Team
from geodrift.distributed._supervisor import LOST
from geodrift.distributed._worker import LOG
from geodrift.driver import FitResult, Length, Run, follow, led
from geodrift.models import model_of
from geodrift.models.kit import Model, ModelSettings, corpus_of, fit, make_chains, start_of
from geodrift.models.kit import supervised as by_processes


def settings_to_share(processes: Processes, model: Model, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a run that begins: as given, or as several processes need them; then `checked`."""
    if processes.asked:
        settings = model.to_share(settings)
    checked(processes, model, model.settings_type.from_dict(settings))
    return settings


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
    restarts = RESTARTS if processes.restarts is None else processes.restarts
    end = by_processes(run, length, processes.processes or 1, restarts=restarts)
    if end.gave_up:
        say(f"{end.reason}: go on with geodrift resume {typed(run.path)}")
    elif end.reason:
        say(end.reason)
    return end.status or 0


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
            keep_stdout_for_results()  # gloo tells there how many it is connected to
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
    """Carry a run on: this process's parts of the chains, and the result, which is for process 0."""
    chains = make_chains(model_of(run), run.config, corpus_of(run), team, start=start_of(run))
    if team.rank == 0:
        with led(team, chains) as all_chains:
            return chains, fit(model_of(run), all_chains, run, length)
    follow(team, chains, lambda: _stored(run.path))
    return chains, None


def _stored(path: Path) -> Sequence[dict[str, Any]]:
    checkpoint = Run.open(path).read_checkpoint()
    if checkpoint is None:
        raise InputError(
            f"run {path} has no checkpoint here, but process 0 has one: do all see the same disk?"
        )
    return checkpoint.states
