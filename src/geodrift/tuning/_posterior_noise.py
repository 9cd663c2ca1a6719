"""The noise of minibatch gradients over a posterior on R^n, in coordinates that make its covariance diagonal.

An estimate of V from each batch scatters, the more the fewer rows have most of the variance: now and then it
exceeds what friction injects, and the run would end. Its mean over the posterior is a number that is known
before the run. What is then not subtracted has mean 0, and how much it is at single positions is measured.

Where estimates scatter little they stay: of V at the chain's position each is right. By how much they do is
known from the fourth moments of the data's gradients, and not from a few batches: of normal data whose sds
are lognormal with a log sd of .4 (in batches of 50 an estimate scatters by .3 of itself) the largest of a run
was four times the mean, and that of 24 batches 1.8 times.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift._types import Batch, RandomKey
from geodrift.estimators import ControlVariate
from geodrift.tuning._pilot_data import PilotData

# V varies over the posterior, in some posteriors much: many positions with some rows each tell its mean
# better than some positions with many rows.
LEAST_POSITIONS, MOST_POSITIONS = 8, 32
ROWS, OF_A_NUMBER = 2048, 4  # at a position at least, and for each dimension
MOST_FLOATS = 2**23  # of all gradients
# Of a batch's estimate of V, its relative standard deviation: beyond it the mean takes its place.
MOST_SCATTER = 0.2
SCATTER_PLACES = 3  # where it is measured


class PosteriorNoise(NamedTuple):
    """The covariance V of the gradient noise.

    Attributes:
        mean: V's mean over the posterior, [d, d].
        deviation: How far V at a position is from that, along the axis of the mean where it is farthest; mean
            over the positions.
        gradients: Of single data that were taken.
    """

    mean: Float[np.ndarray, "d d"]
    deviation: float
    gradients: int


def has_posterior_noise(estimator: Any) -> bool:
    """Whether its mean over the posterior stands for V in any case: that of a centre that does not move.

    Not for gradients without a centre, whose V is larger and farther from its mean in the tails: on six
    posteriors of posteriordb draws were worth up to three times as many, and quantiles twice as far off. It
    does there only where estimates scatter (`estimates_scatter`).
    """
    return isinstance(estimator, ControlVariate) and estimator.refresh_every is None


def estimates_scatter(variance_of_one: float, batch_size: int) -> bool:
    """Whether estimates from batches of a size scatter too much.

    Args:
        variance_of_one: From `estimates_variance`.
        batch_size: B.
    """
    return variance_of_one > MOST_SCATTER**2 * batch_size


def estimates_variance(
    key: RandomKey, estimator: Any, coordinates: Float[np.ndarray, "p d"], data: PilotData
) -> tuple[float, int]:
    """The relative variance of a batch's Fisher estimate of V, times B; the largest of any coordinate.

    Args:
        key: Random key.
        estimator: In coordinates, with a Fisher estimate.
        coordinates: Of positions within the mass.
        data: All of it.

    Returns:
        The variance, and how many gradients of single data were taken.
    """
    number = min(data.size, ROWS, max(2, MOST_FLOATS // coordinates.size))
    y = jnp.asarray(coordinates, estimator.affine.centre.dtype)
    gradients = np.asarray(_terms(key, estimator, y, data.rows(key, len(y), number)), np.float64)
    squares = (gradients - gradients.mean(axis=1, keepdims=True)) ** 2
    if estimator.variance.kind == "scalar-fisher":
        squares = squares.sum(axis=2, keepdims=True)
    mean, mean_square = squares.mean(axis=1), (squares**2).mean(axis=1)
    noisy = mean > 0  # a coordinate without noise has an estimate of 0
    variance = float(np.max(mean_square[noisy] / mean[noisy] ** 2 - 1, initial=0.0))
    return variance, number * len(coordinates)


def posterior_noise(
    key: RandomKey, estimator: Any, coordinates: Float[np.ndarray, "p d"], data: PilotData
) -> PosteriorNoise:
    """V at some positions, each from the gradients of other rows of the data.

    Args:
        key: Random key.
        estimator: In coordinates.
        coordinates: Of the positions.
        data: All of it, and the batch size.
    """
    dim = coordinates.shape[1]
    number = min(data.size, max(ROWS, OF_A_NUMBER * dim))
    positions = min(max(MOST_FLOATS // (number * dim), LEAST_POSITIONS), MOST_POSITIONS, len(coordinates))
    # Of the mean of a batch times N: 0 where distinct rows are all of them. Rows drawn with replacement have
    # the variance of the divisor N, where the estimate from distinct rows is that of N - 1.
    finite = 1.0 - (1 if data.replacement else data.batch_size) / data.size
    scale = data.size**2 / data.batch_size * finite
    at_once = positions if positions * number * dim <= MOST_FLOATS else 1
    found = []
    for first in range(0, positions, at_once):
        key_here, some = jax.random.fold_in(key, first), slice(first, first + at_once)
        rows = data.rows(key_here, at_once, number)
        y = jnp.asarray(coordinates[some], estimator.affine.centre.dtype)
        gradients = np.asarray(_terms(key_here, estimator, y, rows), np.float64)
        gradients = gradients - gradients.mean(axis=1, keepdims=True)
        # The only row is every batch: its gradient is the mean, and V is 0.
        found.append(scale / max(number - 1, 1) * gradients.swapaxes(1, 2) @ gradients)
    each = np.concatenate(found)
    mean = each.mean(axis=0)
    axes = np.linalg.eigh(mean)[1]
    off = np.abs(np.einsum("ij,pik,kj->pj", axes, each - mean, axes, optimize=True)).max(axis=1)
    return PosteriorNoise(mean, float(off.mean()), number * positions)


@eqx.filter_jit
def _terms(key: RandomKey, estimator: Any, y: Float[Array, "p d"], rows: Batch) -> Float[Array, "p rows d"]:
    return jax.vmap(lambda at, batch: estimator.noisy_terms(at, estimator.init(key, at), batch))(y, rows)
