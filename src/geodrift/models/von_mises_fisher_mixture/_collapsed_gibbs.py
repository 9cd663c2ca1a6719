"""Collapsed Gibbs sampling by minibatches: every row's cluster is kept between its visits.

A step redraws the clusters of some rows given those of all others (`_assignment_kernel`), then all
concentrations (`_concentrations`), then the number of components or alpha (`_cluster_number`). Directions and
weights are integrated out and drawn for a draw that is stored. Each part leaves the posterior as it is, and
so does the step, whichever rows it takes: its cost does not depend on the number of rows.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from geodrift.distributions import host_log_normaliser
from geodrift.distributions._compiled import debye_table
from geodrift.distributions._host_sample import host_sample
from geodrift.kernels._blas import one_blas_thread
from geodrift.kernels._stream_kinds import Family
from geodrift.models.von_mises_fisher_mixture._cluster_number import ClusterNumber, Components
from geodrift.models.von_mises_fisher_mixture._concentrations import draw_concentrations
from geodrift.models.von_mises_fisher_mixture._conditional import KEPT, Law, Sums
from geodrift.models.von_mises_fisher_mixture._held_resultants import HeldResultants
from geodrift.models.von_mises_fisher_mixture._log_joint import log_joint
from geodrift.models.von_mises_fisher_mixture._parameters import Parameters, Prior
from geodrift.models.von_mises_fisher_mixture._rows import AT_ONCE, BLOCK, SPARSE_BLOCK, Rows

TRANSITIONS = 2  # of the slice sampler at a step
SPARE = max(BLOCK, SPARSE_BLOCK)  # room for new clusters


class CollapsedGibbs(HeldResultants):
    """The state, and the steps.

    Args:
        rows: The data.
        number: Prior of the number of clusters, with its state.
        prior: The other priors.
        z: Assignments to begin with, `BACKGROUND` or from 0, [N].
        kappa: Concentrations to begin with, [M]; of clusters without rows they are not read.
    """

    def __init__(
        self,
        rows: Rows,
        number: ClusterNumber,
        prior: Prior,
        z: Int[np.ndarray, " N"],
        kappa: Float[np.ndarray, " M"],
    ) -> None:
        self.rows, self.number, self.prior = rows, number, prior
        self.table = debye_table(rows.dim)
        self.r0_square = float(prior.r0 @ prior.r0)
        self.z = np.array(z, np.int32)
        self.fixed = type(number) is Components
        most = int(self.z.max(initial=0)) + 1
        room = int(number.value) if self.fixed else most + SPARE
        if room < most:
            raise ValueError(f"assignments name {most} clusters, there are {room}")
        self.kappa = np.ones(room)
        self.kappa[: min(room, len(kappa))] = kappa[:room]
        self.moved = 0
        self.recompute()

    def recompute(self) -> None:
        """Everything that follows from assignments and concentrations, anew: sums drift by rounding."""
        room = len(self.kappa)
        self.resultants = self.rows.resultants(room)
        for start in range(0, self.rows.number, AT_ONCE):
            numbers = np.arange(start, min(start + AT_ONCE, self.rows.number))
            self.rows.add(numbers, self.z[numbers].astype(np.int64), self.resultants)
        inside = self.z[self.z >= 0]
        counts = np.bincount(inside, minlength=room).astype(np.int64)
        background = np.array([len(self.z) - len(inside)], np.int64)
        if background[0] and not self.prior.a0:
            raise ValueError("assignments name the background, and there is none")
        self.sums = Sums(
            counts,
            self.rows.squares(self.resultants),
            self._along(),
            self.kappa,
            host_log_normaliser(self.rows.dim, self.kappa),
            np.zeros((room, KEPT)),
            background,
        )

    def resume(self, arrays: dict[str, np.ndarray]) -> None:
        """Sums as they were, with the rounding that they had: see `Chain.state`."""
        room, old = len(arrays["kappa"]), len(self.kappa)
        if room != old:
            self.kappa = np.array(arrays["kappa"])
            self.recompute()
        self.resultants = np.array(arrays["resultants"])
        for name in ("squares", "along", "log_c_kappa"):
            getattr(self.sums, name)[:] = arrays[name]
        self.kappa[:] = arrays["kappa"]

    def rebuild(self, clusters: list[int], members: Int[np.ndarray, " n"]) -> None:
        """The sums of some clusters anew.

        Args:
            clusters: Some of which may have no rows now.
            members: All of their rows.
        """
        self.rows.clear(self.resultants, clusters)
        self.rows.add(members, self.z[members].astype(np.int64), self.resultants)
        sums, found = self.sums, self.rows.of_clusters(self.resultants, np.array(clusters))
        sums.counts[clusters] = [int((self.z[members] == k).sum()) for k in clusters]
        sums.squares[clusters] = np.einsum("kd,kd->k", found, found)
        sums.along[clusters] = found @ self.prior.r0
        sums.log_c_kappa[clusters] = host_log_normaliser(self.rows.dim, self.kappa[clusters])

    def set_kappa(self, clusters: list[int], values: list[float]) -> None:
        """Give clusters their concentrations."""
        if not self.prior.shared:
            self.kappa[clusters] = values

    @property
    def occupied(self) -> Int[np.ndarray, " t"]:
        """Clusters that have rows."""
        return np.flatnonzero(self.sums.counts)

    def step(
        self,
        numbers: Int[np.ndarray, " S"],
        assigned: Family,
        moved: Family,
        rng: np.random.Generator,
        otherwise: Callable[["CollapsedGibbs", np.ndarray, Family, np.random.Generator], int] | None = None,
    ) -> None:
        """Redraw the clusters of some rows, then everything else.

        Args:
            numbers: The rows, none of them twice.
            assigned: Streams of the assignments, whose items are rows.
            moved: Streams of the concentrations, whose items are clusters.
            rng: Generator of the rest.
            otherwise: Redraws the rows by groups of clusters (`RowsInGroups`) or all at once
                (`RowsOnDevice`); None: one after the other among all clusters.
        """
        self.moved = (otherwise or CollapsedGibbs.one_by_one)(self, numbers, assigned, rng)
        self._draw_concentrations(moved)
        inside = int(self.sums.counts.sum() + self.sums.background[0])
        self.number.update(rng, len(self.occupied), inside, self.prior.a0)

    def one_by_one(self, numbers: Int[np.ndarray, " S"], assigned: Family, rng: np.random.Generator) -> int:
        """Redraw the clusters of some rows among all clusters; returns how many have moved."""
        law = self.law(*self.number.new, self.prior.a0)
        return self.redraw(numbers, law, self.fresh(rng, len(numbers)), assigned)

    def fresh(self, rng: np.random.Generator, number: int) -> Float[np.ndarray, " number"]:
        """Concentrations of new clusters."""
        if self.prior.shared:
            return np.full(number, self.kappa[0])
        return self.prior.concentration.draws(rng, number)

    def free(self, number: int) -> Int[np.ndarray, " number"]:
        """The first numbers that no cluster has."""
        while len(self.sums.counts) - len(self.occupied) < number:
            self.grow()
        return np.flatnonzero(self.sums.counts == 0)[:number]

    def law(self, first: float, each: float, a0: float) -> Law:
        """What the law of assignments reads, with these weights of new clusters and of the background."""
        return Law(self.number.g, first, each, a0, self.r0_square, self.prior.shared, *self.table)

    def redraw(
        self, numbers: Int[np.ndarray, " S"], law: Law, fresh: Float[np.ndarray, " S"], assigned: Family
    ) -> int:
        """Redraw the clusters of some rows one after the other; returns how many have moved.

        Args:
            numbers: The rows.
            law: See `law`.
            fresh: Concentrations for new clusters.
            assigned: Streams, whose items are rows.
        """
        done = moved = 0
        while done < len(numbers):
            some, r0 = numbers[done:], self.prior.r0
            with one_blas_thread():
                drawn, went = self.rows.redraw(
                    some, self.z, self.sums, self.resultants, law, r0, fresh[done:], assigned
                )
            done, moved = done + drawn, moved + went
            if done < len(numbers):
                self.grow()
        return moved

    def parameters(self, rng: np.random.Generator) -> Parameters:
        """A draw of weights and directions given the assignments, with the concentrations.

        Of the weight of clusters without rows it is the mean: a new row may be far from all others, and its
        density would rest on the few draws in which there is such a cluster.
        """
        labels = np.arange(len(self.kappa)) if self.fixed else self.occupied
        counts, kappa = self.sums.counts[labels].astype(float), self.kappa[labels].copy()
        empty = counts == 0
        if not self.prior.shared:
            kappa[empty] = self.prior.concentration.draws(rng, int(empty.sum()))
        first, each = self.number.new
        rest = 0.0 if self.fixed else first + each * len(labels)
        shapes = [*(counts + self.number.g), self.prior.a0 + self.sums.background[0], rest]
        gammas = rng.standard_gamma(np.maximum(shapes, 0.0))
        shares = gammas / gammas.sum()
        resultants = kappa[:, None] * self.rows.of_clusters(self.resultants, labels) + self.prior.r0
        directions, background = host_sample(rng, resultants), float(shares[-2])
        occupied, a0 = len(labels), self.prior.a0
        others = 0.0 if self.fixed else self.number.expected_others(occupied, self.rows.number, a0)
        return Parameters(labels, shares[:-2], directions, resultants, kappa, background, others)

    def log_joint(self) -> float:
        """Log density of rows, assignments and concentrations, but for constants of the priors."""
        return log_joint(self.sums, self.number, self.prior, self.rows.number, self.rows.dim)

    def _draw_concentrations(self, streams: Family) -> None:
        sums, prior = self.sums, self.prior
        draw_concentrations(  # type: ignore[call-arg]
            self.kappa, sums.log_c_kappa, sums.counts, sums.squares, sums.along, self.r0_square, prior.shared,
            TRANSITIONS, self.rows.dim, *map(float, prior.concentration), *self.table, streams.word,
        )  # fmt: skip

    def _along(self) -> Float[np.ndarray, " M"]:
        if not self.r0_square:
            return np.zeros(len(self.kappa))
        return self.rows.of_clusters(self.resultants, np.arange(len(self.kappa))) @ self.prior.r0

    def grow(self) -> None:
        """Make room for more clusters."""
        old = len(self.kappa)
        room = 2 * old + SPARE
        self.resultants = self.rows.grown(self.resultants, room)
        value = self.kappa[0] if self.prior.shared else 1.0
        self.kappa = np.concatenate([self.kappa, np.full(room - old, value)])
        sums = self.sums

        def longer(values: np.ndarray) -> np.ndarray:
            return np.concatenate([values, np.zeros((room - old, *values.shape[1:]), values.dtype)])

        self.sums = Sums(
            longer(sums.counts),
            longer(sums.squares),
            longer(sums.along),
            self.kappa,
            host_log_normaliser(self.rows.dim, self.kappa),
            longer(sums.kept),
            sums.background,
        )
