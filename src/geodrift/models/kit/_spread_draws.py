"""Which draws of a chain stand for all of them where a score of each would take long."""

import numpy as np
from jaxtyping import Int


def spread_draws(length: int, number: int) -> Int[np.ndarray, " N"]:
    """So many of a chain's draws, evenly spaced, the last one among them.

    Neighbours resemble each other: the last ones in a row say less of the posterior than these do.

    Args:
        length: How many draws the chain has.
        number: N, at most ``length``.
    """
    return length - 1 - np.arange(number)[::-1] * length // number
