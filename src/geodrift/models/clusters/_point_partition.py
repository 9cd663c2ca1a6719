r"""One partition for many draws: the one of least expected distance from them.

With n_i+ and n_+j the sizes of the clusters of two partitions of D rows and n_ij what they share,

.. math:: \mathrm{VI} = \frac{1}{D}\Big[\sum_i n_{i+} \log n_{i+} + \sum_j n_{+j} \log n_{+j}
    - 2 \sum_{ij} n_{ij} \log n_{ij}\Big], \qquad
    \mathrm{Binder} = \frac{1}{D^2}\Big[\sum_i n_{i+}^2 + \sum_j n_{+j}^2 - 2 \sum_{ij} n_{ij}^2\Big]

(Meila 2007; Binder 1978, in the form of Wade and Ghahramani 2018). Both are sums of one function f of sizes
and of shared sizes, x log x or x^2, so that moving a row changes three of its values in each draw. The
search is greedy, in the manner of SALSO (Dahl, Johnson and Mueller 2022): rows in a random order, each to
the cluster, or to one of its own, in which the expected distance is least, until none moves; then pairs of
clusters are joined where that is better. It starts from the draws that are best themselves and from
sequential allocations, so that what it returns is no worse than the best draw.
"""

from typing import Any

import numba
import numpy as np
from jaxtyping import Float, Int

from geodrift._whole import whole
from geodrift.kernels._streams import PARTITION_SEARCH
from geodrift.models.clusters._labels import checked_assignments, compact, overlaps

LOSSES = ("vi", "binder")
_RUNS, _ALLOCATIONS = 3, 8  # starts from draws, and from sequential allocations
_SWEEPS = 20


def point_partition(
    assignments: Any, loss: str = "vi", *, most: int | None = None, seed: int = 0
) -> Int[np.ndarray, " D"]:
    """The partition of least expected variation of information, or Binder's loss, under the draws.

    Args:
        assignments: Draws of assignments [draw, row], any labels. Those below 0 are labels as any others:
            leave rows of no cluster out, or give each a label of its own.
        loss: ``"vi"`` or ``"binder"``.
        most: Largest number of clusters; None: twice what the draws have at most.
        seed: Of the order of the rows.

    Returns:
        Labels from 0, the largest cluster first, [row].

    Raises:
        ValueError: The loss is not known, or ``most`` or ``seed`` is no whole number, or below 1 or 0.
    """
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    labels = np.stack([compact(draw) for draw in checked_assignments(assignments)])
    sizes = labels.max(axis=1) + 1
    most = min(2 * int(sizes.max()), labels.shape[1]) if most is None else whole("most", most)
    values = _values(labels.shape[1], loss)
    distances = [expected_distance(labels, draw, loss) for draw in labels]
    starts = [labels[i] for i in np.argsort(distances)[:_RUNS] if sizes[i] <= most]
    rng = PARTITION_SEARCH.generator(seed)
    starts += [_allocated(labels, most, values, rng) for _ in range(_ALLOCATIONS)]
    found = [_searched(labels, start, most, values, rng) for start in starts]
    best = min(found, key=lambda partition: expected_distance(labels, partition, loss))
    order = np.argsort(-np.bincount(best), kind="stable")
    return np.argsort(order)[best]


def expected_distance(draws: Int[np.ndarray, "N D"], partition: Int[np.ndarray, " D"], loss: str) -> float:
    """Mean distance of a partition from the draws; labels from 0 without gaps. VI in nats."""
    values = _values(draws.shape[1], loss)
    own = values[np.bincount(partition)].sum()
    total = 0.0
    for draw in draws:
        shared = overlaps(draw, partition)
        total += values[shared.sum(axis=1)].sum() + own - 2 * values[shared].sum()
    scale = draws.shape[1] if loss == "vi" else draws.shape[1] ** 2
    return float(total / len(draws) / scale)


def _values(rows: int, loss: str) -> Float[np.ndarray, " sizes"]:
    """F of 0 to ``rows``."""
    sizes = np.arange(rows + 1, dtype=float)
    return sizes**2 if loss == "binder" else sizes * np.log(np.maximum(sizes, 1))


def _searched(
    draws: Int[np.ndarray, "N D"],
    start: Int[np.ndarray, " D"],
    most: int,
    values: Float[np.ndarray, " sizes"],
    rng: np.random.Generator,
) -> Int[np.ndarray, " D"]:
    """The end of a greedy search."""
    partition = start.copy()
    for _ in range(_SWEEPS):
        moved = _sweep(draws, partition, most, values, rng.permutation(len(partition)))
        partition = compact(partition)
        joined = _joined(draws, partition, values)
        if not moved and joined is None:
            break
        partition = partition if joined is None else joined
    return partition


def _allocated(
    draws: Int[np.ndarray, "N D"], most: int, values: Float[np.ndarray, " sizes"], rng: np.random.Generator
) -> Int[np.ndarray, " D"]:
    """Rows in a random order, each put where it is best beside those that were before it."""
    partition = np.full(draws.shape[1], -1)
    tables = np.zeros((len(draws), int(draws.max()) + 1, most), np.int64)
    order = rng.permutation(len(partition))
    _sweep_kernel(draws, partition, tables, np.zeros(most, np.int64), values, order)
    return compact(partition)


def _tables(draws: Int[np.ndarray, "N D"], partition: Int[np.ndarray, " D"], most: int) -> np.ndarray:
    tables = np.zeros((len(draws), int(draws.max()) + 1, most), np.int64)
    for table, draw in zip(tables, draws, strict=True):
        shared = overlaps(draw, partition)
        table[: shared.shape[0], : shared.shape[1]] = shared
    return tables


def _sweep(
    draws: Int[np.ndarray, "N D"],
    partition: Int[np.ndarray, " D"],
    most: int,
    values: Float[np.ndarray, " sizes"],
    order: Int[np.ndarray, " D"],
) -> int:
    """Move each row to where it is best; returns how many moved."""
    most = max(most, int(partition.max()) + 1)
    sizes = np.bincount(partition, minlength=most)
    return _sweep_kernel(draws, partition, _tables(draws, partition, most), sizes, values, order)


@numba.njit(cache=True)
def _sweep_kernel(draws, partition, tables, sizes, values, order):
    number, most = len(draws), len(sizes)
    moved = 0
    change = np.empty(most)
    for row in order:
        old = partition[row]
        if old >= 0:
            sizes[old] -= 1
            for n in range(number):
                tables[n, draws[n, row], old] -= 1
        best, empty_seen = -1, False
        for k in range(most):
            if sizes[k] == 0:
                # Empty clusters are all alike.
                if empty_seen:
                    continue
                empty_seen = True
            change[k] = number * (values[sizes[k] + 1] - values[sizes[k]])
            for n in range(number):
                shared = tables[n, draws[n, row], k]
                change[k] -= 2.0 * (values[shared + 1] - values[shared])
            if best < 0 or change[k] < change[best] - 1e-9:
                best = k
        if old >= 0:
            alone = sizes[old] == 0
            if (alone and sizes[best] == 0) or (not alone and change[old] <= change[best] + 1e-9):
                best = old
        sizes[best] += 1
        for n in range(number):
            tables[n, draws[n, row], best] += 1
        moved += int(best != old)
        partition[row] = best
    return moved


def _joined(
    draws: Int[np.ndarray, "N D"], partition: Int[np.ndarray, " D"], values: Float[np.ndarray, " sizes"]
) -> Int[np.ndarray, " D"] | None:
    """The partition with the best pair of clusters joined, or None where joining is no better."""
    clusters = int(partition.max()) + 1
    if clusters == 1:
        return None
    largest, sizes = len(values) - 1, np.bincount(partition)  # a cluster joined with itself may be larger

    def gain(parts: Int[np.ndarray, " K"]) -> Float[np.ndarray, "K K"]:
        together = values[np.minimum(parts[:, None] + parts, largest)]
        return together - values[parts][:, None] - values[parts]

    change = len(draws) * gain(sizes)
    for draw in draws:
        shared = overlaps(draw, partition)
        for row in shared:
            there = np.flatnonzero(row)
            change[np.ix_(there, there)] -= 2 * gain(row[there])
    np.fill_diagonal(change, np.inf)
    first, second = np.unravel_index(np.argmin(change), change.shape)
    if change[first, second] >= -1e-9:
        return None
    return compact(np.where(partition == second, first, partition))
