"""Rows from the posterior predictive law."""

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int


def sampled_rows(
    number: int,
    draws: Mapping[str, np.ndarray],
    places: Int[np.ndarray, "N P"],
    lengths: Int[np.ndarray, " D"],
    prior: float,
    rng: np.random.Generator,
) -> tuple[sp.csr_matrix, Int[np.ndarray, " n"]]:
    """Rows, each from one of the draws.

    Args:
        number: n, how many.
        draws: ``clusters``, ``cluster_weights`` and ``new_weight``, [draw, ...]; NaN where a draw has no such
            cluster.
        places: For each draw and each place, the number of the draw's cluster.
        lengths: Tokens of rows, of which a new row has one's.
        prior: a_0, of a cluster that has no rows.
        rng: Of the random numbers.

    Returns:
        Counts, [n, V], and the place of each row's cluster, or -1 where it has none.
    """
    clusters = draws["clusters"]
    of_rows, tokens = rng.integers(len(clusters), size=number), rng.choice(lengths, size=number)
    counts = np.zeros((number, clusters.shape[2]), np.int64)
    labels = np.full(number, -1)
    for row, (draw, length) in enumerate(zip(of_rows, tokens, strict=True)):
        weights = np.append(np.nan_to_num(draws["cluster_weights"][draw]), draws["new_weight"][draw])
        cluster = int(rng.choice(len(weights), p=weights.astype(np.float64) / weights.sum(dtype=np.float64)))
        if cluster < clusters.shape[1]:
            words = clusters[draw, cluster].astype(np.float64)
            at = np.flatnonzero(places[draw] == cluster)
            labels[row] = at[0] if len(at) else -1
        else:
            words = rng.dirichlet(np.full(clusters.shape[2], prior))
        counts[row] = rng.multinomial(int(length), words / words.sum())
    return sp.csr_matrix(counts), labels
