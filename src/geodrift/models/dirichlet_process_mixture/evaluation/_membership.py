r"""Membership: the probability that a row belongs to each cluster.

Under a draw the probability of cluster k is :math:`w_k \prod_c \theta_{kc}^{x_c}` divided by the row's
density; the posterior probability is its mean over draws, and the interval that of the next draw's.
"""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float, Int

from geodrift.models.dirichlet_process_mixture.evaluation._log_predictive import (
    log_joint_with_clusters,
    log_of_new,
)
from geodrift.models.kit._counts import checked_counts
from geodrift.models.kit._found_draws import ends_over, mean_over

NUMBERS_AT_ONCE = 2**24  # probabilities that are held in memory at once


def membership(
    counts: sp.csr_matrix,
    draws: tuple[Float[np.ndarray, "N K V"], Float[np.ndarray, "N K"], Float[np.ndarray, " N"]],
    prior: float,
    *,
    places: Int[np.ndarray, "N P"],
    found: Bool[np.ndarray, "N P1"],
    others: bool,
) -> dict[str, Float[np.ndarray, "D P1"]]:
    """Probabilities of clusters for rows: posterior means and ends of 90% intervals.

    Args:
        counts: Whole numbers, [D, V]; a row without a word has the weights as its probabilities.
        draws: Clusters, their weights, and the weight of all clusters without rows; NaN where a draw has no
            such cluster.
        prior: a_0.
        places: For each draw and each place, the number of the draw's cluster.
        found: Whether each draw is of a chain that has found the cluster of each column.
        others: Whether a last column has what is left: clusters that are in no place.

    Returns:
        ``{"mean", "low", "high"}``, float32; rows of the mean sum to 1 with the last column.
    """
    counts = checked_counts(counts)
    num_columns = places.shape[1] + others
    out = {name: np.empty((counts.shape[0], num_columns), np.float32) for name in ("mean", "low", "high")}
    block = max(1, NUMBERS_AT_ONCE // (len(places) * (draws[0].shape[1] + num_columns)))
    for start in range(0, counts.shape[0], block):
        rows = counts[start : start + block]
        each, numbers = _under_draws(rows, draws, prior, places, others), slice(start, start + block)
        out["mean"][numbers] = mean_over(each, found)
        out["low"][numbers], out["high"][numbers] = ends_over(each, found)
    return out


def _under_draws(
    rows: sp.csr_matrix,
    draws: tuple[Float[np.ndarray, "N K V"], Float[np.ndarray, "N K"], Float[np.ndarray, " N"]],
    prior: float,
    places: Int[np.ndarray, "N P"],
    others: bool,
) -> Float[np.ndarray, "N D P1"]:
    """The probabilities under each draw, float32."""
    of_new = log_of_new(rows, prior)
    found = np.zeros((len(places), rows.shape[0], places.shape[1] + others), np.float32)
    for number, order in enumerate(places):
        clusters, weights, new = (values[number] for values in draws)
        logs = log_joint_with_clusters(rows, clusters, np.nan_to_num(weights), float(new), of_new)
        each = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
        found[number, :, : len(order)] = each[:, order]
        if others:
            found[number, :, -1] = np.maximum(0.0, 1.0 - each[:, order].sum(axis=1))
    return found
