"""The penalty of an exchange for the noise of its energies; Ceperley and Dewing (1999)."""

from jaxtyping import Array, Bool, Float

# Of the estimated variance over the number of terms. Above it the terms that are left out, and that a rule
# clipped at 1 takes no such penalty exactly, are felt: see `ReplicaExchange`.
LARGEST_NOISE = 0.25
MOST_NOISY = 0.05  # of the pairs of a run; where more are too noisy it says so


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
