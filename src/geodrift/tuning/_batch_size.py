"""The size of minibatches, where it is chosen with the step size: the smallest whose noise costs little.

The noise variance of a batch of B data is inversely proportional to B. Where it limits the step size or
raises the friction, twice the batch halves the number of steps to forget the widest direction, at the same
number of gradients of data; where it does not, a larger batch buys nothing.
"""

from geodrift.tuning._choice import Measured, choose
from geodrift.tuning._noise import NO_NOISE
from geodrift.tuning._pilot_data import PilotData

SLOWER = 1.25  # relaxation, over that without noise
LEAST = 32  # a step costs as much as the gradients of some tens of data, whatever it does


def smallest_batch(dynamics: str, measured: Measured, data: PilotData) -> int:
    """The batch size, a power of two or that of the data, which is the largest allowed.

    Args:
        dynamics: As for `choose`.
        measured: With the noise of the data's batch size.
        data: With the largest batch size.
    """
    without = choose(dynamics, measured._replace(noise=NO_NOISE)).relaxation
    size = LEAST
    while size < data.batch_size:
        noisy = measured._replace(noise=measured.noise.times(data.factor(size)))
        if choose(dynamics, noisy).relaxation <= SLOWER * without:
            return size
        size *= 2
    return data.batch_size
