"""Intervals of a positive number that every draw has, such as a parameter of a prior.

The interval is that of the next draw of the next chain, as those of the components: the draws' deviations
from their chain's mean, and a t-distributed term of variance (1 + 1 / C) B beside them, with B the variance
of the C chains' means (see `_next_draw`). It holds for chains that rest in different modes, and for chains
of one law that are too short to have gone through it. One number has no others by which B could be
moderated: it has C - 1 degrees of freedom, and two chains give a wide interval. All of it is on the
logarithmic scale.
"""

import numpy as np
from jaxtyping import Float
from scipy import stats

from geodrift.models.kit._next_draw import INTERVAL

_GRID = (np.arange(50) + 0.5) / 50  # of the t distribution


def number_interval(draws: Float[np.ndarray, "C N"]) -> dict[str, float]:
    """``mean`` of all draws, and the ends ``low`` and ``high`` of a 90% interval.

    Args:
        draws: Of each chain, above 0; of one chain the interval is that of its next draw.
    """
    logs, chains = np.log(np.asarray(draws, np.float64)), len(draws)
    means, steps = logs.mean(axis=1), np.zeros(1)
    if chains > 1:
        steps = np.sqrt((1 + 1 / chains) * means.var(ddof=1)) * stats.t.ppf(_GRID, chains - 1)
    spread = means.mean() + (logs - means[:, None]).reshape(-1, 1) + steps
    # The quantiles between which the next draw lies nine times in ten, however few draws there are.
    low, high = np.exp(np.quantile(spread, INTERVAL, method="weibull"))
    return {"mean": float(np.mean(draws)), "low": float(low), "high": float(high)}
