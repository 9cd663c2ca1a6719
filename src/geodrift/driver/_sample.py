"""`geodrift.sample`: chains of a sampler of the core, from minibatches, in memory and on disk."""

import functools
import warnings
from collections.abc import Callable
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, UInt32

from geodrift._errors import RunWarning, SamplingError
from geodrift._keys import checked_key
from geodrift._terminal import progress_console
from geodrift._types import Position, RandomKey
from geodrift._whole import whole
from geodrift.driver._automatic import is_automatic, settled
from geodrift.driver._carry_out import carry_out
from geodrift.driver._chain import Chunk
from geodrift.driver._compiled_chain import CompiledChain
from geodrift.driver._data_at_fault import told_of_data, told_of_warm_up
from geodrift.driver._draw_length import DrawLength
from geodrift.driver._draws import Draws, RunProgress
from geodrift.driver._gradient_check import gradient_check
from geodrift.driver._host_data import is_stream
from geodrift.driver._kept_run import open_or_create, settings_of
from geodrift.driver._memory import DrawMemory
from geodrift.driver._named_draws import position_and_info
from geodrift.driver._narrow_numbers import narrow_numbers
from geodrift.driver._plan import Plan
from geodrift.driver._progress import ProgressView
from geodrift.driver._report import RunReport, run_report
from geodrift.driver._rows_apart import check_rows_apart
from geodrift.driver._run import Run
from geodrift.driver._sampler_check import check_sampler
from geodrift.driver._source import Source, source_of
from geodrift.driver._start import PerChain, is_function, start_chains
from geodrift.driver._traced_functions import told_of_tracing
from geodrift.kernels._streams import GRADIENT_CHECK
from geodrift.samplers import Sampler
from geodrift.tuning import Adapted

# A pilot has to time enough steps.
LEAST_TIMED_WARM_UP = 20


@told_of_tracing
def sample(
    key: RandomKey | UInt32[Array, "2"],
    sampler: Sampler,
    data: Any = None,
    *,
    batch_size: int | str | None = None,
    batches: str = "rows",
    num_draws: int | None = None,
    seconds: float | None = None,
    num_warmup: int = 0,
    num_chains: int = 1,
    thin: int = 1,
    initial: Position | PerChain | Callable[[RandomKey], Position] | Any = None,
    callback: Callable[[RunProgress], object] | None = None,
    progress: bool = False,
    checkpoint: str | PathLike | None = None,
) -> Draws:
    """Run chains of a sampler.

    Chain c is the chain that ``fold_in(key, c)`` gives, whatever the number of chains, up to the rounding of
    a program that is compiled for that number. Each step draws its minibatch with its own key, at a cost that
    does not depend on the data's size.

    Args:
        key: Random key, from `jax.random.key` (or `jax.random.PRNGKey`).
        sampler: The Markov kernel. With ``step_size=None`` a pilot chooses its step size and friction
            (`geodrift.tuning.tune`), a function of the key and the arguments, and says so on stderr; a run
            that goes on from a checkpoint has the numbers that are kept there.
        data: A pytree of arrays with leading axis N; or `HostData`, arrays that stay on the host, such as
            memory-mapped files; or an iterator of batches, of which each step takes one for each chain and
            inner step; or None when the estimator needs none.
        batch_size: B; None gives every step all of the data, or the iterator's batches as they are.
            ``"auto"``, with ``step_size=None``: the smallest, of at most a tenth of the data, whose noise
            does not slow the chain.
        batches: ``"rows"``: independent random rows, with or without replacement as the estimator says.
            ``"blocks"``: B neighbouring rows from a random place of the data, which are shuffled once (0.1 s
            for a million rows of 20 numbers): a step takes a third of the time, and batches are independent.
            ``"epochs"``: every row once before any comes again, in blocks that are cut and ordered anew for
            each epoch: the noise of an epoch adds up to 0, so V says too much.
        num_draws: Draws stored, of each chain.
        seconds: In the place of ``num_draws``: about the time to sample, warm-up included. A pilot, which is
            a part of the warm-up, turns it into a number of draws; that number given as ``num_draws`` gives
            the same draws. Not with an iterator.
        num_warmup: Steps taken before the first draw is counted; with ``seconds`` 20 or more, for the pilot.
        num_chains: Chains, run together.
        thin: Steps from one stored draw to the next; where a schedule such as `Cyclical` has stages, those
            in which draws may be stored are counted alone.
        initial: Where the chains start. A position, shared by all chains; or ``PerChain(positions)``; or a
            function of a random key that returns a position; or the ``state`` of earlier draws, to go on
            from there (with the same key the draws are those of one longer run). None takes a random point
            of the manifold, without batch axes. An Equinox model goes in as the array part of
            ``equinox.partition``.
        callback: Called with a `RunProgress` after every chunk of about half a second. If it returns True and
            there are draws, the run ends there; with a checkpoint the same call goes on.
        progress: Show a progress bar on stderr when the run takes more than two seconds.
        checkpoint: A directory, new or empty. The run is kept there (`geodrift.load` opens it), at every
            moment in a state from which the same call goes on to the very same draws; ``num_draws`` may be
            larger then. Ctrl-C ends the call after a last checkpoint. An iterator is to be given from its
            beginning: the batches that were used are read and dropped.

    Returns:
        The draws.

    Raises:
        ValueError: An argument is outside its range, or the sampler runs on the host, or the checkpoint is of
            a run with other settings, or its directory holds other files or is being written by another
            process.
        RunWarning: (a warning) Something speaks against the draws; see ``draws.report``.
        KeyboardInterrupt: Ctrl-C was pressed; with a checkpoint the run is kept.
        StorageFullError: The disk is full; the run is kept as of its last checkpoint.
        TypeError: A function does what JAX cannot compile; the error's note says what to do.
        SamplingError: A step failed; says which and in which chain, and has the draws before it.
    """
    key = checked_key(key)
    num_warmup, num_chains = whole("num_warmup", num_warmup, 0), whole("num_chains", num_chains)
    num_draws, thin = None if num_draws is None else whole("num_draws", num_draws), whole("thin", thin)
    _check_lengths(num_draws, seconds, num_warmup, data)
    check_sampler(sampler)
    rounded = narrow_numbers(data)
    sampler, source = source_of(key, sampler, data, batch_size, batches)
    if source.of_processes:
        _check_of_processes(sampler, seconds=seconds, callback=callback, checkpoint=checkpoint)
    # Of positions: what a warm-up finds moves in coordinates.
    plain, tuned, starts = sampler, None, initial
    if source.smaller and not is_automatic(sampler):
        raise ValueError(
            "batch_size = 'auto': it is chosen with the step size: give step_size=None, or a number"
        )
    if is_automatic(sampler):
        given = key, sampler, source, initial, num_warmup, num_chains, checkpoint
        sampler, tuned, starts = told_of_data(data, settled, *given)
        # The number of inner steps may be another, and with it the batches of a step, or their size.
        sampler, source = source_of(key, sampler, data, tuned.batch_size or batch_size, batches)
    if isinstance(tuned, Adapted):
        num_warmup = max(num_warmup, tuned.warm_up)
    state, keys = start_chains(key, sampler, starts, num_chains)
    check_rows_apart(key, plain, source, initial)
    chain = CompiledChain(sampler, source, keys, state)
    run = None
    if checkpoint is not None:
        # A function cannot be compared, the positions that it gives can.
        start = state.position if is_function(initial) else initial
        counts = {"num_warmup": num_warmup, "num_chains": num_chains, "thin": thin}
        settings = settings_of(key, sampler, source.sketch, source.batching, initial=start, **counts)
        settings |= {} if tuned is None else {"tuned": tuned.as_dict()}
        run = open_or_create(Path(checkpoint), settings, num_chains)
    length = DrawLength(num_draws, seconds, num_warmup, thin)
    view = ProgressView(progress_console() if progress else None)
    carried_out = chain, length, run, callback, view
    draws = told_of_warm_up(tuned, told_of_data, data, _carried_out, *carried_out)
    steps = thin * (getattr(tuned, "num_steps", None) or getattr(plain, "num_steps", 1))
    report = _report_of(key, plain, sampler, source, draws, steps)
    speaking = [found for found in (tuned, report) if isinstance(found, Adapted | RunReport)]
    for told in [*rounded, *(line for found in speaking for line in found.warnings)]:
        warnings.warn(f"geodrift.sample: {told}", RunWarning, stacklevel=3)  # behind the decorator
    return draws._replace(tuned=tuned, report=report)


def _carried_out(
    chain: CompiledChain,
    length: DrawLength,
    run: Run | None,
    callback: Callable[[RunProgress], object] | None,
    view: ProgressView,
) -> Draws:
    memory = DrawMemory([chain])

    def observe(index: int, chunk: Chunk, plan: Plan) -> object:
        info = None if chunk.detail is None else jax.tree.map(lambda x: np.swapaxes(x, 0, 1), chunk.detail)
        drawn = plan.draws_after(chain.count)
        told = callback(RunProgress(chain.count, plan.total, drawn, chain.sampler_state, info))
        return told is True and drawn > 0

    try:
        loop = carry_out(
            [chain],
            functools.partial(length.plan, chain),
            view,
            run=run,
            memory=memory,
            observer=callback and observe,
        )
    except SamplingError as error:
        error.draws = None if memory.empty else _draws(chain, memory)
        raise
    if not (loop.done or loop.ended):
        raise KeyboardInterrupt(f"run {run.path} is kept: the same call of geodrift.sample goes on with it")
    return _draws(chain, memory)


def _report_of(
    key: RandomKey, sampler: Any, moving: Any, source: Source, draws: Draws, steps: int
) -> RunReport | None:
    info = draws.info
    if not sampler.accepts_steps:
        info = info._replace(acceptance=info.acceptance * np.nan)
    report = run_report(sampler.manifold, draws.position, info)
    if report is None:
        return None
    report = report._replace(of_sampler=tuple(moving.run_warnings(draws.state)))
    if not np.isnan(report.acceptance) or source.of_processes:
        return report  # of a Metropolis test the acceptance tells; gradients are not looked at over processes
    check = gradient_check(GRADIENT_CHECK.fold(key), sampler, source, draws.position, steps)
    return report._replace(gradients=check)


def _draws(chain: CompiledChain, memory: DrawMemory) -> Draws:
    position, info = position_and_info(memory.result(), chain.sampler_state.position)
    return Draws(position, info, chain.sampler_state)


def _check_lengths(num_draws: int | None, seconds: float | None, num_warmup: int, data: Any) -> None:
    if (num_draws is None) == (seconds is None):
        raise ValueError("give either num_draws or seconds")
    if seconds is None:
        return
    if not isinstance(seconds, Real) or not 0 < seconds < float("inf"):
        raise ValueError(f"seconds = {seconds!r}: must be positive and finite")
    if num_warmup < LEAST_TIMED_WARM_UP:
        raise ValueError(
            f"num_warmup = {num_warmup}: seconds are turned into draws by timing a part of the warm-up: give"
            f" at least {LEAST_TIMED_WARM_UP}, or num_draws"
        )
    if data is not None and is_stream(data):
        raise ValueError("seconds: an iterator's batches cannot be read for a pilot first: give num_draws")


def _check_of_processes(sampler: Sampler, **options: object) -> None:
    """Raise ValueError for what one process decides, or writes, alone."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"{name} = {value!r}: not with data on devices of several processes")
    if is_automatic(sampler):
        raise ValueError(
            "step_size = None: not with data on devices of several processes: choose it in one process, from"
            " a part of the data with the estimator's data_size, and give it"
        )
