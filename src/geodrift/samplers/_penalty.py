"""The penalty of an exchange for the noise of its energies; Ceperley and Dewing (1999)."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

# Of the estimated variance over the number of terms. Above it the terms that are left out, and that a rule
# clipped at 1 takes no such penalty exactly, are felt: see `ReplicaExchange`.
LARGEST_NOISE = 0.25
MOST_NOISY = 0.05  # of the pairs of a run; where more are too noisy it says so


class EnergyNoise(NamedTuple):
    """The noise of differences of energies, of each replica or of all."""

    variance: Float[Array, " replica"] | float
    # How much too large skewed data make a log ratio in effect, for inverse temperatures that differ by 1.
    skewed: Float[Array, " replica"] | float
    terms: int | None  # from how many data it is estimated; None: it is known


def estimated_noise(each: Float[Array, "replica B"], size: int, replacement: bool) -> EnergyNoise:
    r"""Of sums over all N data, each estimated by N times the mean of B of them.

    Where the data are skewed the noise has a third cumulant :math:`\kappa_3`, and a covariance c with the
    estimate of its own variance, which is larger where the energy is. To leading order the log ratio is then
    too large by :math:`\kappa_3 / 6 - c / 2` where exchanges are unlikely for its own sake, and by
    :math:`\kappa_3 / 24 - c / 4` where for that of the penalty: the middle of both is taken. With k
    :math:`= N^3 / B^2` times the data's third central moment, estimated without bias, both are k; drawn
    without replacement, with f = B / N, they are :math:`(1 - f) (1 - 2f) k` and :math:`(1 - f)^2 k`, and the
    variance has the factor 1 - f.

    Args:
        each: What each datum of the batch adds to the difference.
        size: N.
        replacement: Whether a batch may hold a datum twice.
    """
    terms, drawn = each.shape[1], 0.0 if replacement else each.shape[1] / size
    off = each - jnp.mean(each, axis=1, keepdims=True)
    variance = jnp.sum(off**2, axis=1) / (terms - 1)
    # Of two numbers it is 0: they are symmetric about their mean.
    third = jnp.sum(off**3, axis=1) * terms / ((terms - 1) * max(terms - 2, 1))
    left = 1.0 - drawn
    skewed = left * (5 * (1 - 2 * drawn) - 18 * left) / 48 * size**3 / terms**2 * third
    return EnergyNoise(size**2 / terms * left * variance, skewed, terms)


def penalty(variance: Float[Array, "..."], terms: int | None) -> Float[Array, "..."]:
    r"""What is subtracted from a noisy log ratio, so that accepting by it keeps detailed balance.

    Of a known variance half of it, exactly. Of an estimate :math:`s^2` from n terms, with n - 1 degrees of
    freedom, the series of Ceperley and Dewing (1999), J. Chem. Phys. 110, 9812,

    .. math:: s^2 / 2 + s^4 / (4 (n + 1)) + s^6 / (3 (n + 1) (n + 3)) + \dots,

    of minus the logarithm of the unbiased estimate of :math:`e^{-\sigma^2 / 2}`. It goes on unchanged where
    the variance is too large for it: no exchange there would favour one direction more, since it is the small
    estimates that would be left.

    Args:
        variance: Of the log ratio's noise.
        terms: n; None for a variance that is known.
    """
    if terms is None:
        return variance / 2
    return variance / 2 + variance**2 / (4 * (terms + 1)) + variance**3 / (3 * (terms + 1) * (terms + 3))


def too_noisy(variance: Float[Array, "..."], terms: int | None) -> Bool[Array, "..."]:
    """Whether an estimated variance is too large for `penalty`; a known one never is."""
    return variance > (float("inf") if terms is None else LARGEST_NOISE * terms)


def noise_warnings(share: float) -> list[str]:
    """What a run says of its share of pairs that were `too_noisy`; nothing of a few."""
    if share <= MOST_NOISY:
        return []
    return [
        f"the energies of {share:.0%} of the pairs of replicas had a variance above {LARGEST_NOISE:g} times"
        " the size of the batch: exchanges are biased by it, or hardly ever made; take a larger batch, or"
        " temperatures nearer to each other"
    ]
