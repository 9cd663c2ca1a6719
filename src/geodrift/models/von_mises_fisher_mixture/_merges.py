"""Which two clusters are best joined, for searches over clusterings."""

import numpy as np
from jaxtyping import Float, Int

from geodrift.models.von_mises_fisher_mixture._cluster_score import ClusterScore
from geodrift.models.von_mises_fisher_mixture._collapsed_gibbs import CollapsedGibbs


class Merges:
    """Scores of clusters and of all their pairs joined, kept until a cluster changes.

    A score is an integral over the concentration: to make those of all pairs anew for each step of a search
    would be most of its time.

    Args:
        gibbs: The state, whose clusters change by what `forget` is told of alone.
        score: Of clusters.
    """

    def __init__(self, gibbs: CollapsedGibbs, score: ClusterScore) -> None:
        self.gibbs, self.score = gibbs, score
        room = len(gibbs.kappa)
        self.alone, self.joint = np.full(room, np.nan), np.full((room, room), np.nan)

    def forget(self, clusters: list[int]) -> None:
        """Some clusters have changed."""
        more = len(self.gibbs.kappa) - len(self.alone)
        if more > 0:
            self.alone = np.pad(self.alone, (0, more), constant_values=np.nan)
            self.joint = np.pad(self.joint, (0, more), constant_values=np.nan)
        self.alone[clusters] = np.nan
        self.joint[clusters], self.joint[:, clusters] = np.nan, np.nan

    def best(self, occupied: Int[np.ndarray, " t"]) -> tuple[int, int, float]:
        """The two clusters that gain most, or lose least, when they are joined, and how much."""
        if len(occupied) < 2:
            return -1, -1, -np.inf
        self._complete(occupied)
        one, other = np.triu_indices(len(occupied), 1)
        first, second = occupied[one], occupied[other]
        counts = self.gibbs.sums.counts
        gains = self.joint[first, second] - self.alone[first] - self.alone[second]
        gains += _log_gammas(self.gibbs, counts[first] + counts[second])
        gains -= _log_gammas(self.gibbs, counts[first]) + _log_gammas(self.gibbs, counts[second])
        best = int(np.argmax(gains))
        return int(first[best]), int(second[best]), float(gains[best])

    def _complete(self, occupied: Int[np.ndarray, " t"]) -> None:
        """Make the scores that are not there."""
        sums, missing = self.gibbs.sums, occupied[np.isnan(self.alone[occupied])]
        if len(missing):
            self.alone[missing] = self.score(sums.counts[missing], sums.squares[missing], sums.along[missing])
        one, other = np.triu_indices(len(occupied), 1)
        unknown = np.isnan(self.joint[occupied[one], occupied[other]])
        if not unknown.any():
            return
        one, other = one[unknown], other[unknown]
        first, second = occupied[one], occupied[other]
        whole = self.gibbs.rows.of_clusters(self.gibbs.resultants, occupied)
        products = (whole @ whole.T)[one, other]
        self.joint[first, second] = self.joint[second, first] = self.score(
            sums.counts[first] + sums.counts[second],
            sums.squares[first] + sums.squares[second] + 2 * products,
            sums.along[first] + sums.along[second],
        )


def _log_gammas(gibbs: CollapsedGibbs, counts: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    from scipy.special import gammaln

    return gammaln(counts + gibbs.number.g) - (gammaln(gibbs.number.g + 1) if gibbs.number.g else 0.0)
