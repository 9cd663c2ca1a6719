"""The gradient noise of a run on R^n: as its estimator states it, or by its mean over the posterior."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from geodrift._types import RandomKey
from geodrift.estimators import Minibatch
from geodrift.estimators._noise import Fisher
from geodrift.manifolds import Euclidean
from geodrift.tuning._noise import NO_NOISE, Noise, gradients_measured, measure_noise
from geodrift.tuning._pilot_data import PilotData
from geodrift.tuning._posterior_noise import (
    SCATTER_PLACES,
    estimates_scatter,
    estimates_variance,
    has_posterior_noise,
    posterior_noise,
)
from geodrift.tuning._scales import Scales

DENSE = 2048  # dimensions up to which there is a matrix of all pairs
MEASURED = 3  # positions at which curvature and noise are measured
# Of V's deviation from its mean: noise that is stated too small here and too large there heats and cools, and
# leaves variances as they are to first order (of a normal law, where V is a quadratic function).
SCATTER = 0.25


class Found(NamedTuple):
    """The gradient noise of batches of the data's batch size.

    Attributes:
        scales: Coordinates, in which V's mean is diagonal where that is known.
        noise: In them.
        variances: V in them, where a number takes the place of the estimator's estimates.
    """

    scales: Scales
    noise: Noise
    variances: Float[np.ndarray, " d"] | None


class RunNoise:
    """What measures the gradient noise of an estimator, and keeps how much its estimates of V scatter.

    Args:
        key: Random key.
        estimator: Without coordinates.
        data: What the run's batches are drawn from; None where the estimator needs none.
    """

    def __init__(self, key: RandomKey, estimator: Any, data: PilotData | None) -> None:
        self.key, self.estimator, self.data = key, estimator, data
        self._variance_of_one: float | None = None

    def found(self, scales: Scales, batch_size: int | None) -> Found:
        """The noise of batches of the data's batch size.

        Args:
            scales: Coordinates.
            batch_size: Of the run, whose estimates of V may scatter too much; None: all of the data.
        """
        if self.data is None or not self.data.noisy:
            return Found(scales, NO_NOISE, None)
        # A mean over the posterior is a matrix of all pairs of dimensions.
        if scales.affine.layout.size <= DENSE:
            if has_posterior_noise(self.estimator):
                return self._mean(scales)
            if isinstance(self.estimator, Minibatch) and isinstance(self.estimator.variance, Fisher):
                scales = self._with_scatter(scales)
                if self.scatters(batch_size):
                    return self._mean(scales)
        noise = self._largest(scales)
        taken = MEASURED * gradients_measured(scales.affine.layout.size, self.data)
        return Found(scales.after(taken), noise, None)

    def scatters(self, batch_size: int) -> bool:
        """Whether estimates of V scatter so much that some of a run would exceed what friction injects.

        As far as `found` has measured it: an estimator that makes no estimates has none that do.
        """
        return self._variance_of_one is not None and estimates_scatter(self._variance_of_one, batch_size)

    def _with_scatter(self, scales: Scales) -> Scales:
        if self._variance_of_one is not None:
            return scales
        estimator, places = self.estimator.in_coordinates(scales.affine), scales.coordinates[:SCATTER_PLACES]
        self._variance_of_one, taken = estimates_variance(self.key, estimator, places, self.data)
        return scales.after(taken)

    def _mean(self, scales: Scales) -> Found:
        estimator = self.estimator.in_coordinates(scales.affine)
        found = posterior_noise(self.key, estimator, scales.coordinates, self.data)
        variances, axes = np.linalg.eigh(found.mean)
        mean, largest, off = float(variances.mean()), float(variances.max()), SCATTER * found.deviation
        scales = scales.after(found.gradients)
        if isinstance(self.estimator.variance, Fisher):
            noise = Noise(mean, mean, largest, off, off)
            return Found(scales.turned(axes), noise, np.maximum(variances, 0.0))
        return Found(scales, Noise(mean, 0.0, 0.0, largest + off, largest - mean + off), None)

    def _largest(self, scales: Scales) -> Noise:
        """By single batches, of some positions the largest."""
        flat = Euclidean(scales.affine.layout.size)
        estimator, noises = self.estimator.in_coordinates(scales.affine).on(flat), []
        places = jnp.asarray(scales.coordinates[: MEASURED + 1], scales.affine.centre.dtype)
        for number in range(MEASURED):
            key_here, y = jax.random.fold_in(self.key, number), places[number]
            # During a run what an estimator keeps is of earlier positions: of this one it has no noise.
            state = estimator.init(key_here, places[(number + 1) % len(places)])
            noises.append(measure_noise(key_here, estimator, flat, y, state, self.data))
        return Noise(*np.max(noises, axis=0).tolist())
