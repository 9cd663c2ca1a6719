"""The counts of clusters, and rows that are seated among them one after the other."""

import numpy as np
from jaxtyping import Array, Int

from geodrift.kernels._vector_draw import padded
from geodrift.models.dirichlet_process_mixture._rows import Rows
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._kernel import seat_rows


class ClusterTable:
    """N, N_k and m_k of clusters, with room for some more.

    Args:
        num_words: V.
        size: Clusters for which there is room at first, as whole vectors.

    Attributes:
        away: N, [V, K], where the last step was taken on a device; None: it is in `table`.
        tokens: N_k, int64.
        numbers: m_k, the rows of each, int64.
    """

    away: Int[Array, "V K"] | None = None

    def __init__(self, num_words: int, size: int) -> None:
        self.num_words = num_words
        self.numbers, self.tokens = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.table = np.zeros(0, np.int32)
        self.make_room(padded(size))

    @property
    def table(self) -> Int[np.ndarray, " VK"]:
        """N_kc, [V + 1, K] as one vector of int32 whose last row is zeros; brought home from a device."""
        if self.away is not None:
            self._table.reshape(self.num_words + 1, -1)[:-1], self.away = np.asarray(self.away), None
        return self._table

    @table.setter
    def table(self, values: Int[np.ndarray, " VK"]) -> None:
        self._table, self.away = values, None

    def away_table(self) -> Int[np.ndarray, "V K"] | Int[Array, "V K"]:
        """N for a step on a device, which leaves it there: see `take`."""
        return self._table.reshape(self.num_words + 1, -1)[:-1] if self.away is None else self.away

    def take(
        self,
        table: Int[Array, "V K"],
        before: Int[np.ndarray, " S"],
        after: Int[np.ndarray, " S"],
        tokens: Int[np.ndarray, " S"],
    ) -> None:
        """Counts after rows of so many tokens have moved on a device, which keeps N."""
        self.away, size = table, len(self.numbers)
        for clusters, sign in ((before, -1), (after, 1)):
            self.numbers += sign * np.bincount(clusters, minlength=size)
            self.tokens += sign * np.bincount(clusters, tokens, minlength=size).astype(np.int64)

    def counts(self, clusters: Int[np.ndarray, " K"]) -> Int[np.ndarray, "K V"]:
        """N of some clusters."""
        table = self.table.reshape(self.num_words + 1, -1)
        return np.ascontiguousarray(table[:-1, clusters].T)

    def part(self, clusters: Int[np.ndarray, " K"], size: int) -> "ClusterTable":
        """A copy of some clusters, numbered in the order given, with room for ``size``."""
        found = ClusterTable(self.num_words, size)
        whole = self.table.reshape(self.num_words + 1, -1)
        found.table.reshape(self.num_words + 1, -1)[:, : len(clusters)] = whole[:, clusters]
        found.tokens[: len(clusters)] = self.tokens[clusters]
        found.numbers[: len(clusters)] = self.numbers[clusters]
        return found

    def make_room(self, size: int) -> None:
        """Tables of ``size`` clusters, with what the present ones hold."""
        had = len(self.numbers)
        table = np.zeros((self.num_words + 1, size), np.int32)
        if had:
            table[:, :had] = self.table.reshape(-1, had)
        self.table, more = table.reshape(-1), np.zeros(size - had, np.int64)
        self.numbers, self.tokens = np.append(self.numbers, more), np.append(self.tokens, more)

    def make_more_room(self) -> Int[np.ndarray, " n"]:
        """Room for a quarter more clusters, whose numbers are returned."""
        had = len(self.numbers)
        self.make_room(padded(had + max(16, had // 4)))
        return np.arange(had, len(self.numbers))

    def seat(
        self,
        rows: Rows,
        assignments: Int[np.ndarray, " D"],
        prior: float,
        alpha: float,
        extra: float,
        given: int,
        family: np.uint64,
    ) -> None:
        """Draw the clusters of some rows, one after the other; see `seat_rows` for the arguments."""
        done = 0
        while True:
            counts = self.table, self.tokens, self.numbers
            done = seat_rows(done, *rows, assignments, *counts, prior, alpha, extra, given, family)
            if done == len(rows.numbers):
                return
            self.make_more_room()
