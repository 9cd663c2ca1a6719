"""Steps of a mixture of counts on a device, all rows of a step at once.

On the device lie the rows (words and counts, 8 bytes an entry, a copy for each chain; where half of its
memory does not hold them, those of each step go there) and N, the clusters' counts, which move home when
something here reads them: a stored draw, a checkpoint, rows that are drawn one after the other. Here are
assignments, the numbers of rows and tokens of each cluster, weights and alpha.

A step of S rows sends 20 bytes a row and 12 a column, and gets 4 a row back; with rows that do not fit 8 an
entry more. N is 4 V M bytes each way when it moves.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from geodrift.kernels._stream_kinds import Family
from geodrift.models.clusters._device import Layout, devices_of_rows, fits, on_all, room_for
from geodrift.models.clusters._weights_of_all import Prior, Weights, drawn_weights
from geodrift.models.dirichlet_process_mixture._rows import BLOCK, Rows, RowSource
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._assignments_in_jax import (
    ENTRIES,
    Batch,
    Columns,
    Entries,
    drawn,
    log_words,
    moved,
)
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._cluster_table import ClusterTable


class RowsOnDevice:
    """Redraws rows on the devices of this process.

    Args:
        source: All rows.
    """

    def __init__(self, source: RowSource) -> None:
        self.source, self.mesh = source, devices_of_rows()
        self.kept = fits(8 * source.num_entries, self.mesh) and source.num_entries < 2**31
        if self.kept:
            self._keep()

    def redraw(
        self,
        rows: Rows,
        assignments: Int[np.ndarray, " D"],
        clusters: ClusterTable,
        cluster_word_prior: float,
        prior: Prior,
        streams: Family,
        rng: np.random.Generator,
    ) -> None:
        """Redraw word probabilities and weights, then the clusters of rows, each of which has one.

        Args:
            rows: Their numbers; their entries too where `kept` is false.
            assignments: Of all rows, changed.
            clusters: Counts, changed.
            cluster_word_prior: a_0.
            prior: Of weights; where the number of clusters is given it is that of the first ones.
            streams: Of rows and word probabilities.
            rng: Generator of the weights.
        """
        before = assignments[rows.numbers]
        labels, weights = _choice(clusters, before, self.source.num_rows, prior, rng)
        column = np.zeros(len(clusters.numbers), np.int32)
        column[labels] = np.arange(len(labels))
        a_0 = np.float32(cluster_word_prior)
        given = streams.key, clusters.away_table(), _columns(labels, weights, len(clusters.numbers)), a_0
        key, table, arrays, a_0 = on_all(given, self.mesh)
        columns = Columns(*arrays)
        logs, after = log_words(key, table, columns, a_0), np.zeros(len(before), np.int32)
        indptr, entries, places = self._entries(rows)
        begins, lengths = indptr[places], indptr[places + 1] - indptr[places]
        for longest, some in _by_length(lengths):
            layout = Layout.of(len(some), self.mesh)
            whole = begins[some], lengths[some], rows.numbers[some], column[before[some]]
            each = *(values.astype(np.int32) for values in whole), weights.levels[some].astype(np.float32)
            batch = Batch(*layout.put(each, (0, 0, -1, 0, -np.inf)))
            found = drawn(key, logs, columns, entries, batch, longest)
            table = moved(table, columns.labels, entries, batch, found, longest)
            after[some] = labels[layout.taken(found)]
        assignments[rows.numbers] = after
        tokens = self.tokens[rows.numbers] if self.kept else _tokens_of(rows)
        clusters.take(table, before, after, tokens)

    def _entries(self, rows: Rows) -> tuple[Int[np.ndarray, " n1"], Entries, Int[np.ndarray, " S"]]:
        """Where rows begin among the entries on the devices, the entries, and which rows are meant."""
        if self.kept:
            return self.indptr, self.entries, rows.numbers
        sent = on_all((_padded(rows.words), _padded(rows.counts)), self.mesh)
        return rows.indptr, Entries(*sent), np.arange(len(rows.numbers))

    def _keep(self) -> None:
        """Put the entries of all rows on every device, and keep here where rows begin and their tokens."""
        source, ends, tokens = self.source, [np.zeros(1, np.int64)], [np.zeros(0, np.int64)]
        every = on_all(jnp.zeros((2, max(1, source.num_entries)), jnp.int32), self.mesh)
        for start in range(0, source.num_rows, BLOCK):
            some = source.rows(np.arange(start, min(start + BLOCK, source.num_rows)))
            if len(some.words):
                part = on_all(np.stack([some.words, some.counts]), self.mesh)
                every = _written(every, part, int(ends[-1][-1]))
            ends.append(ends[-1][-1] + some.indptr[1:])
            tokens.append(_tokens_of(some))
        self.indptr, self.tokens = np.concatenate(ends), np.concatenate(tokens)
        self.entries = Entries(every[0], every[1])


def _tokens_of(rows: Rows) -> Int[np.ndarray, " S"]:
    """Tokens of each row."""
    return np.diff(np.append(0, np.cumsum(rows.counts, dtype=np.int64))[rows.indptr])


@jax.jit(donate_argnums=0)
def _written(
    every: Int[Array, "2 n"], part: Int[Array, "2 m"], start: Int[Array, ""] | int
) -> Int[Array, "2 n"]:
    return jax.lax.dynamic_update_slice(every, part, (0, start))


def _padded(values: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
    """Zeros behind, so that few programs are compiled."""
    return np.append(values, np.zeros((1 << len(values).bit_length()) - len(values), values.dtype))


def _by_length(lengths: Int[np.ndarray, " S"]) -> list[tuple[int, Int[np.ndarray, " n"]]]:
    """Rows by the least power of two, from `ENTRIES` on, that holds their entries."""
    longest = 2 ** np.ceil(np.log2(np.maximum(lengths, ENTRIES))).astype(np.int64)
    return [(int(size), np.flatnonzero(longest == size)) for size in np.unique(longest)]


def _choice(
    clusters: ClusterTable,
    before: Int[np.ndarray, " S"],
    number: int,
    prior: Prior,
    rng: np.random.Generator,
) -> tuple[Int[np.ndarray, " K"], Weights]:
    """Numbers of clusters that rows may go to, those that have rows first, and their weights."""
    present = np.flatnonzero(clusters.numbers)
    place = np.zeros(len(clusters.numbers), np.int64)
    place[present] = np.arange(len(present))
    weights = drawn_weights(clusters.numbers[present], place[before], number, prior, rng)
    others = len(weights.logs) - 1 - len(present)
    while np.count_nonzero(clusters.numbers == 0) < others:
        clusters.make_more_room()
    return np.append(present, np.flatnonzero(clusters.numbers == 0)[:others]), weights


def _columns(labels: Int[np.ndarray, " K"], weights: Weights, room: int) -> tuple[np.ndarray, ...]:
    """The arrays of `Columns`."""
    size = len(labels)
    width = room_for(size)
    numbers, heights, caps = np.full(width, room, np.int32), *np.full((2, width), -np.inf, np.float32)
    numbers[:size], caps[:size] = labels, weights.caps[:-1]
    heights[:size] = weights.logs[:-1] - weights.caps[:-1]
    return numbers, heights, caps
