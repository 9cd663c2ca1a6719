"""Intervals of a positive number that every draw has, such as a parameter of a prior.

Chains that have one law (R-hat) give the quantiles of all their draws. Chains that rest in different modes do
not: there the interval is that of the next draw of the next chain, the draws' deviations from their chain's
mean and a t-distributed term of variance (1 + 1 / C) B beside them (see `_next_draw`; one number has no
others by which B could be moderated). Both on the logarithmic scale.
"""

import numpy as np
from jaxtyping import Float
from scipy import stats

from geodrift import diagnostics
from geodrift.models.kit._next_draw import INTERVAL
from geodrift.models.kit._verdict import LEAST_DRAWS, SAME

_GRID = (np.arange(50) + 0.5) / 50  # of the t distribution


def number_interval(draws: Float[np.ndarray, "C N"]) -> dict[str, float]:
    """``mean`` of all draws, and the ends ``low`` and ``high`` of a 90% interval.

    Args:
        draws: Of each chain, above 0.
    """
    logs, chains = np.log(np.asarray(draws, np.float64)), len(draws)
    spread = logs.ravel()
    if chains > 1 and not _one_law(logs):
        means = logs.mean(axis=1)
        scale = np.sqrt((1 + 1 / chains) * means.var(ddof=1))
        steps = scale * stats.t.ppf(_GRID, chains - 1)
        spread = (means.mean() + (logs - means[:, None]).reshape(-1, 1) + steps).ravel()
    # The quantiles between which the next draw lies nine times in ten, however few draws there are.
    low, high = np.exp(np.quantile(spread, INTERVAL, method="weibull"))
    return {"mean": float(np.mean(draws)), "low": float(low), "high": float(high)}


def _one_law(logs: Float[np.ndarray, "C N"]) -> bool:
    if logs.shape[1] < LEAST_DRAWS or np.ptp(logs) == 0:
        return True
    return float(diagnostics.rhat(logs)) <= SAME
