"""Topics that a chain begins at in place of its own, and what fills them up to the number of the model."""

import numpy as np
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment

from geodrift.models.kit._alignment import Directions

SUM_TOLERANCE = 1e-3  # of topics that are probabilities


def check_given(topics: Float[np.ndarray, "J V"], num_topics: int) -> None:
    """Raise ValueError where there are more topics than the model has, or they hold what is no weight."""
    if len(topics) > num_topics:
        raise ValueError(
            f"there are {len(topics)} topics to start from and n_topics is {num_topics}: ask for as many, or"
            " more"
        )
    if not np.isfinite(topics).all() or not (np.abs(topics).sum(axis=1) > 0).all():
        raise ValueError("topics to start from must be finite, and each must have a word with weight")


def are_probabilities(topics: Float[np.ndarray, "J V"]) -> bool:
    """Whether rows are probabilities; otherwise they are directions of unit vectors."""
    sums = topics.sum(axis=1, dtype=np.float64)
    return bool(topics.min() >= 0 and (np.abs(sums - 1.0) <= SUM_TOLERANCE).all())


def as_probabilities(topics: Float[np.ndarray, "J V"]) -> Float[np.ndarray, "J V"]:
    """Rows of sum 1; of unit vectors the positive entries, all words alike where there is none."""
    positive = np.maximum(topics.astype(np.float64), 0.0)
    positive[positive.sum(axis=1) <= 0] = 1.0
    return positive / positive.sum(axis=1, keepdims=True)


def filled_up(
    given: Float[np.ndarray, "J V"], found: Float[np.ndarray, "K V"], directions: Directions
) -> Float[np.ndarray, "K V"]:
    """The topics given, and those found that are left when each given one has taken the one most like it.

    Args:
        given: At most K.
        found: K topics, the largest first.
        directions: Function from topics to unit vectors.
    """
    _, taken = linear_sum_assignment(-(directions(given) @ directions(found).T))
    left = np.setdiff1d(np.arange(len(found)), taken)
    return np.concatenate([given, found[left]])
