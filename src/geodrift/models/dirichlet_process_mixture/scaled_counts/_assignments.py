r"""Clusters of rows given weights and word probabilities, by slices, on threads.

Row i has a level :math:`u_i \sim U(0, w_{z_i})`, and then any cluster of weight above it (Walker 2007):

.. math:: p(z_i = k) \propto 1(w_k > u_i) \prod_c \theta_{kc}^{x_{ic}}

Operations of a row over K clusters in vectors of 16: K / 16 loads and products for each token, and the draw.
"""

import numba
import numpy as np
from jaxtyping import Float, Int

from geodrift.kernels._random_streams import next_word, open_member
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._two_forms import TwoForms
from geodrift.kernels._vector_draw import draw_place, last_place
from geodrift.models.dirichlet_process_mixture._rows import Rows
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._kernel import TO_UNIT
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._weights import (
    BLOCK,
    ONE,
    put_back,
    split_off,
)

LEAST = np.float32(2.0**-40)  # of V theta: below it a product of three would underflow
_ROWS_A_TASK = 256


@numba.njit(cache=True, error_model="numpy", inline="always")
def _multiply(begin: np.int64, table: np.ndarray, weights: np.ndarray) -> None:
    row = table[begin : begin + weights.shape[0]]
    for k in range(weights.shape[0]):
        weights[k] *= row[k]


@numba.njit(cache=True, error_model="numpy")
def _draw_rows(
    begin: int,
    end: int,
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    levels: np.ndarray,
    masses: np.ndarray,
    table: np.ndarray,
    units: np.ndarray,
    clusters: np.ndarray,
) -> None:
    """Clusters of the rows from ``begin`` to ``end``; the last row of the table is ones."""
    size = np.int64(masses.shape[0])
    ones = np.int64(table.shape[0]) - size
    weights, sums, exponents = (
        np.empty(size, np.float32),
        np.empty(size, np.float32),
        np.empty(size, np.int32),
    )
    bits = weights.view(np.int32)
    for row in range(begin, end):
        for k in range(size):
            weights[k] = ONE if masses[k] > levels[row] else 0.0
        taken = 0
        for entry in range(indptr[row], indptr[row + 1]):
            at = np.int64(words[entry]) * size
            for _ in range(counts[entry]):
                if taken % BLOCK == 0 and taken:
                    if taken == BLOCK:
                        exponents[:] = 0
                    split_off(weights, bits, exponents)
                _multiply(at, table, weights)
                taken += 1
        if taken > BLOCK:
            split_off(weights, bits, exponents)
            put_back(weights, bits, exponents)
        new = draw_place(weights, table, ones, np.float32(0.0), size // 16, units[row], sums, None)
        if not weights[new] > 0.0:
            new = last_place(weights, table, ones, np.float32(0.0), units[row], size)
        clusters[row] = new


def _draw_all(
    numbers: np.ndarray,
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    levels: np.ndarray,
    masses: np.ndarray,
    table: np.ndarray,
    family: np.uint64,
    clusters: np.ndarray,
) -> None:
    num_rows = numbers.shape[0]
    units = np.empty(num_rows, np.float32)
    for task in numba.prange((num_rows + _ROWS_A_TASK - 1) // _ROWS_A_TASK):
        begin, end = task * _ROWS_A_TASK, min((task + 1) * _ROWS_A_TASK, num_rows)
        for row in range(begin, end):
            word, _ = next_word(open_member(family, numbers[row]))
            units[row] = np.float32(np.int64(word >> np.uint64(1))) * TO_UNIT
        _draw_rows(begin, end, indptr, words, counts, levels, masses, table, units, clusters)


_forms = TwoForms(_draw_all, worth_threads=200_000)


def draw_assignments(
    rows: Rows,
    levels: Float[np.ndarray, " S"],
    masses: Float[np.ndarray, " Kp"],
    table: Float[np.ndarray, "V1 Kp"],
    streams: Family,
) -> Int[np.ndarray, " S"]:
    """Draw the cluster of each row.

    Args:
        rows: The rows.
        levels: u_i, each below the weight of some cluster.
        masses: w, zeros where there is no cluster.
        table: V theta, float32 and at least `LEAST`; the last row is ones.
        streams: Of the draws; an item is a row's number.
    """
    clusters = np.zeros(len(rows.numbers), np.int32)
    work = rows.num_tokens * 16 + len(clusters)
    _forms(work, *rows, levels, masses, table.reshape(-1), streams.word, clusters)
    return clusters


def token_counts(
    rows: Rows, clusters: Int[np.ndarray, " S"], num_clusters: int, num_words: int
) -> np.ndarray:
    """Tokens of each word in each cluster, [K, V] float64."""
    of_entries = np.repeat(clusters.astype(np.int64), np.diff(rows.indptr)) * num_words + rows.words
    return np.bincount(of_entries, rows.counts, num_clusters * num_words).reshape(num_clusters, num_words)
