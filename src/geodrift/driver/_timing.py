"""The pilot: a time to sample turned into a number of steps."""

import time

import numpy as np

from geodrift.driver._chain import Chain

COMPILING_STEPS = 3  # taken first; their pace tells nothing of the steps that follow
# The pilot ends after so many steps, which `LEAST_WARM_UP` covers, or after this share of the time.
PILOT_STEPS, PILOT_SHARE = 100, 0.2


def steps_in(seconds: float, chain: Chain, most: int = PILOT_STEPS) -> int:
    """The number of steps of a run that takes a time, found by timing the first of them.

    The chain takes these steps, which are warm-up. They come in chunks that double while there is time, and
    the pace is that of the last chunk of at least a third of them: a chain is slower at first.

    Args:
        seconds: Time from now on.
        chain: The chain, which stands where the run begins.
        most: Steps to time, at most.

    Returns:
        Steps of the whole run, at least twice those taken here.

    Raises:
        SamplingError: A step failed.
    """
    started = time.perf_counter()
    _advance(chain, COMPILING_STEPS)
    begun, taken, steps, pace = time.perf_counter(), 0, 1, 0.0
    ends = begun + PILOT_SHARE * seconds
    while steps > 0:
        _advance(chain, steps)
        now, taken = time.perf_counter(), taken + steps
        if not pace or 3 * steps >= taken:
            pace = (now - begun) / steps
        begun, steps = now, int(min(taken + 1, most - taken, (ends - now) / max(pace, 1e-9)))
    of_draws = chain.seconds_of_draws()
    left = seconds - (time.perf_counter() - started) - of_draws
    return chain.count + max(chain.count, chain.steps_within(left, pace))


def _advance(chain: Chain, steps: int) -> None:
    chunk = chain.advance(np.array([steps]), False)
    if chunk.failure is not None:
        raise chunk.failure
