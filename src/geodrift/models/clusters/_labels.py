"""Draws of assignments with labels from 0 without gaps."""

from typing import Any

import numpy as np
from jaxtyping import Int

AUTO = "auto"  # in the place of a number of clusters: it is inferred


def checked_assignments(assignments: Any) -> Int[np.ndarray, "N D"]:
    """Draws of assignments, [draw, row], as an array of whole numbers.

    Raises:
        ValueError: It is something else.
    """
    values = np.asarray(assignments)
    if values.ndim != 2 or values.dtype.kind not in "iu" or not values.size:
        raise ValueError(
            "assignments must be whole numbers of shape [draw, row], at least one of each, got shape "
            f"{values.shape} of {values.dtype}"
        )
    return values


def compact(labels: Int[np.ndarray, " D"]) -> Int[np.ndarray, " D"]:
    """The labels of one draw as 0, 1, ... without gaps, in the order of the labels."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def overlaps(first: Int[np.ndarray, " D"], second: Int[np.ndarray, " D"]) -> Int[np.ndarray, "A B"]:
    """How many rows each pair of clusters of two partitions shares; labels from 0 without gaps."""
    shape = int(first.max()) + 1, int(second.max()) + 1
    return np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1]).reshape(shape)
