"""Chains carried through a plan by one call: kept in memory, on disk, or both."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from geodrift._errors import SamplingError
from geodrift.driver._chain import Chain
from geodrift.driver._interruptions import StoppedInPilotError, StopRequest, stop_signals
from geodrift.driver._leg import Leg
from geodrift.driver._loop import Loop, Observer
from geodrift.driver._memory import DrawMemory
from geodrift.driver._plan import Plan
from geodrift.driver._progress import ProgressView
from geodrift.driver._record import Record
from geodrift.driver._run import Run
from geodrift.files import room_for

PlanOf = Callable[[Record | None, Callable[[], object]], tuple[Plan, Leg]]
"""The plan of a call and the part of it to carry out, from what the run directory says (from None where there
is no directory), and from a function that it calls now and then, and that raises when the call is to end."""


def carry_out(
    chains: Sequence[Chain],
    plan_of: PlanOf,
    view: ProgressView,
    *,
    run: Run | None = None,
    memory: DrawMemory | None = None,
    observer: Observer | None = None,
) -> Loop:
    """Start or continue chains, to the end of their plan, of the part asked for, or to Ctrl-C.

    With a run directory the chains go on from its checkpoint, no other process writes to it, and Ctrl-C ends
    the call after the present steps.

    Args:
        chains: As made for the start of the run.
        plan_of: Called once, before the first step.
        view: What a person sees.
        run: The run directory, or None.
        memory: Draws that are kept in memory, those included that the run directory holds already; or None.
        observer: Called after every chunk.

    Returns:
        The loop as it ended.

    Raises:
        InputError: Another process writes to the run, or its settings were changed.
        SamplingError: A chain failed; the run is kept as of its last checkpoint.
        StoppedInPilotError: Ctrl-C or SIGTERM came before the run had a plan: it begins anew when it goes on.
        StorageFullError: The disk is full.
    """
    with ExitStack() as stack:
        stack.enter_context(view)
        stop: StopRequest | None = None
        record: Record | None = None
        if run is not None:
            stack.enter_context(run.locked())
            stop = stack.enter_context(stop_signals())
            then = f"run {run.path} is kept as of its last checkpoint; make room, then go on with it"
            stack.enter_context(room_for(run.path, then=then))
            record = Record(run, chains)
        if memory is not None and record is not None:
            for index in range(len(chains)):
                memory.append(index, record.store.read(index))
        plan, leg = _planned(chains, lambda: plan_of(record, lambda: _look(stop, run)))
        loop = Loop(chains, plan, record=record, memory=memory, view=view, observer=observer, leg=leg)
        if record is None:
            loop.go()
            return loop
        record.checkpoint(plan)
        try:
            loop.go(stop)
        except SamplingError as error:
            record.summarise(finished=False, metrics=loop.metrics, failure=str(error))
            raise
        loop.stopped_by = stop.number
        record.checkpoint(loop.plan)
        record.summarise(finished=loop.done, metrics=loop.metrics)
        return loop


def _planned(chains: Sequence[Chain], plan: Callable[[], tuple[Plan, Leg]]) -> tuple[Plan, Leg]:
    """The plan; where there comes to be none, what the chains hold is given back."""
    try:
        return plan()
    except BaseException:
        for chain in chains:
            chain.close()
        raise


def _look(stop: StopRequest | None, run: Run | None) -> None:
    if stop is not None and run is not None and stop.is_set():
        raise StoppedInPilotError(
            f"run {run.path} has no plan yet: it begins anew when it goes on", stop.number
        )
