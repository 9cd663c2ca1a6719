r"""Splits and merges of clusters with a Metropolis-Hastings test (Jain and Neal 2004, 2007).

Two rows are drawn at random. Are they in one cluster, its division in two is proposed, else the union of
their two. With the directions and weights integrated out the state is the partition and the concentrations:

* The two rows seed two clusters; the others are assigned to either at random, then by ``SCANS`` restricted
  Gibbs scans at a concentration that is a function of the union alone, and a last scan gives the proposal.
  Its probability is a product of those of the scan's choices. For a merge the same scans run, and the last
  one is made to end in the present division.
* Concentrations of the clusters that come into being are drawn from normal laws of log kappa around the mode
  of their posterior (`_cluster_score`), a function of the rows in them alone.

Unions with more numbers than ``MOST_NUMBERS`` are left alone, in both directions alike. A move costs
SCANS + 1 scans of two clusters, once a pass.
"""

import math

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import gammaln

from geodrift.distributions._compiled import debye_table, log_normaliser_of_square
from geodrift.kernels._blas import one_blas_thread
from geodrift.models.von_mises_fisher_mixture._cluster_score import ClusterScore
from geodrift.models.von_mises_fisher_mixture._collapsed_gibbs import CollapsedGibbs
from geodrift.models.von_mises_fisher_mixture._concentrations import log_target
from geodrift.models.von_mises_fisher_mixture._parameters import Prior
from geodrift.models.von_mises_fisher_mixture._scan_kernel import restricted_scan

SCANS = 4
MOST_NUMBERS = 10_000_000
_WIDER = 1.2  # factor of the scale of a concentration's proposal


class SplitMerge:
    """Proposes one split or merge at a time.

    Args:
        prior: Of concentrations and directions.

    Attributes:
        proposed, accepted: How many there were.
    """

    def __init__(self, prior: Prior) -> None:
        self.prior, self.proposed, self.accepted = prior, 0, 0
        self.table = debye_table(len(prior.r0))
        self.score = ClusterScore(prior, self.table)
        self.r0_square = float(prior.r0 @ prior.r0)

    def propose(self, gibbs: CollapsedGibbs, rng: np.random.Generator) -> None:
        """One move of the state."""
        if gibbs.rows.number < 2:
            return
        first, second = rng.choice(gibbs.rows.number, 2, replace=False)
        a, b = int(gibbs.z[first]), int(gibbs.z[second])
        if a < 0 or b < 0:
            return
        members = np.flatnonzero((gibbs.z == a) | (gibbs.z == b))
        if len(members) * gibbs.rows.dim > MOST_NUMBERS:
            return
        self.proposed += 1
        with one_blas_thread():
            ratio, sides, kappas = self._ratio(gibbs, members, (first, second), (a, b), rng)
        if not math.log(1.0 - rng.random()) < ratio:
            return
        self.accepted += 1
        if a == b:
            if gibbs.sums.counts.min() > 0:
                gibbs.grow()
            free = int(np.flatnonzero(gibbs.sums.counts == 0)[0])
            gibbs.z[members[sides]] = free
            gibbs.set_kappa([a, free], kappas)
            gibbs.rebuild([a, free], members)
        else:
            gibbs.z[members] = a
            gibbs.set_kappa([a], kappas)
            gibbs.rebuild([a, b], members)

    def _ratio(
        self,
        gibbs: CollapsedGibbs,
        members: Int[np.ndarray, " n"],
        seeds: tuple[int, int],
        clusters: tuple[int, int],
        rng: np.random.Generator,
    ) -> tuple[float, Bool[np.ndarray, " n"], list[float]]:
        """Log of the acceptance ratio, the sides of a split, and the new concentrations."""
        x = gibbs.rows.dense(members)
        places = np.searchsorted(members, seeds)
        split = clusters[0] == clusters[1]
        present = gibbs.z[members] == clusters[1]
        sides, log_scan = self._scans(gibbs, x, places, None if split else present, rng)
        apart = [self._statistics(x[~sides]), self._statistics(x[sides])]
        whole = self._statistics(x)
        together = self._log_density([whole], gibbs)
        divided = self._log_density(apart, gibbs)
        t = len(gibbs.occupied)
        log_new = self._log_count(gibbs, t + 1, t) if split else self._log_count(gibbs, t, t - 1)
        if self.prior.shared:
            kappa = float(gibbs.kappa[clusters[0]])
            gain = log_new + sum(f(kappa) for f in divided) - together[0](kappa) - log_scan
            return (gain if split else -gain), sides, [kappa, kappa][: 2 if split else 1]
        old = [float(gibbs.kappa[k]) for k in (clusters[:1] if split else clusters)]
        parts, unions = (None, old) if split else (old, None)
        parts, log_q_parts = self._concentrations(apart, parts, rng)
        unions, log_q_union = self._concentrations([whole], unions, rng)
        gain = log_new - log_scan + log_q_union - log_q_parts
        gain += sum(f(kappa) for f, kappa in zip(divided, parts, strict=True)) - together[0](unions[0])
        return (gain if split else -gain), sides, (parts if split else unions)

    def _scans(
        self,
        gibbs: CollapsedGibbs,
        x: Float[np.ndarray, "n d"],
        places: Int[np.ndarray, " 2"],
        forced: Bool[np.ndarray, " n"] | None,
        rng: np.random.Generator,
    ) -> tuple[Bool[np.ndarray, " n"], float]:
        """The sides of the last scan, and the log of its probability given those before it."""
        sides = (rng.random(len(x)) < 0.5).astype(np.int64)
        sides[places[0]], sides[places[1]] = 0, 1
        kappa = float(gibbs.kappa[0])
        if not self.prior.shared:
            kappa = math.exp(self.score.proposal(*self._statistics(x))[0])
        others = np.delete(np.arange(len(x)), places)
        along, target, log_p = x @ self.prior.r0, np.zeros(0, np.int64), 0.0
        for scan in range(SCANS + 1):
            order, uniforms = rng.permutation(others), rng.random(len(others))
            if scan == SCANS and forced is not None:
                target = forced.astype(np.int64)
            log_p = restricted_scan(
                x, sides, order, uniforms, target, along, kappa, gibbs.number.g, self.r0_square, *self.table
            )
        return sides.astype(bool), float(log_p)

    def _statistics(self, x: Float[np.ndarray, "n d"]) -> tuple[float, float, float]:
        total = x.sum(axis=0)
        return float(len(x)), float(total @ total), float(total @ self.prior.r0)

    def _log_density(self, statistics: list[tuple[float, float, float]], gibbs: CollapsedGibbs) -> list:
        """For each cluster the log density of its rows, its weight and log kappa as a function of kappa."""
        one, g = np.zeros(1, np.int64), gibbs.number.g

        def of(told: tuple[float, float, float]):
            arrays = [np.array([value]) for value in told]
            weight = gammaln(told[0] + g) - (gammaln(g) if g else 0.0)
            constant = self.score.constant + weight

            def density(kappa: float) -> float:
                prior = self.prior.concentration
                value = log_target(  # type: ignore[call-arg]
                    math.log(kappa), one, *arrays, self.r0_square, *map(float, prior), *self.table
                )
                if self.prior.shared:  # the prior of one kappa is there in any case
                    v, p = math.log(kappa), prior.shape
                    of_prior = p * (v - 2 * math.log(kappa + prior.median))
                    return (
                        value - of_prior + weight + log_normaliser_of_square(self.r0_square, *self.table)[0]
                    )
                return value + constant

            return density

        return [of(told) for told in statistics]

    def _log_count(self, gibbs: CollapsedGibbs, more: int, fewer: int) -> float:
        """Log prior of one cluster more, without the terms of its size."""
        number = gibbs.number
        if not number.g:
            return math.log(number.value)
        left = number.value - fewer
        return math.log(left) if left > 0 and more else -math.inf

    def _concentrations(
        self,
        statistics: list[tuple[float, float, float]],
        given: list[float] | None,
        rng: np.random.Generator,
    ) -> tuple[list[float], float]:
        """Concentrations drawn, or those given, and the log density of the proposal at log kappa."""
        found, log_q = [], 0.0
        for i, told in enumerate(statistics):
            mode, scale = self.score.proposal(*told)
            scale *= _WIDER
            v = mode + scale * rng.standard_normal() if given is None else math.log(given[i])
            log_q -= 0.5 * ((v - mode) / scale) ** 2 + math.log(scale) + 0.5 * math.log(2 * math.pi)
            found.append(math.exp(v) if given is None else given[i])
        return found, log_q
