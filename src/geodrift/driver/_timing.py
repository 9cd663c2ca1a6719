"""The pilot: a time to sample turned into a number of steps."""

import math
import time

import numpy as np

from geodrift.driver._chain import Chain
from geodrift.driver._plan import PILOT_SHARE, PILOT_STEPS

COMPILING_STEPS = 3  # taken first, if there is time; their pace tells nothing of the steps that follow


def steps_in(seconds: float, chain: Chain, most: int = PILOT_STEPS - COMPILING_STEPS) -> int:
    """The number of steps of a run that takes a time, found by timing the first of them.

    The chain takes these steps, which are warm-up, for at most a fifth of the time. They come in chunks that
    double while there is time, and the pace is that of the last chunk of at least a third of them: a chain is
    slower at first.

    Args:
        seconds: Time from now on.
        chain: The chain, which stands where the run begins.
        most: Steps to time, at most.

    Returns:
        Steps of the whole run, at least five times those taken here (see `Plan.pilot_ends`).

    Raises:
        SamplingError: A step failed.
    """
    started, first = time.perf_counter(), chain.count
    ends = started + PILOT_SHARE * seconds
    for number in range(COMPILING_STEPS):
        if number == 0 or time.perf_counter() < ends:
            _advance(chain, 1)
    begun, taken, steps, pace = time.perf_counter(), 0, 1, 0.0
    while steps > 0:
        _advance(chain, steps)
        now, taken = time.perf_counter(), taken + steps
        if not pace or 3 * steps >= taken:
            pace = (now - begun) / steps
        begun, steps = (
            now,
            int(min(taken + 1, most - taken, (ends - now) / max(pace, 1e-9))),
        )
    of_draws = chain.seconds_of_draws()
    left = seconds - (time.perf_counter() - started) - of_draws
    others = math.ceil((chain.count - first) * (1 / PILOT_SHARE - 1))
    return chain.count + max(others, chain.steps_within(left, pace))


def _advance(chain: Chain, steps: int) -> None:
    chunk = chain.advance(np.array([steps]), False)
    if chunk.failure is not None:
        raise chunk.failure
