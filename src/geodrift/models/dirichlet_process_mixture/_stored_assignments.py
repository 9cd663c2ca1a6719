"""What the estimator answers from the stored clusters of single rows."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.utils.validation import check_is_fitted

from geodrift.models.clusters import coclustering, point_partition
from geodrift.models.clusters._point_partition import LOSSES
from geodrift.models.kit._places import spaced

SEARCHED = 100  # draws, at most, that a partition is sought for


class StoredAssignments:
    """Which rows of `fit` belong together, for an estimator with ``assignment_draws_`` [draw, row]."""

    assignment_draws_: Int[np.ndarray, "N D"] | None

    def coclustering(self, pairs: Any) -> Float[np.ndarray, " pair"]:
        """Posterior probability that the two rows of each pair, [pair, 2], are in one cluster.

        Raises:
            ValueError: Assignments are not stored, or ``pairs`` are not numbers of rows.
        """
        return coclustering(self._stored_assignments(), pairs)

    def point_partition(self, loss: str = LOSSES[0]) -> Int[np.ndarray, " D"]:
        """One partition of the rows of `fit` for all draws, labels from 0, the largest cluster first.

        It is of least expected variation of information (``loss="vi"``) or Binder's loss (``"binder"``)
        under at most 100 draws. ``labels_`` is something else: the most probable cluster of those told of.

        Raises:
            ValueError: Assignments are not stored, or the loss is not known.
        """
        draws = self._stored_assignments()
        return point_partition(draws[spaced(len(draws), SEARCHED)], loss)

    def _stored_assignments(self) -> Int[np.ndarray, "N D"]:
        check_is_fitted(self)
        if self.assignment_draws_ is None:
            raise ValueError(
                "store_assignments is False, so the draws do not hold the clusters of the rows: "
                "fit with store_assignments=True (4 bytes a row and draw)"
            )
        return self.assignment_draws_
