r"""Rows that are redrawn among the clusters of one group at a time: what threads and processes can share.

Every cluster has a group, each as probable, of its own and independent of all else: with that, alpha is the
same and the partition of the rows has the law that it had. Given the groups, a row that stays in the group of
its cluster has clusters of that group alone to go to,

.. math:: p(z_i = k \mid \text{rest}, g_{z_i} = g) \propto m_k f_k(x_i) \quad (g_k = g), \qquad
    \frac{\alpha}{G} f_0(x_i) \quad \text{for a new cluster of group } g

(the superclusters of Lovell, Malmaud, Adams and Mansinghka 2013, with weights that are fixed and equal). Rows
of different groups then have no cluster in common, and all groups are gone through at once. The groups are
drawn anew at each step, given the partition from their prior again, so that nothing of them is kept. Where
the number of clusters is given, each of them has a group, and no weight changes.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from geodrift.distributed import Team
from geodrift.kernels._vector_draw import padded
from geodrift.models.dirichlet_process_mixture._rows import Rows
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._cluster_table import ClusterTable
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._kernel import move_rows


class Group(NamedTuple):
    """Clusters of one group, and the rows of a minibatch that are in them.

    Attributes:
        clusters: Their numbers, increasing.
        rows: Places of the rows in the minibatch, increasing.
        work: About the time that the rows take.
    """

    clusters: Int[np.ndarray, " K"]
    rows: Int[np.ndarray, " n"]
    work: float


def groups_of(
    rows: Rows, assignments: Int[np.ndarray, " D"], present: Int[np.ndarray, " K"], of: Int[np.ndarray, " K"]
) -> list[Group]:
    """The groups that have rows of a minibatch.

    Args:
        rows: The minibatch; each of its rows has a cluster.
        assignments: Of all rows.
        present: Numbers of the clusters that there are.
        of: The group of each.
    """
    group_of_cluster = np.full(int(present.max(initial=-1)) + 1, -1)
    group_of_cluster[present] = of
    of_rows = group_of_cluster[assignments[rows.numbers]]
    order, found = np.argsort(of_rows, kind="stable"), []
    sizes = np.concatenate([[0], np.cumsum(rows.counts, dtype=np.int64)])[rows.indptr]
    for number in np.unique(of_rows):
        clusters = present[of == number]
        begin, end = np.searchsorted(of_rows[order], [number, number + 1])
        own = order[begin:end]
        tokens = float((sizes[own + 1] - sizes[own]).sum())
        found.append(Group(clusters, own, (tokens + len(own)) * padded(len(clusters) + 1)))
    return found


def shared_out(groups: list[Group], size: int) -> list[int]:
    """The process that has each group: the one with the least work yet, the largest group first."""
    work, of = [0.0] * size, [0] * len(groups)
    for number in sorted(range(len(groups)), key=lambda number: -groups[number].work):
        of[number] = min(range(size), key=lambda rank: work[rank])
        work[of[number]] += groups[number].work
    return of


def rows_at(rows: Rows, places: Int[np.ndarray, " n"]) -> Rows:
    """Some rows of a minibatch."""
    lengths = rows.indptr[places + 1] - rows.indptr[places]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    entries = np.repeat(rows.indptr[places] - indptr[:-1], lengths) + np.arange(indptr[-1])
    return Rows(rows.numbers[places], indptr, rows.words[entries], rows.counts[entries])


def seat_in_groups(
    team: Team,
    rows: Rows,
    groups: list[Group],
    clusters: ClusterTable,
    assignments: Int[np.ndarray, " D"],
    seat: Callable[[ClusterTable, Rows, int], None],
) -> None:
    """Redraw the clusters of a minibatch, group by group; assignments and counts are changed in place.

    A process draws the rows of some groups, tells the others, and all of them move the rows.

    Args:
        team: The processes.
        rows: The minibatch.
        groups: See `groups_of`.
        clusters: Of all rows.
        assignments: Of all rows.
        seat: Draws rows among the clusters of a table, of which so many were there before.
    """
    ranks, before = shared_out(groups, team.size), assignments[rows.numbers].astype(np.int64)
    mine, place = [np.zeros(0, np.int32)], np.zeros(len(clusters.numbers), np.int32)
    for group in (group for rank, group in zip(ranks, groups, strict=True) if rank == team.rank):
        some = rows_at(rows, group.rows)
        place[group.clusters] = np.arange(len(group.clusters))
        assignments[some.numbers] = place[assignments[some.numbers]]
        part = clusters.part(group.clusters, len(group.clusters) + 1)
        seat(part, some, len(group.clusters))
        mine.append(assignments[some.numbers])
    lengths = [0] * team.size
    for rank, group in zip(ranks, groups, strict=True):
        lengths[rank] += len(group.rows)
    parts = team.gather(np.concatenate(mine), lengths)
    after, free = before.copy(), np.flatnonzero(clusters.numbers == 0)
    for rank, group in zip(ranks, groups, strict=True):
        found, parts[rank] = np.split(parts[rank], [len(group.rows)])
        new = np.unique(found[found >= len(group.clusters)])
        while len(new) > len(free):
            had = len(clusters.numbers)
            clusters.make_more_room()
            free = np.append(free, np.arange(had, len(clusters.numbers)))
        number = np.append(group.clusters, np.full(int(new.max(initial=-1)) + 1, -1))
        number[new], free = free[: len(new)], free[len(new) :]
        after[group.rows] = number[found]
    assignments[rows.numbers] = after
    move_rows(*rows[1:], before, after, clusters.table, clusters.tokens, clusters.numbers)
