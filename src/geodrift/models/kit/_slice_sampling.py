"""Slice sampling of one number: a move that leaves any density as it is, without a step size."""

from collections.abc import Callable

import numpy as np


def slice_transition(
    x: float, log_density: Callable[[float], float], rng: np.random.Generator, width: float
) -> float:
    """Neal's (2003) move: stepping out, then shrinkage.

    Args:
        x: The present value, of finite log density.
        log_density: Up to a constant; minus infinity outside of the support.
        rng: Of the random numbers.
        width: Of the first interval: any positive number gives the right law, one of about the density's
            width takes the fewest evaluations.
    """
    level = log_density(x) - rng.standard_exponential()
    low = x - width * rng.random()
    high = low + width
    while log_density(low) > level:
        low -= width
    while log_density(high) > level:
        high += width
    while True:
        new = low + (high - low) * rng.random()
        # The level may be that of x itself, by rounding: x then ends the loop.
        if log_density(new) >= level:
            return new
        low, high = (new, high) if new < x else (low, new)
