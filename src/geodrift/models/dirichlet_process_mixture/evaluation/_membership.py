r"""Membership: the probability that a row belongs to each cluster.

Under a draw the probability of cluster k is :math:`w_k\, p_k(x)` divided by the row's density. A row that was
fitted has had its say in every draw: its posterior probability is the mean over draws, with
:math:`p_k(x)` that of the cluster drawn; of a row that is alone in its cluster see `_lone_rows`. Of a new row
draws count as much as they expect it, by its density under them, and the clusters are integrated out. The
interval is that of the next draw.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float, Int

from geodrift.models.dirichlet_process_mixture.evaluation._log_predictive import (
    PARAMETERS,
    Drawn,
    log_joint_of_rows,
    log_of_new,
)
from geodrift.models.dirichlet_process_mixture.evaluation._lone_rows import LoneRows, Times
from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._content_hashes import content_hashes
from geodrift.models.kit._counts import checked_counts
from geodrift.models.kit._found_draws import draws_found, weighted_summary, with_intervals_of_shared
from geodrift.models.kit._places import spaced, with_rest

TRANSFORM_DRAWS = 50  # that are averaged over, at most
NUMBERS_AT_ONCE = 2**24  # probabilities that are held in memory at once


def membership(
    counts: sp.csr_matrix,
    draws: Drawn,
    prior: float,
    *,
    places: Int[np.ndarray, "N P"],
    found: Bool[np.ndarray, "N P1"],
    others: bool,
    fitted: bool = False,
    lone: LoneRows | None = None,
) -> dict[str, Float[np.ndarray, "D P1"]]:
    """Probabilities of clusters for rows: posterior means and ends of 90% intervals.

    Args:
        counts: Whole numbers, [D, V]; a row without a word has the weights as its probabilities.
        draws: Clusters and their weights.
        prior: a_0.
        places: For each draw and each place, the number of the draw's cluster.
        found: Whether each draw is of a chain that has found the cluster of each column.
        others: Whether a last column has what is left: clusters that are in no place.
        fitted: Whether the rows are those that the draws are from.
        lone: Of such rows, which clusters have one row; None: a row alone is told in its own cluster and in
            the last column.

    Returns:
        ``{"mean", "low", "high"}``, float32; rows of the mean sum to 1 with the last column, if every draw
        has found all clusters.
    """
    counts = checked_counts(counts)
    draws = draws._replace(counts=None) if fitted else draws
    num_columns = places.shape[1] + others
    out = {name: np.empty((counts.shape[0], num_columns), np.float32) for name in ("mean", "low", "high")}
    block = max(1, NUMBERS_AT_ONCE // (2 * len(places) * (draws.clusters.shape[1] + num_columns)))
    for start in range(0, counts.shape[0], block):
        rows = counts[start : start + block]
        each, logs = _under_draws(rows, draws, prior, places, others, lone if fitted else None)
        logs = np.zeros_like(logs) if fitted else logs
        for column in range(num_columns):
            some = found[:, column]
            told = weighted_summary(each[some, :, column], logs[some])
            for name, values in zip(out, told, strict=True):
                out[name][start : start + block, column] = values
    return out


def told_membership(
    counts: sp.csr_matrix,
    stored: Mapping[str, np.ndarray],
    agreed: Agreement,
    prior: float,
    *,
    others: bool,
    fitted: bool,
    lone: LoneRows | None = None,
) -> dict[str, Float[np.ndarray, "D P1"]]:
    """`membership` in the clusters that are told of, under some of the draws, evenly spaced.

    Args:
        counts: See `membership`.
        stored: The stored variables of all draws, [draw, ...].
        agreed: How far the chains agree on these clusters; others have no intervals.
        prior: See `membership`.
        others: See `membership`.
        fitted: See `membership`.
        lone: From `lone_of_told`.
    """
    orders = agreed.orders.reshape(-1, agreed.orders.shape[2])
    chosen = spaced(len(orders), TRANSFORM_DRAWS)
    draws = Drawn.of({name: stored[name][chosen] for name in PARAMETERS if name in stored})
    how: dict[str, Any] = {"places": orders[chosen], "found": draws_found(agreed, chosen, int(others))}
    weights = membership(counts, draws, prior, **how, others=others, fitted=fitted, lone=lone)
    return with_intervals_of_shared(weights, with_rest(agreed) if others else agreed)


def lone_of_told(
    stored: Mapping[str, np.ndarray], agreed: Agreement, number: int, times: Times
) -> LoneRows | None:
    """The clusters of one row in the draws that `told_membership` takes, of an inferred number of clusters.

    Args:
        stored: See `told_membership`.
        agreed: See there.
        number: Rows that were fitted.
        times: See `Times`.

    Returns:
        None where draws do not tell: of methods that do not keep what is in each cluster.
    """
    chosen = spaced(agreed.orders.shape[0] * agreed.orders.shape[1], TRANSFORM_DRAWS)
    if "cluster_counts" not in stored:
        return None
    return LoneRows.of(stored["cluster_counts"][chosen], stored["cluster_sizes"][chosen], number, times)


def _under_draws(
    rows: sp.csr_matrix,
    draws: Drawn,
    prior: float,
    places: Int[np.ndarray, "N P"],
    others: bool,
    lone: LoneRows | None,
) -> tuple[Float[np.ndarray, "N D P1"], Float[np.ndarray, "N D"]]:
    """The probabilities under each draw, float32, and the rows' log densities."""
    under = log_joint_of_rows(rows, prior)
    alone = None if lone is None else (content_hashes(rows), log_of_new(rows, prior))
    found = np.zeros((len(places), rows.shape[0], places.shape[1] + others), np.float32)
    densities = np.empty(found.shape[:2])
    for number, (draw, order) in enumerate(zip(draws.each(), places, strict=True)):
        logs = under(*draw)
        densities[number] = np.logaddexp.reduce(logs, axis=1)
        each = np.exp(logs - densities[number, :, None])
        if lone is not None and alone is not None:
            _, _, weights, new_weight = draw
            lone.put(number, *alone, np.log(weights.astype(np.float64) + new_weight), logs, each)
        found[number, :, : len(order)] = each[:, order]
        if others:
            found[number, :, -1] = np.maximum(0.0, 1.0 - each[:, order].sum(axis=1))
    return found, densities
