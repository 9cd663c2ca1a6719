"""Rows that are redrawn among the clusters of one group at a time, by processes that share the groups.

See `models.clusters._groups` for why that is exact. A new cluster of a group has alpha / G in the place of
its number of rows.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Int

from geodrift.distributed import Team
from geodrift.kernels._vector_draw import padded
from geodrift.models.clusters._groups import Group, groups_of, numbers_of, shared_out
from geodrift.models.dirichlet_process_mixture._rows import Rows
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._cluster_table import ClusterTable
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._kernel import move_rows


def groups_of_rows(
    rows: Rows, assignments: Int[np.ndarray, " D"], present: Int[np.ndarray, " K"], of: Int[np.ndarray, " K"]
) -> list[Group]:
    """The groups of a minibatch, each of whose rows has a cluster.

    Args:
        rows: The minibatch.
        assignments: Of all rows.
        present: Numbers of the clusters that there are, increasing.
        of: The group of each.
    """
    of_rows = of[np.searchsorted(present, assignments[rows.numbers])]
    tokens = np.concatenate([[0], np.cumsum(rows.counts, dtype=np.int64)])[rows.indptr]
    work = 1.0 + np.diff(tokens)
    return groups_of(of_rows, present, of, work, lambda number: float(padded(number + 1)))


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
        groups: See `groups_of_rows`.
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
        number, free = numbers_of(group.clusters, new, free, clusters.make_more_room)
        after[group.rows] = number[found]
    assignments[rows.numbers] = after
    move_rows(*rows[1:], before, after, clusters.table, clusters.tokens, clusters.numbers)
