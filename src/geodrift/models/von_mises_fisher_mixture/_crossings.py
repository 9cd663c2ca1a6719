"""A clustering made of two: clusters of either, matched by their directions, refined by spherical k-means.

Clusterings that were found apart are right in different clusters. One that takes each cluster from either by
the throw of a coin often is right in more of them, once rows have moved (Gribel and Vidal 2019, for k-means).
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment

from geodrift.models.von_mises_fisher_mixture._rows import Rows

ROUNDS = 2


def crossed(
    rows: Rows,
    first: Int[np.ndarray, " n"],
    second: Int[np.ndarray, " n"],
    clusters: int,
    rng: np.random.Generator,
) -> Int[np.ndarray, " n"]:
    """The assignments of such a clustering.

    Args:
        rows: That are clustered.
        first: Assignments, below 0 for rows of no cluster.
        second: Those of the other.
        clusters: How many there are in either, some of them perhaps without rows.
        rng: Generator.
    """
    one, other = (centres_of(rows, z, np.zeros((clusters, rows.dim))) for z in (first, second))
    partners = linear_sum_assignment(-(one @ other.T))[1]
    of_first = rng.random(clusters) < 0.5
    return spherical_k_means(rows, np.where(of_first[:, None], one, other[partners]), ROUNDS)


def spherical_k_means(rows: Rows, centres: Float[np.ndarray, "K d"], rounds: int) -> Int[np.ndarray, " n"]:
    """Rows go to the centre of largest cosine, centres to the direction of their rows, so many times."""
    every = np.arange(rows.number)
    z = np.zeros(rows.number, np.int64)
    for _ in range(rounds):
        z = np.argmax(rows.products(every, np.ascontiguousarray(centres.T)), axis=1)
        centres = centres_of(rows, z, centres)
    return z


def centres_of(
    rows: Rows, z: Int[np.ndarray, " n"], before: Float[np.ndarray, "K d"]
) -> Float[np.ndarray, "K d"]:
    """Directions of clusters; of those without rows, what they were."""
    sums = rows.resultants(len(before))
    inside = np.flatnonzero(z >= 0)
    rows.add(inside, z[inside].astype(np.int64), sums)
    found = rows.of_clusters(sums, np.arange(len(before)))
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return np.where(lengths > 0, found / np.maximum(lengths, 1e-300), before)
