"""One partition of the rows for all draws, where rows may be of no cluster."""

import numpy as np
from jaxtyping import Int

from geodrift.models.clusters import point_partition

SEARCHED = 100  # draws, at most, that the point partition is sought for


def partition_of(
    draws: Int[np.ndarray, "N row"], background: bool, most: int | None = None
) -> Int[np.ndarray, " row"]:
    """The partition of least expected variation of information; -1 for rows that are mostly of no cluster.

    Args:
        draws: Assignments; below 0 is no cluster.
        background: Whether rows may be of none.
        most: Clusters, where their number is given: rows that draws disagree on would make some more.
    """
    some = draws[np.linspace(0, len(draws) - 1, min(SEARCHED, len(draws))).astype(int)]
    if not background:
        return point_partition(some, most=most)
    outside = (draws < 0).mean(axis=0) > 0.5
    labels = np.full(draws.shape[1], -1)
    if not outside.all():
        # A row that is outside in one draw is a cluster of its own there.
        inside = some[:, ~outside].astype(np.int64)
        alone = inside.max() + 1 + np.arange(inside.shape[1])
        labels[~outside] = point_partition(np.where(inside < 0, alone, inside), most=most)
    return labels
