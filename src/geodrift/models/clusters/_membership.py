"""Membership: how probable it is that a row belongs to each cluster of one partition."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from geodrift.models.clusters._labels import checked_assignments, compact, overlaps


def shares_of_reference(
    labels: Int[np.ndarray, " D"], partition: Int[np.ndarray, " D"]
) -> Float[np.ndarray, "A K"]:
    """Which share of each cluster of a draw lies in each cluster of a partition; labels without gaps."""
    counts = overlaps(labels, partition)
    return counts / counts.sum(axis=1, keepdims=True)


def membership(assignments: Any, partition: Any) -> Float[np.ndarray, "D K"]:
    """Probability that each row belongs to each cluster of a partition.

    The clusters of a draw have no names: one of them stands for cluster k of the partition as far as its rows
    do. A row's membership in k is the posterior probability that a row drawn at random from those together
    with it (itself among them) lies in k. It needs no matching of clusters, is the same for any number of
    them, and sums to 1.

    Args:
        assignments: Draws of assignments [draw, row], any labels. A label below 0 is no cluster: such a row
            is together with no other.
        partition: Labels of the rows from 0 without gaps, [row], as `point_partition` returns them.

    Raises:
        ValueError: ``partition`` is not of these rows.
    """
    draws, reference = checked_assignments(assignments), np.asarray(partition)
    if reference.shape != draws.shape[1:] or reference.min() < 0:
        raise ValueError(
            f"partition must have a label from 0 for each of {draws.shape[1]} rows, got shape"
            f" {reference.shape}"
        )
    total = np.zeros((len(reference), int(reference.max()) + 1))
    for draw in draws:
        highest = max(int(draw.max()), 0)
        labels = compact(np.where(draw < 0, highest + 1 + np.arange(len(draw)), draw.astype(np.int64)))
        total += shares_of_reference(labels, reference)[labels]
    return total / len(draws)
