"""Rows that are redrawn among the clusters of one group at a time, by processes that share the groups.

See `models.clusters._groups` for why that is exact. Of K components those without rows have groups too, and a
group's new clusters have the weight of its own; of a Dirichlet process they have alpha / G. The background
has a group as a cluster has. A group's sums are made by one process, in its order, and told to the others as
they are: nobody adds them up again, so no bit depends on the number of processes.
"""

import copy
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from geodrift.distributed import Team
from geodrift.distributions import host_log_normaliser
from geodrift.kernels._stream_kinds import Family
from geodrift.models.clusters._groups import Group, groups_of, numbers_of, shared_out
from geodrift.models.von_mises_fisher_mixture._collapsed_gibbs import SPARE, CollapsedGibbs
from geodrift.models.von_mises_fisher_mixture._conditional import BACKGROUND, KEPT, Law, Sums
from geodrift.models.von_mises_fisher_mixture._rows import BLOCK

CARRIED = ("counts", "squares", "along", "kappa", "log_c_kappa")  # of the sums of a cluster


class Redrawn(NamedTuple):
    """One group after its rows were redrawn.

    Attributes:
        moved: Rows that have another cluster than before.
        background: Rows of the background, which count where the background is of this group.
        z: Place of each row's cluster in the group, or `BACKGROUND`.
        sums: Of each place, the numbers `CARRIED` and the sum of its rows, [K, 5 + d].
    """

    moved: int
    background: int
    z: Int[np.ndarray, " n"]
    sums: Float[np.ndarray, "K columns"]


class RowsInGroups:
    """Redraws rows by groups of clusters.

    Args:
        number: G.
        team: The processes.
        rng: Generator of the groups.
    """

    def __init__(self, number: int, team: Team, rng: np.random.Generator) -> None:
        self.number, self.team, self.rng = number, team, rng

    def __call__(
        self,
        gibbs: CollapsedGibbs,
        numbers: Int[np.ndarray, " S"],
        assigned: Family,
        rng: np.random.Generator,
    ) -> int:
        """Redraw the clusters of some rows; see `CollapsedGibbs.step`."""
        fresh = gibbs.fresh(rng, len(numbers))
        present = np.arange(len(gibbs.kappa)) if gibbs.fixed else gibbs.occupied
        of = self.rng.integers(self.number, size=len(present))
        others = np.zeros(self.number, np.int64)
        if gibbs.number.g and not gibbs.fixed:
            without = int(gibbs.number.value) - len(present)
            others = self.rng.multinomial(without, np.full(self.number, 1 / self.number))
        of_background = int(self.rng.integers(self.number))
        z = gibbs.z[numbers]
        of_rows = np.full(len(numbers), of_background)
        of_rows[z != BACKGROUND] = of[np.searchsorted(present, z[z != BACKGROUND])]
        work = np.full(len(numbers), gibbs.rows.entries)
        groups = groups_of(of_rows, present, of, work, lambda size: float(size + BLOCK))
        ranks, sent = shared_out(groups, self.team.size), [np.zeros(0)]
        for rank, group in zip(ranks, groups, strict=True):
            if rank == self.team.rank:
                a0 = gibbs.prior.a0 if group.number == of_background else 0.0
                law = gibbs.law(*self._new(gibbs, len(group.clusters) + int(others[group.number])), a0)
                sent.append(_as_numbers(_redrawn(gibbs, numbers, fresh, assigned, group, law)))
        told = [np.frombuffer(part) for part in self.team.share(np.concatenate(sent).tobytes())]
        return _take(gibbs, numbers, groups, ranks, told, of_background)

    def _new(self, gibbs: CollapsedGibbs, components: int) -> tuple[float, float]:
        """The weight of new clusters of a group that has so many components, as in `Law`."""
        g = gibbs.number.g
        return (components * g, -g) if g else (gibbs.number.value / self.number, 0.0)


def _part(gibbs: CollapsedGibbs, clusters: Int[np.ndarray, " K"], room: int) -> CollapsedGibbs:
    """A copy of some clusters, in the order given, with room for more; assignments are shared."""
    found, rows, zeros = copy.copy(gibbs), gibbs.rows, np.zeros((3, room))
    found.kappa = np.full(room, gibbs.kappa[0] if gibbs.prior.shared else 1.0)
    found.resultants = rows.resultants(room)
    rows.put(found.resultants, np.arange(len(clusters)), rows.of_clusters(gibbs.resultants, clusters))
    log_c, counts = host_log_normaliser(rows.dim, found.kappa), np.zeros(room, np.int64)
    kept, background = np.zeros((room, KEPT)), gibbs.sums.background.copy()
    found.sums = Sums(counts, zeros[0], zeros[1], found.kappa, log_c, kept, background)
    for name in CARRIED:
        getattr(found.sums, name)[: len(clusters)] = getattr(gibbs.sums, name)[clusters]
    return found


def _redrawn(
    gibbs: CollapsedGibbs,
    numbers: Int[np.ndarray, " S"],
    fresh: Float[np.ndarray, " S"],
    assigned: Family,
    group: Group,
    law: Law,
) -> Redrawn:
    """Redraw the rows of one group, which are left with places in the group for clusters."""
    size = len(group.clusters)
    part = _part(gibbs, group.clusters, size if gibbs.fixed else size + SPARE)
    rows, place = numbers[group.rows], np.zeros(len(gibbs.kappa) + 1, np.int32)
    place[group.clusters], place[BACKGROUND] = np.arange(size), BACKGROUND
    gibbs.z[rows] = place[gibbs.z[rows]]
    moved = part.redraw(rows, law, fresh[group.rows], assigned)
    kept = max(size, int(part.occupied.max(initial=-1)) + 1)
    columns = [getattr(part.sums, name)[:kept].astype(float) for name in CARRIED]
    resultants = part.rows.of_clusters(part.resultants, np.arange(kept))
    sums = np.column_stack([*columns, resultants])
    return Redrawn(moved, int(part.sums.background[0]), gibbs.z[rows], sums)


def _as_numbers(found: Redrawn) -> Float[np.ndarray, " n"]:
    """What a process tells of a group."""
    head = [float(found.moved), float(found.background), float(len(found.sums))]
    return np.concatenate([head, found.z.astype(float), found.sums.ravel()])


def _as_redrawn(
    told: Float[np.ndarray, " n"], rows: int, dim: int
) -> tuple[Redrawn, Float[np.ndarray, " m"]]:
    """A group of so many rows that was told of, and what was told after it."""
    moved, background, size = (int(value) for value in told[:3])
    columns = len(CARRIED) + dim
    ends = 3 + rows, 3 + rows + size * columns
    sums = told[ends[0] : ends[1]].reshape(size, columns)
    return Redrawn(moved, background, told[3 : ends[0]].astype(np.int32), sums), told[ends[1] :]


def _take(
    gibbs: CollapsedGibbs,
    numbers: Int[np.ndarray, " S"],
    groups: list[Group],
    ranks: list[int],
    told: list[np.ndarray],
    of_background: int,
) -> int:
    """Take over all groups; returns how many rows have moved."""
    total, free = 0, np.flatnonzero(gibbs.sums.counts == 0)

    def more() -> Int[np.ndarray, " n"]:
        had = len(gibbs.kappa)
        gibbs.grow()
        return np.arange(had, len(gibbs.kappa))

    for rank, group in zip(ranks, groups, strict=True):
        found, told[rank] = _as_redrawn(told[rank], len(group.rows), gibbs.rows.dim)
        size = len(group.clusters)
        new = size + np.flatnonzero(found.sums[size:, 0])
        place, free = numbers_of(group.clusters, new, free, more)
        kept = np.flatnonzero(place >= 0)
        clusters, values = place[kept], found.sums[kept]
        for column, name in enumerate(CARRIED):
            getattr(gibbs.sums, name)[clusters] = values[:, column]
        gibbs.rows.put(gibbs.resultants, clusters, values[:, len(CARRIED) :])
        gibbs.z[numbers[group.rows]] = np.append(place, BACKGROUND)[found.z]
        if group.number == of_background:
            gibbs.sums.background[0] = found.background
        total += found.moved
    return total
