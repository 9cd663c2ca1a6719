"""Probabilities of the clusters of one partition, for rows that were fitted and for new ones.

A draw's cluster stands for cluster k of the partition as far as its rows lie there: see
`geodrift.models.clusters.membership`. A row that was fitted is among them, whichever cluster it is in. Of a
new row draws count as much as they expect it: by its density under them.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from geodrift.kernels._blas import one_blas_thread
from geodrift.models.von_mises_fisher_mixture._known_rows import KnownRows
from geodrift.models.von_mises_fisher_mixture._own_rows import Seats
from geodrift.models.von_mises_fisher_mixture._parameters import Prior
from geodrift.models.von_mises_fisher_mixture._predict import Draw, batches
from geodrift.models.von_mises_fisher_mixture._rows import Rows
from geodrift.models.von_mises_fisher_mixture._settings import Settings


class Posterior(NamedTuple):
    """Some draws, and the rows that they are of.

    Attributes:
        draws: Of the parameters.
        seats: The clusters of the rows in each.
        known: The rows; None: all that are asked for are new.
    """

    draws: list[Draw]
    seats: list[Seats]
    known: KnownRows | None

    @classmethod
    def of(
        cls,
        stored: Mapping[str, Any],
        settings: Settings,
        known: KnownRows | None,
        prior: Prior | None = None,
        indices: Iterable[tuple[int, ...]] | None = None,
    ) -> "Posterior":
        """Of stored variables, [chain, draw, ...].

        Args:
            stored: By name.
            settings: Of the mixture.
            known: See above.
            prior: See `Draw.of`.
            indices: Chain and number of each draw; None: all.
        """
        chosen = list(np.ndindex(stored["log_joint"].shape) if indices is None else indices)
        seats = [] if known is None else [Seats.of(stored, index, settings) for index in chosen]
        return cls([Draw.of(stored, index, prior) for index in chosen], seats, known)

    def own(self, rows: Rows) -> Int[np.ndarray, " N"]:
        """Numbers of rows among those that were fitted; -1: a new one."""
        return np.full(rows.number, -1) if self.known is None else self.known.find(rows)


def membership(
    rows: Rows, posterior: Posterior, partition: Int[np.ndarray, " n"], outside: bool
) -> Float[np.ndarray, "N K"]:
    """Probability of each cluster of a partition; rows sum to 1.

    Args:
        rows: New rows, or old ones.
        posterior: The draws.
        partition: Labels of the rows that were fitted, from 0; -1 is none.
        outside: Whether the last column is the background.
    """
    clusters, own = int(partition.max()) + 1, posterior.own(rows)
    found = np.zeros((rows.number, clusters + outside))
    overlaps = [_overlaps(seats, partition, clusters) for seats in posterior.seats]
    with one_blas_thread():
        for numbers in batches(rows):
            old, new = numbers[own[numbers] >= 0], numbers[own[numbers] < 0]
            if len(old):
                found[old] = _of_fitted(rows, old, own[old], posterior, overlaps, partition, outside)
            if len(new):
                found[new] = _of_new(rows, new, posterior.draws, overlaps, outside)
    return found / found.sum(axis=1, keepdims=True)


def _overlaps(seats: Seats, partition: Int[np.ndarray, " n"], clusters: int) -> Float[np.ndarray, "L1 K"]:
    """How many rows each cluster of a draw shares with each of the partition; last, all rows."""
    inside = (partition >= 0) & (seats.places >= 0)
    size = len(seats.counts)
    both = seats.places[inside] * clusters + partition[inside]
    counts = np.bincount(both, minlength=size * clusters).reshape(size, clusters)
    every = np.bincount(partition[partition >= 0], minlength=clusters)
    return np.concatenate([counts, every[None]]).astype(float)


def _of_new(
    rows: Rows,
    numbers: Int[np.ndarray, " S"],
    draws: list[Draw],
    overlaps: list[Float[np.ndarray, "L1 K"]],
    outside: bool,
) -> Float[np.ndarray, "S K"]:
    """Sums over the draws of weights times densities, up to a factor of each row."""
    clusters = overlaps[0].shape[1]
    total, highest = np.zeros((len(numbers), clusters + outside)), np.full(len(numbers), -np.inf)
    for draw, counts in zip(draws, overlaps, strict=True):
        scores = draw.log_densities(rows, numbers)
        scores[:, -2] = -np.inf  # a cluster that nobody is in is no cluster of the partition
        before, highest = highest, np.maximum(highest, scores.max(axis=1))
        total *= np.exp(before - highest)[:, None]
        p = np.exp(scores - highest[:, None])
        sums = counts.sum(axis=1, keepdims=True)
        # Clusters without rows of the partition are as the sizes say.
        shares = np.where(sums > 0, counts, counts[-1]) / np.where(sums > 0, sums, sums[-1])
        total[:, :clusters] += p[:, :-2] @ shares[:-1]
        if outside:
            total[:, -1] += p[:, -1]
    return total


def _of_fitted(
    rows: Rows,
    numbers: Int[np.ndarray, " S"],
    own: Int[np.ndarray, " S"],
    posterior: Posterior,
    overlaps: list[Float[np.ndarray, "L1 K"]],
    partition: Int[np.ndarray, " n"],
    outside: bool,
) -> Float[np.ndarray, "S K"]:
    """Sums over the draws of the probabilities, each row with itself in whichever cluster it is."""
    clusters, label = overlaps[0].shape[1], partition[own]
    total, told = np.zeros((len(numbers), clusters + outside)), np.flatnonzero(label >= 0)
    for draw, seats, counts in zip(posterior.draws, posterior.seats, overlaps, strict=True):
        scores = seats.log_conditionals(draw, rows, numbers, own)
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        places = seats.places[own]
        left = told[places[told] >= 0]  # rows that leave a cluster of which they are counted
        sizes = np.tile(counts[:-1].sum(axis=1), (len(numbers), 1))
        sizes[told] += 1
        sizes[left, places[left]] -= 1
        each = np.divide(p[:, :-2], sizes, out=np.zeros_like(sizes), where=sizes > 0)
        total[:, :clusters] += each @ counts[:-1]
        total[left, label[left]] -= each[left, places[left]]
        total[told, label[told]] += each[told].sum(axis=1) + p[told, -2]
        unknown = np.where(sizes > 0, 0.0, p[:, :-2]).sum(axis=1) + np.where(label >= 0, 0.0, p[:, -2])
        total[:, :clusters] += unknown[:, None] * (counts[-1] / max(1.0, counts[-1].sum()))
        if outside:
            total[:, -1] += p[:, -1]
    return total
