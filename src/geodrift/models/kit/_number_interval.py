"""Intervals of a positive number that every draw has, such as a parameter of a prior or a number of clusters.

The interval is that of the next draw of the next chain, as those of the components (see `_next_draw`): of
W, the variance within chains, and (1 + 1 / C) B beside it, with B the variance of the C chains' means. It
holds for chains that rest in different modes, and for chains of one law that are too short to have gone
through it. One number has no others by which B could be moderated: the sum has the degrees of freedom of
Welch and Satterthwaite, C - 1 where B is most of it, so two chains that differ give a wide interval. To
either side, the draws' distance from their chain's mean and that of the mean add as squares: the interval is
as skew as the draws, and as wide as the chains lie apart where each stands still. All of it is on the
logarithmic scale.
"""

import numpy as np
from jaxtyping import Float
from scipy import stats

from geodrift.models.kit._next_draw import INTERVAL


def number_interval(draws: Float[np.ndarray, "C N"]) -> dict[str, float]:
    """``mean`` of all draws, and the ends ``low`` and ``high`` of a 90% interval.

    Args:
        draws: Of each chain, above 0; of one chain the interval is that of its next draw.
    """
    logs = np.log(np.asarray(draws, np.float64))
    chains, length = logs.shape
    means = logs.mean(axis=1)
    # The quantiles between which the next draw lies nine times in ten, however few draws there are.
    ends = np.quantile(logs - means[:, None], INTERVAL, method="weibull")
    center, within = means.mean(), float(((logs - means[:, None]) ** 2).sum()) / (chains * max(length - 1, 1))
    between = (1 + 1 / chains) * float(means.var(ddof=1)) if chains > 1 else 0.0
    if between > 0:
        whole = within + between
        degrees = whole**2 / (between**2 / (chains - 1) + within**2 / (chains * max(length - 1, 1)))
        normal = stats.norm.ppf(INTERVAL[1])
        sides = np.sqrt(ends**2 + normal**2 * between) * stats.t.ppf(INTERVAL[1], degrees) / normal
        ends = np.array([-1.0, 1.0]) * sides
    low, high = np.exp(center + ends)
    return {"mean": float(np.mean(draws)), "low": float(low), "high": float(high)}
