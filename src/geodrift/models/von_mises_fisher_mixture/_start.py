"""Where a chain starts: clusters found in a sample of the rows.

1. Seeds in the manner of k-means++ by the cosine, and a few rounds of spherical k-means.
2. Rounds of the collapsed Gibbs sampler on the sample, each followed by a search over splits and merges that
   compares clusterings by the density of the rows with directions, and concentrations unless all clusters
   share one, integrated out (`_cluster_score`). With K given a split needs a merge; else each is taken where
   it gains.
3. With K given, 1 and 2 several times; unless three of these are equally good, clusterings made of two that
   were found before (`_crossings`), to which 2 is done again, until a few in a row are no better.
4. All other rows go where they fit best.

All of it is before the first step: the law of the draws does not depend on it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from geodrift.kernels._blas import one_blas_thread
from geodrift.kernels._streams import VMF_START_ASSIGNMENTS, VMF_START_CONCENTRATIONS
from geodrift.models.von_mises_fisher_mixture._cluster_number import ClusterNumber, Components
from geodrift.models.von_mises_fisher_mixture._cluster_score import ClusterScore
from geodrift.models.von_mises_fisher_mixture._collapsed_gibbs import CollapsedGibbs
from geodrift.models.von_mises_fisher_mixture._crossings import crossed, spherical_k_means
from geodrift.models.von_mises_fisher_mixture._merges import Merges
from geodrift.models.von_mises_fisher_mixture._parameters import Prior
from geodrift.models.von_mises_fisher_mixture._rows import AT_ONCE, Rows
from geodrift.models.von_mises_fisher_mixture._split import best_split

NUMBERS = 2e7  # of a sample, at most
LEAST_ROWS, ROWS_OF_AUTO, ROWS_PER_CLUSTER = 6_000, 20_000, 100
FIRST_CLUSTERS = 30  # where their number is not given
ROUNDS, SWEEPS = 12, 4
K_MEANS_ROUNDS = 8
# With K given: clusterings that are found from seeds, and of two others; fewer where one takes long.
SEEDED, CROSSED, PATIENCE = 5, 12, 5
AGREE = 3  # that score alike, to what the sweeps change a score by: there is nothing better to be found
PRODUCTS = 6e8  # of all rows' numbers with K clusters' in all clusterings, at one round


class Found(NamedTuple):
    """A clustering of the sample: its log joint density, assignments, concentrations."""

    score: float
    z: Int[np.ndarray, " n"]
    kappa: Float[np.ndarray, " M"]


class Start:
    """A search for clusters.

    Args:
        rows: All rows.
        number: Prior of the number of clusters.
        prior: The other priors.
        names: (seed, chain), which name the random streams.
        rng: Generator of the rest.
    """

    def __init__(
        self,
        rows: Rows,
        number: ClusterNumber,
        prior: Prior,
        names: tuple[int, int],
        rng: np.random.Generator,
    ) -> None:
        self.rows, self.number, self.prior, self.names, self.rng = rows, number, prior, names, rng
        self.fixed = type(number) is Components
        self.most = int(getattr(number, "most", rows.number))
        self.clusters = int(number.value) if self.fixed else min(FIRST_CLUSTERS, self.most)
        self.passes = 0

    def found(self) -> tuple[Int[np.ndarray, " N"], Float[np.ndarray, " M"]]:
        """Assignments of all rows, and concentrations."""
        with one_blas_thread():
            return self._found()

    def _found(self) -> tuple[Int[np.ndarray, " N"], Float[np.ndarray, " M"]]:
        wanted = max(LEAST_ROWS if self.fixed else ROWS_OF_AUTO, ROWS_PER_CLUSTER * self.clusters)
        size = int(min(self.rows.number, wanted, max(NUMBERS / self.rows.entries, LEAST_ROWS)))
        sample = np.sort(self.rng.permutation(self.rows.number)[:size])
        part = self.rows.part(sample)
        best = self._best(part)
        if size == self.rows.number:
            return best.z, best.kappa
        return self._all_rows(CollapsedGibbs(part, self.number, self.prior, best.z, best.kappa)), best.kappa

    def _best(self, part: Rows) -> Found:
        """The best of several clusterings."""
        clusters = min(self.clusters, part.number)
        affordable = int(PRODUCTS / (part.number * part.entries * clusters)) if self.fixed else 1
        seeded = min(max(affordable // 3, 1), SEEDED)
        found: list[Found] = []
        for _ in range(seeded):
            found.append(self._improved(part, k_means(part, clusters, self.rng)))
            found.sort(key=lambda one: -one.score)
            alike = min(AGREE, seeded)
            if len(found) >= alike and found[0].score - found[alike - 1].score < 0.5 * part.number**0.5:
                return found[0]
        in_vain = 0
        for _ in range(min(affordable - seeded, CROSSED) if seeded > 1 else 0):
            one, other = self.rng.choice(seeded, 2, replace=False)
            z = crossed(part, found[one].z, found[other].z, self.clusters, self.rng)
            child, before = self._improved(part, z), found[0].score
            if child.score > found[-1].score:
                found[-1] = child
                found.sort(key=lambda one: -one.score)
            in_vain = 0 if found[0].score > before else in_vain + 1
            if in_vain == PATIENCE:
                break
        return found[0]

    def _improved(self, part: Rows, z: Int[np.ndarray, " n"]) -> Found:
        """Sweeps, splits and merges from one clustering."""
        kappa = np.full(int(z.max()) + 1, self.prior.concentration.median)
        gibbs = CollapsedGibbs(part, self.number, self.prior, z, kappa)
        score = ClusterScore(self.prior, gibbs.table)
        # From far away a slice is wide.
        sums = gibbs.sums
        for k in gibbs.occupied:
            gibbs.kappa[k] = np.exp(score.proposal(sums.counts[k], sums.squares[k], sums.along[k])[0])
        if self.prior.shared:
            gibbs.kappa[:] = np.median(gibbs.kappa[gibbs.occupied])
        gibbs.recompute()
        best, in_vain = -np.inf, 0
        for _ in range(ROUNDS):
            self._sweep(gibbs, SWEEPS)
            now = gibbs.log_joint()
            in_vain = 0 if now > best else in_vain + 1
            best = max(best, now)
            if in_vain == 2 or not self._searched(gibbs, score):
                break
        self._sweep(gibbs, SWEEPS)
        return Found(gibbs.log_joint(), gibbs.z.copy(), gibbs.kappa.copy())

    def _sweep(self, gibbs: CollapsedGibbs, sweeps: int) -> None:
        for _ in range(sweeps):
            order, self.passes = self.rng.permutation(gibbs.rows.number), self.passes + 1
            seed, chain = self.names
            gibbs.step(
                order,
                VMF_START_ASSIGNMENTS.family(seed, chain, self.passes),
                VMF_START_CONCENTRATIONS.family(seed, chain, self.passes),
                self.rng,
            )

    def _searched(self, gibbs: CollapsedGibbs, score: ClusterScore) -> bool:
        """Split and merge clusters where that fits better; returns whether anything changed."""
        changed = False
        if self.prior.shared:
            score = score.at(float(gibbs.kappa[0]))
        splits: dict[int, tuple[float, np.ndarray]] = {}
        merges = Merges(gibbs, score)
        for _ in range(3 * self.clusters):
            occupied = gibbs.occupied
            for k in occupied:
                if k not in splits:
                    members = np.flatnonzero(gibbs.z == k)
                    splits[k] = best_split(gibbs.rows, members, score, gibbs.prior.r0, self.rng)
            first, second, merge_gain = merges.best(occupied)
            candidates = [k for k in occupied if k not in (first, second)] if self.fixed else list(occupied)
            if self.fixed and len(occupied) < self.number.value:
                candidates = list(occupied)
            split = max(candidates, key=lambda k: splits[k][0], default=-1)
            split_gain = splits[split][0] + self._log_new() if split >= 0 else -np.inf
            merge_gain -= self._log_new()
            if self.fixed and len(occupied) == self.number.value:
                if first < 0 or split_gain + merge_gain <= 0:
                    break
                merges.forget(self._merge(gibbs, first, second, splits))
                merges.forget(self._split(gibbs, int(split), splits))
            elif split_gain > max(0.0, merge_gain) and len(occupied) < self.most:
                merges.forget(self._split(gibbs, int(split), splits))
            elif not self.fixed and merge_gain > 0:
                merges.forget(self._merge(gibbs, first, second, splits))
            else:
                break
            changed = True
        return changed

    def _log_new(self) -> float:
        """Log weight of a cluster more, about."""
        return float(np.log(self.number.g or self.number.value))

    def _merge(self, gibbs: CollapsedGibbs, first: int, second: int, splits: dict) -> list[int]:
        """Join two clusters; returns those that changed."""
        gibbs.z[gibbs.z == second] = first
        for k in (first, second):
            splits.pop(k, None)
        gibbs.rebuild([first, second], np.flatnonzero(gibbs.z == first))
        return [first, second]

    def _split(self, gibbs: CollapsedGibbs, k: int, splits: dict) -> list[int]:
        """Divide a cluster; returns those that changed."""
        members, apart = splits[k][1]
        if gibbs.sums.counts.min() > 0:
            gibbs.grow()
        free = int(np.flatnonzero(gibbs.sums.counts == 0)[0])
        gibbs.z[members[apart]] = free
        if not gibbs.prior.shared:
            gibbs.kappa[free] = gibbs.kappa[k]
        del splits[k]
        gibbs.rebuild([k, free], members)
        return [k, free]

    def _all_rows(self, gibbs: CollapsedGibbs) -> Int[np.ndarray, " N"]:
        """Every row where it fits best."""
        t = gibbs.occupied
        sums = gibbs.kappa[t][:, None] * self.rows.of_clusters(gibbs.resultants, t) + self.prior.r0
        directions = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-300)
        heights = np.log(gibbs.sums.counts[t] + gibbs.number.g) + gibbs.sums.log_c_kappa[t]
        z = np.empty(self.rows.number, np.int32)
        for start in range(0, self.rows.number, AT_ONCE):
            numbers = np.arange(start, min(start + AT_ONCE, self.rows.number))
            cosines = self.rows.products(numbers, np.ascontiguousarray(directions.T))
            z[numbers] = t[np.argmax(heights + gibbs.kappa[t] * cosines, axis=1)]
        return z


def k_means(rows: Rows, clusters: int, rng: np.random.Generator) -> Int[np.ndarray, " n"]:
    """Spherical k-means from seeds drawn by their distances (Arthur and Vassilvitskii 2007)."""
    every = np.arange(rows.number)
    seeds = [int(rng.integers(rows.number))]
    nearest = np.full(rows.number, -1.0)
    for _ in range(clusters - 1):
        last = rows.dense(np.array(seeds[-1:]))
        nearest = np.maximum(nearest, rows.products(every, np.ascontiguousarray(last.T))[:, 0])
        gaps = np.cumsum(np.maximum(1 - nearest, 0))
        if gaps[-1] <= 1e-12:
            break  # fewer different rows than clusters
        seeds.append(int(np.searchsorted(gaps, rng.random() * gaps[-1])))
    z = spherical_k_means(rows, rows.dense(np.array(seeds)), K_MEANS_ROUNDS)
    return np.unique(z, return_inverse=True)[1]
