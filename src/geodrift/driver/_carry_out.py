"""The draws of one call of `geodrift.sample`: planned, sampled, kept in memory and in the run directory."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import jax
import numpy as np

from geodrift._errors import SamplingError
from geodrift.driver._chain import Chunk
from geodrift.driver._compiled_chain import CompiledChain
from geodrift.driver._draws import Draws, RunProgress
from geodrift.driver._loop import Loop
from geodrift.driver._memory import DrawMemory
from geodrift.driver._named_draws import position_and_info
from geodrift.driver._pilot import COMPILING_STEPS, steps_in
from geodrift.driver._plan import Plan
from geodrift.driver._progress import ProgressView
from geodrift.driver._record import Record
from geodrift.driver._run import Run
from geodrift.driver._signals import full_disk, stop_signals


class DrawLength(NamedTuple):
    """The arguments of `sample` that say how long."""

    num_draws: int | None
    seconds: float | None
    num_warmup: int
    thin: int

    def plan(self, chain: CompiledChain, num_draws: int | None) -> Plan:
        """The plan of so many draws; None: of those that fit in the time."""
        collects = chain.sampler.collects
        if num_draws is None:
            # A part of the warm-up is timed; the batches of all of it may be read.
            chain.begin(Plan.of_steps(self.num_warmup, self.num_warmup, 1))
            total = steps_in(self.seconds, chain, (self.num_warmup - COMPILING_STEPS) // 2)
            counts = chain.first + np.arange(self.num_warmup, max(total, self.num_warmup))
            num_draws = max(1, int(collects(counts).sum()) // self.thin)
        return Plan.of_draws(num_draws, self.num_warmup, self.thin, collects, chain.first)


def carry_out(
    chain: CompiledChain,
    length: DrawLength,
    run: Run | None,
    callback: Callable[[RunProgress], None] | None,
    view: ProgressView,
) -> Draws:
    """The draws of a chain under its plan, in memory and, where there is a run directory, on disk."""
    memory = DrawMemory([chain])
    with ExitStack() as stack:
        stack.enter_context(view)
        stop: threading.Event | None = None
        record = None
        num_draws = length.num_draws
        if run is not None:
            stack.enter_context(run.locked())
            stop = stack.enter_context(stop_signals())
            stack.enter_context(full_disk(run.path))
            record = Record(run, [chain])
            memory.append(0, record.store.read(0))
            num_draws = _number_kept(run, record, length)
        plan = length.plan(chain, num_draws)
        if record is not None:
            record.run.update_config(num_draws=len(plan.stored))
            record.checkpoint(plan)

        def observe(index: int, chunk: Chunk) -> None:
            info = (
                None if chunk.detail is None else jax.tree.map(lambda x: np.swapaxes(x, 0, 1), chunk.detail)
            )
            callback(
                RunProgress(chain.count, plan.total, plan.draws_after(chain.count), chain.sampler_state, info)
            )

        loop = Loop([chain], plan, record=record, memory=memory, view=view, observer=callback and observe)
        try:
            loop.go(stop)
        except SamplingError as error:
            error.draws = None if memory.empty else _result(chain, memory)
            raise
        if record is not None:
            record.checkpoint(plan)
            if not loop.done:
                raise KeyboardInterrupt(
                    f"run {run.path} is kept: the same call of geodrift.sample goes on with it"
                )
    return _result(chain, memory)


def _number_kept(run: Run, record: Record, length: DrawLength) -> int | None:
    """The number of draws of a run that may have begun: a run of so many seconds has fixed it."""
    number = length.num_draws
    if number is None:
        return run.config.get("num_draws")
    if (stored := record.store.counts[0]) > number:
        raise ValueError(f"num_draws = {number}: the checkpoint holds {stored} draws already")
    return number


def _result(chain: CompiledChain, memory: DrawMemory) -> Draws:
    position, info = position_and_info(memory.result(), chain.sampler_state.position)
    return Draws(position, info, chain.sampler_state)
