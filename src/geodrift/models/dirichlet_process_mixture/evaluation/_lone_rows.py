r"""Rows that were fitted and are alone in their cluster of a draw: they are known by the cluster's words.

Of a row given the clusters A that others are in, with their weights, their words and the weight
:math:`w_{rest}` of all else,

.. math:: p(z = k \in A) \propto w_k\, p_k(x), \quad p(z \notin A) \propto w_{rest}\, p_{new}(x),

with :math:`p_{new}` that of a cluster without rows. Where the row is alone its own cluster is not in A, and
its weight is part of :math:`w_{rest}`: whatever its words were drawn as, they have been drawn for the row.
"""

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from geodrift.models.kit._content_hashes import content_hashes

Times = Callable[[sp.csr_matrix], Int[np.ndarray, " n"]]
"""How many of the rows that were fitted each of some rows equals."""


class LoneRows(NamedTuple):
    """The clusters of one row in some draws.

    Attributes:
        draws: The draw of each, [n].
        clusters: Its number in the draw, [n].
        hashes: Of the row, [n]; see `content_hashes`.
        alike: How many rows of `fit` equal it, itself among them: each is as probably the one, [n].
    """

    draws: Int[np.ndarray, " n"]
    clusters: Int[np.ndarray, " n"]
    hashes: Int[np.ndarray, " n"]
    alike: Int[np.ndarray, " n"]

    @classmethod
    def of(
        cls, counts: Int[np.ndarray, "N K V"], sizes: Float[np.ndarray, "N K"], number: int, times: Times
    ) -> Self:
        """Of draws.

        Args:
            counts: N, tokens of each word in each cluster.
            sizes: The share of the rows that each has, NaN where there is none.
            number: D, rows that were fitted.
            times: See `Times`.
        """
        draws, clusters = np.nonzero((sizes > 0) & (sizes * number < 1.5))
        words = [sp.csr_matrix(of_draw[clusters[draws == i]]) for i, of_draw in enumerate(counts)]
        rows = sp.csr_matrix(sp.vstack(words))
        return cls(draws, clusters, content_hashes(rows), times(rows))

    def put(
        self,
        draw: int,
        hashes: Int[np.ndarray, " D"],
        of_new: Float[np.ndarray, " D"],
        log_rest: Float[np.ndarray, " K"],
        logs: Float[np.ndarray, "D K1"],
        each: Float[np.ndarray, "D K1"],
    ) -> None:
        """Give rows that may be alone in a draw their probabilities, those of their own cluster in its place.

        Args:
            draw: Its number.
            hashes: Of the rows.
            of_new: Their log densities in a cluster without rows.
            log_rest: Of each cluster the log of its weight and that of all clusters without rows together.
            logs: Log density of each row and its cluster, the last a cluster without rows.
            each: Probabilities under the draw, changed.
        """
        at = np.flatnonzero((self.draws == draw) & (self.alike > 0))
        order, before = np.argsort(hashes), each.copy()
        begins, ends = (np.searchsorted(hashes, self.hashes[at], side, order) for side in ("left", "right"))
        for one in np.flatnonzero(ends > begins):
            same, cluster = order[begins[one] : ends[one]], self.clusters[at[one]]
            own = logs[same]
            own[:, cluster], own[:, -1] = log_rest[cluster] + of_new[same], -np.inf
            p = np.exp(own - np.logaddexp.reduce(own, axis=1)[:, None])
            each[same] += (p - before[same]) / self.alike[at[one]]


def times_among(fitted: Int[np.ndarray, " D"]) -> Times:
    """`Times`, given the hashes of all rows that were fitted."""
    ordered = np.sort(fitted)

    def times(rows: sp.csr_matrix) -> Int[np.ndarray, " n"]:
        hashes = content_hashes(rows)
        return np.searchsorted(ordered, hashes, "right") - np.searchsorted(ordered, hashes, "left")

    return times
