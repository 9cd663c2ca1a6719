"""A run directory of chains on the host, from its first step or from its last checkpoint."""

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from geodrift._errors import InputError
from geodrift._terminal import progress_console
from geodrift.driver._carry_out import carry_out
from geodrift.driver._chain import Chain
from geodrift.driver._interruptions import StoppedInPilotError
from geodrift.driver._leg import WHOLE, Leg
from geodrift.driver._loop import Loop
from geodrift.driver._memory import DrawMemory
from geodrift.driver._plan import Plan
from geodrift.driver._preparation import prepare
from geodrift.driver._progress import ProgressView
from geodrift.driver._record import Record
from geodrift.driver._revision import Revisions
from geodrift.driver._run import Run
from geodrift.driver._timing import steps_in

if TYPE_CHECKING:
    from rich.console import Console


LATE = 1.1  # times the seconds that were asked for: a run that takes longer says so


class Length(NamedTuple):
    """How long to sample: a time or a number of steps.

    Attributes:
        seconds: Time for the steps of all chains.
        steps: Steps of each chain.
    """

    seconds: float | None = None
    steps: int | None = None


class FitResult(NamedTuple):
    """How a fit ended."""

    interrupted: bool
    """By Ctrl-C or SIGTERM, before what was asked for was done."""
    steps: int
    """Steps of each chain since the start of the run."""
    draws: int
    """Stored draws of each chain."""
    seconds: float
    """Time from the first step to the end, of this call."""
    left: int | None
    """Steps of each chain that the plan has left; None: it was stopped before it had one."""
    metrics: dict[str, float]
    """The last ones of the first chain."""
    stopped_by: int | None = None
    """Number of the signal that interrupted it: SIGINT (Ctrl-C) or SIGTERM."""


def plan_of(
    chains: Sequence[Chain],
    length: Length,
    tell: Callable[[str], object] | None = None,
    look: Callable[[], object] = lambda: None,
) -> Plan:
    """The plan of a run that begins; see `plan_and_leg`, of which this is the first."""
    return plan_and_leg(chains, length, tell, look)[0]


def plan_and_leg(
    chains: Sequence[Chain],
    length: Length,
    tell: Callable[[str], object] | None = None,
    look: Callable[[], object] = lambda: None,
    note: Callable[[Plan], object] = lambda plan: None,
) -> tuple[Plan, Leg]:
    """The plan of a run that begins, and where it is made anew if it is of a time.

    Seconds are shared by the chains, which take their steps side by side or in turn.

    Args:
        chains: They stand where the run begins.
        length: Of the run.
        tell: Called with a line where a run cannot be as short as was asked.
        look: Called now and then while the chains are timed; it may raise an exception that ends it.
        note: Called with the plan where it was made anew.

    Raises:
        ValueError: Not exactly one of seconds and steps is given, or it is not positive.
    """
    seconds, steps = length
    if (seconds is None) == (steps is None):
        raise ValueError("give either seconds or steps")
    if not (seconds or steps or 0) > 0:
        raise ValueError(f"seconds and steps must be positive, got {seconds if steps is None else steps}")
    began, shares = time.perf_counter(), chains[0].shares
    prepare(chains, look, tell)
    look()
    if steps is not None:
        return shares.plan(steps), WHOLE
    prepared = time.perf_counter() - began
    paced = steps_in(seconds - prepared, chains, kept=True, look=look)
    needed = prepared + paced.seconds
    if tell is not None and needed > LATE * seconds:
        asked = f"{seconds:.2g}" if seconds < 10 else f"{seconds:g}"  # a share of a time may be 0.988235
        tell(
            f"no run is as short as {asked} s here: this one takes about {needed:.0f} s; fewer"
            " chains, or a smaller model, take less"
        )
    plan = shares._replace(num_draws=paced.num_draws).plan(paced.steps)
    return plan, Leg(revision=Revisions(chains, paced, began + seconds, note).first())


def sampled(chains: Sequence[Chain], steps: int, *, verbose: bool = False) -> dict[str, np.ndarray]:
    """The draws of chains of that many steps in memory, [chain, draw, ...] of each variable.

    Args:
        chains: At their start.
        steps: Of each chain.
        verbose: Whether progress goes to stderr.
    """
    memory, shown = DrawMemory(chains), chains[0].shown_metrics
    with ProgressView(progress_console() if verbose else None, shown) as view:
        Loop(chains, plan_of(chains, Length(steps=steps)), memory=memory, view=view).go()
    return memory.result()


def fit_to_run(
    chains: Sequence[Chain],
    run: Run,
    length: Length | None = None,
    *,
    console: "Console | None" = None,
) -> FitResult:
    """Start or continue a run.

    A run without a checkpoint is planned; what was asked for is written down before the pilot, so that a run
    killed in it is planned anew. A run with a checkpoint goes on from it for ``length``, counted from where
    it stands: if the plan has more steps left, they stay in it for a later call; if it has fewer, it is made
    longer. The draws are those of one uninterrupted run in either case.

    Args:
        chains: As made for the start of the run.
        run: The run directory.
        length: How much longer; None: to the end of the plan, or what was asked before there was one.
        console: Where progress goes; stderr when not given.

    Raises:
        InputError: Another process writes to the run, there is nothing left to do, or a new run was not given
            a length.
        SamplingError: A chain failed; the run is kept as of its last checkpoint.
        StorageFullError: The disk is full.
    """
    view = ProgressView(console or progress_console(), chains[0].shown_metrics, after=0.0)

    def plan_of_run(record: Record, look: Callable[[], object]) -> tuple[Plan, Leg]:
        if record.resumed:
            plan, leg = _extended(record, length)
        else:
            plan, leg = _planned(record, length, view.tell, look, note)
        note(plan)
        return plan, leg

    def note(plan: Plan) -> None:
        run.update_config(plan=plan.as_dict())

    began = time.monotonic()
    try:
        loop = carry_out(chains, plan_of_run, view, run=run)
    except StoppedInPilotError as stopped:
        return FitResult(True, 0, 0, time.monotonic() - began, None, {}, stopped.number)
    info, steps = loop.record.info, min(loop.record.info["counts"])
    return FitResult(
        loop.interrupted,
        steps,
        min(info["draws"]),
        loop.record.seconds_of_call,
        loop.plan.total - steps,
        loop.metrics,
        loop.stopped_by,
    )


def _planned(
    record: Record,
    length: Length | None,
    tell: Callable[[str], object],
    look: Callable[[], object],
    note: Callable[[Plan], object],
) -> tuple[Plan, Leg]:
    run = record.run
    if length is None and "request" in run.config:
        length = Length(**run.config["request"])
    if length is None:
        raise InputError(f"run {run.path} has no plan; say how long with --seconds or --steps")
    # The pilot takes a while: a run killed in it is planned by what was asked for.
    run.update_config(request=length._asdict())
    return plan_and_leg(record.chains, length, tell, look, note)


def _extended(record: Record, length: Length | None) -> tuple[Plan, Leg]:
    """The plan of a run that goes on, and the part of it that was asked for."""
    chains, info = record.chains, record.info
    plan, at = Plan.of_steps(**info["plan"]), min(chain.count for chain in record.chains)
    left = plan.total - at
    if length is None:
        if not left:
            raise InputError(
                f"run {record.run.path} has done its plan; say how much longer with --seconds or --steps"
            )
        return plan, WHOLE
    if length.steps is not None:
        return plan.extended(at + length.steps), Leg(until=at + length.steps)
    # The pace so far, not a new pilot: a pilot's steps would store no draws. Before the first step there is
    # none, and the plan is before the run.
    pace = info.get("seconds_per_step") or (at and info["seconds"] / sum(info["counts"]))
    steps = math.ceil(length.seconds / len(chains) / pace) if pace else left
    return (plan.extended(at + steps), WHOLE) if steps > left else (plan, Leg(seconds=length.seconds))
