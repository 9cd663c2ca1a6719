r"""Collapsed Gibbs draws of the clusters of rows, compiled.

With weights and word probabilities integrated out, row i of n_i tokens has, given the clusters of all others,

.. math:: p(z_i = k \mid \text{rest}) \propto m_k \prod_c
    \frac{(a_0 + N_{kc})^{\overline{x_{ic}}}}{(V a_0 + N_k)^{\overline{n_i}}},

without the row itself in the counts: m_k rows and N_kc tokens of word c in cluster k, rising powers (Neal
2000, algorithm 3). A cluster without rows has alpha in the place of m_k where their number is free, and every
cluster has alpha / K more where there are K.

Operations of a draw over K clusters in vectors of 16, by which its speed is estimated: for each token K / 16
loads, conversions, sums and products of numerators and of denominators; K / 16 divisions for every three
tokens; some forty dependent operations of the draw from the weights; and for the move about four stores for
each word. Bytes: 4 K of each word of the row, from a table of 4 V K.
"""

import numba
import numpy as np

from geodrift.kernels._random_streams import next_word, open_member
from geodrift.kernels._vector_draw import draw_place, last_place, set_entry
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._weights import ONE, weigh

TO_UNIT = np.float32(2.0**-63)
UNSEATED = -1  # the assignment of a row that has none


@numba.njit(cache=True, error_model="numpy", inline="always")
def _change(
    cluster: np.int64,
    by: int,
    first: np.int64,
    last: np.int64,
    words: np.ndarray,
    counts: np.ndarray,
    size: np.int64,
    table: np.ndarray,
    tokens: np.ndarray,
    numbers: np.ndarray,
) -> None:
    """Add a row to a cluster (``by`` is 1) or take it out (-1)."""
    numbers[cluster] += by
    for entry in range(first, last):
        table[np.int64(words[entry]) * size + cluster] += by * counts[entry]
        tokens[cluster] += by * counts[entry]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def add_rows(
    rows: np.ndarray,
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    assignments: np.ndarray,
    table: np.ndarray,
    tokens: np.ndarray,
    numbers: np.ndarray,
) -> None:
    """Count rows whose assignments have been chosen; see `seat_rows` for the arrays."""
    size = np.int64(numbers.shape[0])
    for at in range(rows.shape[0]):
        cluster = np.int64(assignments[rows[at]])
        _change(cluster, 1, indptr[at], indptr[at + 1], words, counts, size, table, tokens, numbers)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def move_rows(
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    table: np.ndarray,
    tokens: np.ndarray,
    numbers: np.ndarray,
) -> None:
    """Take rows out of clusters and add them to others, as far as these differ; see `seat_rows`."""
    size = np.int64(numbers.shape[0])
    for at in range(before.shape[0]):
        if before[at] != after[at]:
            first, last = indptr[at], indptr[at + 1]
            _change(before[at], -1, first, last, words, counts, size, table, tokens, numbers)
            _change(after[at], 1, first, last, words, counts, size, table, tokens, numbers)


@numba.njit(cache=True, error_model="numpy")
def _open_another(numbers: np.ndarray) -> int:
    """The first cluster without rows; -1 where all have some."""
    for k in range(numbers.shape[0]):
        if numbers[k] == 0:
            return k
    return -1


@numba.njit(cache=True, error_model="numpy")
def _begin(
    tokens: np.ndarray,
    numbers: np.ndarray,
    whole: float,
    alpha: float,
    extra: float,
    given: int,
    masses: np.ndarray,
    totals: np.ndarray,
) -> int:
    """Fill in m_k and V a_0 + N_k; returns the cluster that stands for a new one, or -1."""
    for k in range(numbers.shape[0]):
        masses[k] = numbers[k] + (extra if k < given else 0.0)
        totals[k] = whole + tokens[k]
    is_open = _open_another(numbers) if given == 0 else -1
    if is_open >= 0:
        masses[is_open] = alpha
    return is_open


@numba.njit(cache=True, error_model="numpy", inline="always")
def _choose(
    weights: np.ndarray,
    table: np.ndarray,
    zeros: np.int64,
    sums: np.ndarray,
    family: np.uint64,
    row: np.int64,
) -> int:
    """Draw a cluster in proportion to the weights; ``zeros`` is the place of the table's last row."""
    word, _ = next_word(open_member(family, row))
    unit = np.float32(np.int64(word >> np.uint64(1))) * TO_UNIT
    new = draw_place(weights, table, zeros, ONE, weights.shape[0] // 16, unit, sums, None)
    if not weights[new] > 0.0:
        new = last_place(weights, table, zeros, ONE, unit, weights.shape[0])
    return new


@numba.njit(cache=True, nogil=True, error_model="numpy")
def seat_rows(
    begin_at: int,
    rows: np.ndarray,
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    assignments: np.ndarray,
    table: np.ndarray,
    tokens: np.ndarray,
    numbers: np.ndarray,
    prior: float,
    alpha: float,
    extra: float,
    given: int,
    family: np.uint64,
) -> int:
    """Draw the clusters of rows from ``rows[begin_at]`` on, in place; streams are named by their numbers.

    An assignment is int32, `UNSEATED` where a row has none; ``table`` is N_kc, [V + 1, K] as one vector of
    int32 whose last row is zeros; ``tokens`` and ``numbers`` are N_k and m_k, int64; ``extra`` is alpha / K
    and ``given`` K where the number of clusters is given, else both are 0.

    Returns:
        How many rows are done: fewer than there are where all of the table's clusters have rows.
    """
    size, num_words = np.int64(numbers.shape[0]), table.shape[0] // numbers.shape[0] - 1
    a_0, whole, scale = np.float32(prior), prior * num_words, np.float32(1.0 / num_words)
    above, below, sums = np.empty(size, np.float32), np.empty(size, np.float32), np.empty(size, np.float32)
    masses, totals = np.empty(size, np.float32), np.empty(size, np.float32)
    bits, exponents = above.view(np.int32), np.empty(size, np.int32)
    is_open = _begin(tokens, numbers, whole, alpha, extra, given, masses, totals)
    for at in range(begin_at, rows.shape[0]):
        if given == 0 and is_open < 0:
            return at
        first, last, old = indptr[at], indptr[at + 1], np.int64(assignments[rows[at]])
        if old >= 0:
            _change(old, -1, first, last, words, counts, size, table, tokens, numbers)
            set_entry(masses, old, np.float32(numbers[old] + extra))
            set_entry(totals, old, np.float32(whole + tokens[old]))
        weigh(
            first, last, words, counts, size, table, totals, masses, a_0, scale, above, below, bits, exponents
        )
        new = np.int64(_choose(above, table, num_words * size, sums, family, rows[at]))
        _change(new, 1, first, last, words, counts, size, table, tokens, numbers)
        set_entry(masses, new, np.float32(numbers[new] + extra))
        set_entry(totals, new, np.float32(whole + tokens[new]))
        assignments[rows[at]] = new
        if new == is_open:
            is_open = _open_another(numbers)
            if is_open >= 0:
                set_entry(masses, is_open, np.float32(alpha))
    return rows.shape[0]
