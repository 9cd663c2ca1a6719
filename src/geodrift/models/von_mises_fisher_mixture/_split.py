"""The best division of a cluster in two that a few rounds of 2-means find."""

import numpy as np
from jaxtyping import Bool, Float, Int

from geodrift.models.von_mises_fisher_mixture._cluster_score import ClusterScore
from geodrift.models.von_mises_fisher_mixture._rows import Rows

_POWER_ROUNDS, _ROUNDS = 10, 8


def best_split(
    rows: Rows,
    members: Int[np.ndarray, " n"],
    score: ClusterScore,
    r0: Float[np.ndarray, " d"],
    rng: np.random.Generator,
) -> tuple[float, tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]]:
    """How much a cluster gains by a division, and the division.

    It starts from the sign of the leading principal component: where two clusters are taken for one, the rows
    vary most along the difference of their directions.

    Args:
        rows: All rows.
        members: Those of the cluster.
        score: Of clusters.
        r0: Of the directions' prior.
        rng: Generator.

    Returns:
        The gain, minus infinity where there is no division; the members, and which of them to take out.
    """
    nothing = np.zeros(len(members), bool)
    if len(members) < 2:
        return -np.inf, (members, nothing)
    part, every = rows.part(members), np.arange(len(members))
    total = part.weighted_sum(np.ones(len(members)))
    apart = _first_sides(part, total, rng)
    for _ in range(_ROUNDS):
        if not 0 < apart.sum() < len(members):
            return -np.inf, (members, nothing)
        other = part.weighted_sum(apart.astype(float))
        sums = np.stack([total - other, other])
        centres = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-300)
        cosines = part.products(every, np.ascontiguousarray(centres.T))
        now = cosines[:, 1] > cosines[:, 0]
        if (now == apart).all():
            break
        apart = now
    if not 0 < apart.sum() < len(members):
        return -np.inf, (members, nothing)
    other = part.weighted_sum(apart.astype(float))
    sums = np.stack([total, total - other, other])
    counts = np.array([len(members), (~apart).sum(), apart.sum()])
    whole, *parts = score(counts, (sums**2).sum(axis=1), sums @ r0)
    from scipy.special import gammaln

    of_weights = gammaln(counts[1:]).sum() - gammaln(counts[0])
    return float(sum(parts) - whole + of_weights), (members, apart)


def _first_sides(
    part: Rows, total: Float[np.ndarray, " d"], rng: np.random.Generator
) -> Bool[np.ndarray, " n"]:
    """Which rows have a positive leading principal component; by power iteration."""
    every = np.arange(part.number)
    mean = total / part.number
    axis = rng.standard_normal(part.dim)
    for _ in range(_POWER_ROUNDS):
        axis = axis / np.linalg.norm(axis)
        heights = part.products(every, axis[:, None])[:, 0] - mean @ axis
        axis = part.weighted_sum(heights) - heights.sum() * mean
        if not np.linalg.norm(axis) > 0:
            return every % 2 == 1
    return heights > 0
