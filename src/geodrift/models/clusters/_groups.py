r"""Random groups of clusters: rows of different groups have no cluster in common, and go to processes.

Every cluster has a group, each of G as probable, of its own and independent of all else: with that, the
partition of the rows has the law that it had. Given the groups, a row that stays in the group of its cluster
has clusters of that group alone to go to, and a new one of that group has a G-th of the weight of new ones
(the superclusters of Lovell, Malmaud, Adams and Mansinghka 2013, with weights that are fixed and equal). So
all groups are gone through at once. Given the partition the groups have their prior again: they are drawn
anew at each step, and nothing of them is kept. Where the number of clusters is given, each of them has a
group, with rows or without.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int


class Group(NamedTuple):
    """Clusters of one group, and the rows of a minibatch that are in them.

    Attributes:
        number: Of the group.
        clusters: Their numbers, increasing.
        rows: Places of the rows in the minibatch, increasing.
        work: About the time that the rows take.
    """

    number: int
    clusters: Int[np.ndarray, " K"]
    rows: Int[np.ndarray, " n"]
    work: float


def groups_of(
    of_rows: Int[np.ndarray, " S"],
    present: Int[np.ndarray, " K"],
    of_present: Int[np.ndarray, " K"],
    work: Float[np.ndarray, " S"],
    of_clusters: Callable[[int], float],
) -> list[Group]:
    """The groups that have rows of a minibatch.

    Args:
        of_rows: The group of each row's cluster.
        present: Numbers of the clusters that there are, increasing.
        of_present: The group of each.
        work: Of each row, for one unit of ``of_clusters``.
        of_clusters: What a row costs among so many clusters.
    """
    order, found = np.argsort(of_rows, kind="stable"), []
    numbers, begins = np.unique(of_rows[order], return_index=True)
    for number, begin, end in zip(numbers, begins, [*begins[1:], len(order)], strict=True):
        clusters, own = present[of_present == number], order[begin:end]
        of_group = float(work[own].sum()) * of_clusters(len(clusters))
        found.append(Group(int(number), clusters, own, of_group))
    return found


def shared_out(groups: list[Group], size: int) -> list[int]:
    """The process that has each group: the one with the least work yet, the largest group first."""
    work, of = [0.0] * size, [0] * len(groups)
    for number in sorted(range(len(groups)), key=lambda number: -groups[number].work):
        of[number] = min(range(size), key=lambda rank: work[rank])
        work[of[number]] += groups[number].work
    return of


def numbers_of(
    clusters: Int[np.ndarray, " K"],
    new: Int[np.ndarray, " n"],
    free: Int[np.ndarray, " m"],
    more: Callable[[], Int[np.ndarray, " l"]],
) -> tuple[Int[np.ndarray, " places"], Int[np.ndarray, " left"]]:
    """Numbers among all clusters for the places that clusters have within a group.

    Args:
        clusters: Those that the group had, in the order of their places.
        new: Places of others, which have come since, from the number of ``clusters`` on.
        free: Numbers that no cluster has.
        more: Makes room for more clusters, and returns their numbers.

    Returns:
        The number of each place, -1 where there is no cluster; and what is left of ``free``.
    """
    while len(new) > len(free):
        free = np.append(free, more())
    places = np.append(clusters, np.full(max(0, int(new.max(initial=-1)) + 1 - len(clusters)), -1))
    places[new] = free[: len(new)]
    return places, free[len(new) :]
