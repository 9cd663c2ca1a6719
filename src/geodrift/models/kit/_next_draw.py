"""Intervals that hold for the next run, of the weights of words in a component.

A component that several chains have found differs more from chain to chain than the draws within one chain
say, since each chain rests near a mode of its own. The interval of a weight is that of the next draw of the
next chain: the draws' deviations from their chain's mean, and beside them the means' deviation from one
another, whose variance B from C chains gives a t-distributed term of variance (1 + 1 / C) B (the rule of
multiple imputation: Rubin 1987, eq. 3.1.5, for a new chain rather than for the mean).

Both are taken on the scale of directions, the square root of a probability, on which the variance hardly
depends on the mean. B of few chains scatters; it is shrunk towards what is typical of the component's words,
a variance in proportion to the weight, as the moderated variance of Smyth (2004). How far is told by the
words: where some are the same in all chains and others come and go, hardly any B is typical, and each word
has one of its own.
"""

import numpy as np
from jaxtyping import Float
from scipy import special, stats

INTERVAL = (0.05, 0.95)  # ends of the 90% intervals
POOLED_DEGREES = 6.0  # degrees of freedom that the typical B of the words counts for, at most
LEAST_WEIGHT = 1e-3  # squared direction from which on a word counts for what is typical
NEWTON_STEPS = 20  # five are enough for seven digits
_ROUNDING = 1e-12  # a variance over the weight that is none
_GRID = (np.arange(50) + 0.5) / 50  # of the t distribution


def next_draw_intervals(
    directions: Float[np.ndarray, "C N V"], words: np.ndarray, ends: tuple[float, float] = INTERVAL
) -> tuple[Float[np.ndarray, " W"], Float[np.ndarray, " W"]]:
    """Ends of the intervals of some words in the next draw of the next chain, on the scale given.

    Args:
        directions: One component in each draw of the chains that have found it; of one chain the intervals
            are those of its next draw.
        words: Numbers of W words.
        ends: Probabilities below the two ends.
    """
    means = directions.mean(axis=1, dtype=np.float64)
    center, (num_chains, num_draws) = means.mean(axis=0), directions.shape[:2]
    # Of no words nothing says how many rows there are.
    rows = num_chains * num_draws
    within = (directions[:, :, words] - means[:, None, words]).reshape(rows, len(words))
    if num_chains == 1:
        spread = within
    else:
        scale, degrees = _between(means)
        steps = stats.t.ppf(_GRID, degrees)
        spread = (within[:, None] + np.sqrt(1 + 1 / num_chains) * scale[words] * steps[:, None]).reshape(
            rows * len(steps), len(words)
        )
    # The quantiles between which the next draw lies nine times in ten, however few draws there are.
    low, high = np.quantile(spread, ends, axis=0, method="weibull")
    return center[words] + low, center[words] + high


def weight_intervals(
    draws: Float[np.ndarray, "C N V"], words: np.ndarray, *, signed: bool = False, largest: float = 1.0
) -> tuple[Float[np.ndarray, " W"], Float[np.ndarray, " W"]]:
    """The same of weights, which are probabilities, or entries of a unit vector where they have a sign.

    Of few chains that differ much the t distribution reaches beyond what a weight can be: the interval ends
    there, at ``largest``.
    """
    if signed:
        low, high = next_draw_intervals(draws, words)
        return np.maximum(low, -largest), np.minimum(high, largest)
    low, high = next_draw_intervals(np.sqrt(draws), words)
    most = np.sqrt(largest)
    return np.clip(low, 0.0, most) ** 2, np.clip(high, 0.0, most) ** 2


def _between(means: Float[np.ndarray, "C V"]) -> tuple[Float[np.ndarray, " V"], float]:
    """Standard deviation of each word between chains, moderated, and its degrees of freedom."""
    variances, squares = means.var(axis=0, ddof=1), means.mean(axis=0) ** 2
    own, counts = len(means) - 1, squares >= LEAST_WEIGHT
    if not counts.any():  # of a thousand words or more, or sizes of as many components: the larger ones
        counts = (squares > 0) & (squares >= squares.mean())
    if counts.sum() < 2:  # one word says nothing of what is typical, and its B has its own degrees alone
        return np.sqrt(variances), float(own)
    typical, pooled = _typical(variances[counts] / squares[counts], own)
    degrees = own + pooled
    return np.sqrt((own * variances + pooled * typical * squares) / degrees), degrees


def _typical(ratios: Float[np.ndarray, " W"], own: int) -> tuple[float, float]:
    """Typical B over the weight, and the degrees of freedom that it counts for (ibid., section 6.2).

    Logarithms of the ratios scatter by trigamma(own / 2) where words differ between chains by chance alone,
    and by trigamma(d / 2) more where B itself is of a scaled inverse chi-squared law of d degrees of freedom.
    """
    logs = np.log(np.maximum(ratios, _ROUNDING))
    excess = logs.var(ddof=1) - special.polygamma(1, own / 2)
    level = logs.mean() - _mean_log(own)
    if excess <= 0:
        return float(np.exp(level)), POOLED_DEGREES
    degrees = 2 * _inverse_trigamma(excess)
    return float(np.exp(level + _mean_log(degrees))), min(degrees, POOLED_DEGREES)


def _mean_log(degrees: float) -> float:
    """Of a chi-squared variable of so many degrees of freedom, divided by them."""
    return float(special.digamma(degrees / 2) - np.log(degrees / 2))


def _inverse_trigamma(value: float) -> float:
    """Where the trigamma function has a value, by Newton's method on its reciprocal (ibid., appendix)."""
    at = 0.5 + 1 / value
    for _ in range(NEWTON_STEPS):
        trigamma = special.polygamma(1, at)
        at += trigamma * (1 - trigamma / value) / special.polygamma(2, at)
    return float(at)
