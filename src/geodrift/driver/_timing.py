"""The pilot: a time to sample turned into a number of steps."""

import math
import time
from typing import NamedTuple

import numpy as np

from geodrift.driver._chain import Chain
from geodrift.driver._plan import PILOT_SHARE, PILOT_STEPS
from geodrift.driver._record import CHECKPOINT_SECONDS, CHECKPOINT_SHARE

PILOT_SECONDS = 10.0  # at most
LEAST_SHARE = 0.05  # of the time that is left after the first steps
MOST_OF_DRAWS = 1 / 3  # of the time: where draws would take more there are fewer of them
CHECKPOINTS = 2  # of a run that is kept: when it has a plan, and at its end
STORAGE_RATE = 2e8  # bytes a second that a plain disk makes durable
LEAST_DRAWS = 4  # of a chain, where there were to be more
COMPILING_STEPS = 3  # taken first, if there is time; their pace tells nothing of the steps that follow


class Paced(NamedTuple):
    """What fits in a time.

    Attributes:
        steps: Of the whole run, at least five times those of the pilot (see `Plan.pilot_ends`).
        num_draws: Those that the chain's shares ask for, or fewer.
    """

    steps: int
    num_draws: int


def steps_in(seconds: float, chain: Chain, most: int | None = None, *, kept: int = 0) -> Paced:
    """The length of a run that takes a time, found by timing its first steps.

    The chain takes these steps, which are warm-up, for at most a fifth of the time and `PILOT_SECONDS`. They
    come in chunks that double while there is time, and the pace is that of the last chunk of at least a third
    of them: a chain is slower at first.

    Args:
        seconds: Time from now on.
        chain: The chain, which stands where the run begins.
        most: Steps to time, at most; None: where warm-up is long, as many as there is time for, and of others
            `PILOT_STEPS` with those that compile.
        kept: Of how many chains draws and states are stored.

    Raises:
        SamplingError: A step failed.
    """
    started, first = time.perf_counter(), chain.count
    ends = started + min(PILOT_SHARE * seconds, PILOT_SECONDS)
    limit: float = PILOT_STEPS - COMPILING_STEPS if most is None else most
    if most is None and chain.shares.warm_up_fraction >= 2 * PILOT_SHARE:
        limit = math.inf
    for number in range(COMPILING_STEPS):
        if number == 0 or time.perf_counter() < ends:
            _advance(chain, 1)
    num_draws, of_draws = _draws_in(seconds, chain, kept)
    ends -= PILOT_SHARE * min(of_draws, seconds)
    begun, done, taken, steps, pace = time.perf_counter(), chain.work(), 0, 1, 0.0
    # The first step may have found a start, which takes longer than a pilot.
    ends = max(ends, begun + LEAST_SHARE * (seconds - (begun - started)))
    while steps > 0:
        _advance(chain, steps)
        now, work, taken = time.perf_counter(), chain.work(), taken + steps
        if not pace or 3 * steps >= taken:
            pace = (now - begun) / max(work - done, 1e-9)
        fit = (ends - now) / max((now - begun) / steps, 1e-9)
        begun, done, steps = now, work, int(min(taken + 1, limit - taken, fit))
    left = seconds - of_draws - (_of_checkpoints(chain, seconds, kept) if kept else 0.0)
    left -= time.perf_counter() - started
    others = math.ceil((chain.count - first) * (1 / PILOT_SHARE - 1))
    return Paced(chain.count + max(others, chain.steps_within(left, pace)), num_draws)


def _draws_in(seconds: float, chain: Chain, kept: int) -> tuple[int, float]:
    """How many draws to store of each chain, and the time that they take."""
    number, of_all = chain.shares.num_draws, chain.seconds_of_draws()
    if kept:
        numbers = (
            (math.prod(size or 0 for size in variable.shape), np.dtype(variable.dtype).itemsize)
            for variable in chain.variables.values()
        )
        of_all += number * chain.num_chains * sum(count * size for count, size in numbers) / STORAGE_RATE
    fit = int(number * MOST_OF_DRAWS * seconds / max(of_all, 1e-9))
    fewer = min(number, max(LEAST_DRAWS, fit))
    return fewer, of_all * fewer / number


def _of_checkpoints(chain: Chain, seconds: float, kept: int) -> float:
    """The time that checkpoints of all chains take of one chain's time."""
    began = time.perf_counter()
    arrays = [*chain.state().values(), *chain.snapshot().values()]
    of_one = time.perf_counter() - began + sum(array.nbytes for array in arrays) / STORAGE_RATE
    return CHECKPOINTS * of_one + seconds * min(CHECKPOINT_SHARE, kept * of_one / CHECKPOINT_SECONDS)


def _advance(chain: Chain, steps: int) -> None:
    chunk = chain.advance(np.array([steps]), False)
    if chunk.failure is not None:
        raise chunk.failure
