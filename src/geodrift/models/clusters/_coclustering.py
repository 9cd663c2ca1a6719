"""How probable it is that two rows belong together."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from geodrift.models.clusters._labels import checked_assignments


def coclustering(assignments: Any, pairs: Any) -> Float[np.ndarray, " pair"]:
    """Posterior probability that the two rows of each pair are in one cluster.

    It needs no order of the clusters, and is the same for draws of several chains.

    Args:
        assignments: Draws of assignments [draw, row], any labels. A label below 0 is no cluster: such a row
            is together with no other.
        pairs: Numbers of rows, [pair, 2].

    Returns:
        The share of the draws in which they are, [pair].

    Raises:
        ValueError: ``pairs`` are not numbers of rows.
    """
    labels, rows = checked_assignments(assignments), np.asarray(pairs)
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise ValueError(f"pairs must be whole numbers of shape [pair, 2], got {rows.shape} of {rows.dtype}")
    if rows.size and not (rows.min() >= 0 and rows.max() < labels.shape[1]):
        raise ValueError(
            f"pairs must be rows from 0 to {labels.shape[1] - 1}, got {rows.min()} to {rows.max()}"
        )
    together: Int[np.ndarray, " pair"] = np.zeros(len(rows), np.int64)
    for draw in labels:
        first, second = draw[rows[:, 0]], draw[rows[:, 1]]
        together += ((first == second) & (first >= 0)) | (rows[:, 0] == rows[:, 1])
    return together / len(labels)
