r"""Log density of rows under a draw.

.. math:: p(x) = \sum_k w_k\, p_k(x) + w_{new} \frac{\Gamma(V a_0)}{\Gamma(V a_0 + n)}
    \prod_c \frac{\Gamma(a_0 + x_c)}{\Gamma(a_0)}

The last term is the expectation over all clusters that have no rows. Of a cluster that was drawn
:math:`p_k(x) = \prod_c \theta_{kc}^{x_c}`, as in Baker et al. (2018), figure 3b. Where its counts N of words
are known, it is integrated out too,

.. math:: p_k(x) = \frac{\Gamma(V a_0 + N_k)}{\Gamma(V a_0 + N_k + n)}
    \prod_c \frac{\Gamma(a_0 + N_{kc} + x_c)}{\Gamma(a_0 + N_{kc})}:

else a cluster of few tokens would have drawn a probability near 0 for most of the words that it has not seen,
and a new row of the cluster would seem to be one of a cluster that has no rows.

The multinomial coefficient is left out.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int
from scipy.special import gammaln

from geodrift.models.kit._counts import checked_counts

PARAMETERS = "clusters", "cluster_counts", "cluster_weights", "new_weight"  # that are stored of a draw
_LEVELS = 8  # tokens of a word in a row up to which logarithms are added up


class Drawn(NamedTuple):
    """Draws of the clusters and their weights, [draw, ...]; NaN where a draw has no such cluster.

    Attributes:
        clusters: Probabilities of words.
        counts: N, or None where clusters are not drawn given counts.
        weights: Of the clusters.
        new_weight: Of all clusters without rows.
    """

    clusters: Float[np.ndarray, "N K V"]
    counts: Int[np.ndarray, "N K V"] | None
    weights: Float[np.ndarray, "N K"]
    new_weight: Float[np.ndarray, " N"]

    @classmethod
    def of(cls, stored: Mapping[str, np.ndarray]) -> "Drawn":
        """From the stored variables; runs of earlier versions have no counts."""
        counts = stored.get("cluster_counts")
        return cls(stored["clusters"], counts, stored["cluster_weights"], stored["new_weight"])

    def each(self) -> Iterator[tuple]:
        """Clusters, counts, weights (0 where there is no cluster) and the new weight of each draw."""
        counts = [None] * len(self.clusters) if self.counts is None else self.counts
        weights = np.nan_to_num(self.weights)
        yield from zip(self.clusters, counts, weights, map(float, self.new_weight), strict=True)


def log_of_new(rows: sp.csr_matrix, prior: float) -> Float[np.ndarray, " D"]:
    """Log density of each row in a cluster of its own, the cluster integrated out.

    Args:
        rows: Counts, [D, V].
        prior: a_0.
    """
    of_words = rows.astype(np.float64)
    of_words.data = gammaln(prior + of_words.data) - gammaln(prior)
    whole = prior * rows.shape[1]
    lengths = np.asarray(rows.sum(axis=1), np.float64).ravel()
    return np.asarray(of_words.sum(axis=1)).ravel() + gammaln(whole) - gammaln(whole + lengths)


def log_of_counted(
    rows: sp.csr_matrix, counts: Int[np.ndarray, "K V"], prior: float
) -> Float[np.ndarray, "D K"]:
    """Log density of each row in each cluster, given the clusters' counts of words.

    Args:
        rows: Counts, [D, V].
        counts: N.
        prior: a_0.
    """
    whole = prior * rows.shape[1] + counts.sum(axis=1, dtype=np.int64)
    lengths = np.asarray(rows.sum(axis=1), np.float64).reshape(-1, 1)
    found = gammaln(whole) - gammaln(whole + lengths)
    entries = rows.tocoo()
    most = int(entries.data.max(initial=0))
    for level in range(min(most, _LEVELS)):
        # Gamma(s + x) / Gamma(s) = s (s + 1) ... (s + x - 1).
        some = entries.data > level
        words, places = np.unique(entries.col[some], return_inverse=True)
        is_there = (np.ones(len(places)), (entries.row[some], places))
        there = sp.csr_matrix(is_there, (rows.shape[0], len(words)))
        found += there @ np.log(counts[:, words].T + prior + level)
    many = entries.data > _LEVELS
    shapes, numbers = counts[:, entries.col[many]].T + prior, entries.data[many, None]
    np.add.at(found, entries.row[many], gammaln(shapes + numbers) - gammaln(shapes + _LEVELS))
    return found


def log_joint_of_rows(rows: sp.csr_matrix, prior: float) -> Callable[..., Float[np.ndarray, "D K1"]]:
    """A function of what `Drawn.each` has of a draw: the log density of each row and its cluster.

    The last column is a cluster that has no rows; of a cluster whose weight is 0 it is minus infinity.

    Args:
        rows: Counts, [D, V].
        prior: a_0.
    """
    rows = checked_counts(rows)  # a word that stands twice has the Gamma function of its sum
    of_new = log_of_new(rows, prior)

    def under(
        clusters: Float[np.ndarray, "K V"],
        counts: Int[np.ndarray, "K V"] | None,
        weights: Float[np.ndarray, " K"],
        new_weight: float,
    ) -> Float[np.ndarray, "D K1"]:
        logs = np.full((rows.shape[0], len(weights) + 1), -np.inf)
        some = weights > 0
        if counts is None:
            in_clusters = rows.astype(np.float64) @ np.log(clusters[some].astype(np.float64)).T
        else:
            in_clusters = log_of_counted(rows, counts[some], prior)
        logs[:, :-1][:, some] = in_clusters + np.log(weights[some])
        if new_weight > 0:
            logs[:, -1] = np.log(new_weight) + of_new
        return logs

    return under


def log_predictive(
    rows: sp.csr_matrix,
    clusters: Float[np.ndarray, "K V"],
    weights: Float[np.ndarray, " K"],
    new_weight: float,
    prior: float,
) -> Float[np.ndarray, " D"]:
    """Log density of rows under one draw, without their multinomial coefficients.

    Args:
        rows: Counts, [D, V].
        clusters: Probabilities of words, above 0.
        weights: Of the clusters.
        new_weight: Of all other clusters.
        prior: a_0.
    """
    logs = log_joint_of_rows(rows, prior)(clusters, None, weights, new_weight)
    return np.logaddexp.reduce(logs, axis=1)


def under_draws(rows: sp.csr_matrix, draws: Drawn, prior: float) -> Float[np.ndarray, "N D"]:
    """Log density of new rows under each draw.

    Args:
        rows: Counts, [D, V].
        draws: The draws.
        prior: a_0.
    """
    under = log_joint_of_rows(rows, prior)
    return np.stack([np.logaddexp.reduce(under(*draw), axis=1) for draw in draws.each()])


def averaged(logs: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " D"]:
    """Logarithm of the mean over draws of what `under_draws` has the logarithms of."""
    return np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))
