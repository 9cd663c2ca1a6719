"""The posterior of the number of clusters, small ones left out."""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from geodrift.models.clusters._labels import checked_assignments
from geodrift.models.kit._allowed import Share
from geodrift.models.kit._number_interval import number_interval


class ClusterCount(NamedTuple):
    """The law of the number of clusters above a size.

    Attributes:
        share: Of the rows, above which a cluster is counted.
        values: The numbers that occur in the draws, increasing.
        probabilities: Of each.
        low: 5% quantile: the least number with at least that probability at or below it. Of several chains
            not above the end of the interval that holds the next draw of another chain.
        high: 95% quantile, and not below that interval's other end.
        draws: The number in each draw, of one chain after the other.
    """

    share: float
    values: Int[np.ndarray, " v"]
    probabilities: Float[np.ndarray, " v"]
    low: int
    high: int
    draws: Int[np.ndarray, " N"]


def cluster_count(assignments: Any, share: float = 0.01) -> ClusterCount:
    """The posterior of the number of clusters that have more than a share of the rows.

    A Dirichlet process has clusters of a few rows in almost every draw, whose number says little: it is the
    number above a size that the data tell.

    Args:
        assignments: Draws of assignments [draw, row], any labels; below 0 is no cluster. Of several chains
            [chain, draw, row]: where they differ, the interval is as wide as another chain may lie.
        share: Of the rows, from 0 to below 1. With 0 every cluster counts.

    Raises:
        ValueError: ``share`` is outside its range.
    """
    values, chains = np.asarray(assignments), 1
    if values.ndim == 3:
        chains, values = len(values), values.reshape(math.prod(values.shape[:2]), values.shape[2])
    labels = checked_assignments(values)
    if not Share().holds(share):
        raise ValueError(f"share must be {Share.text}, got {share!r}")
    found = []
    for draw in labels:
        _, sizes = np.unique(draw[draw >= 0], return_counts=True)
        found.append(int((sizes > share * labels.shape[1]).sum()))
    return law_of_count(np.array(found).reshape(chains, -1), share)


def law_of_count(numbers: Int[np.ndarray, "C N"], share: float) -> ClusterCount:
    """The law of the number of clusters above a share of the rows, of the number in each draw of each chain.

    A number of clusters moves slowly: what chains differ by is in the interval, as in that of a component.
    """
    draws = numbers.ravel()
    values, counts = np.unique(draws, return_counts=True)
    low, high = np.quantile(draws, [0.05, 0.95], method="inverted_cdf")
    if len(numbers) > 1:
        # On a logarithmic scale, on which none is half of one.
        told = number_interval(np.maximum(numbers, 0.5))
        low, high = min(low, math.floor(told["low"] + 0.5)), max(high, math.ceil(told["high"] - 0.5))
    return ClusterCount(share, values, counts / len(draws), int(low), int(high), draws)
