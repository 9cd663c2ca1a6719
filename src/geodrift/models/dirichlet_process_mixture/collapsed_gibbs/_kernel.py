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

Weights are float32. A row of more than three tokens has an exponent of each weight beside it, and every three
tokens what the weights have gained moves there: no row is too long.
"""

import numba
import numpy as np

from geodrift.kernels._random_streams import next_word, open_member
from geodrift.kernels._vector_draw import draw_place, last_place, set_entry

TO_UNIT = np.float32(2.0**-63)
ONE = np.float32(1.0)
BLOCK = 3  # tokens between two moves of what weights have gained to exponents
_NEVER = np.int32(-(2**28))  # exponent of a weight that is 0
UNSEATED = -1  # the assignment of a row that has none


@numba.njit(cache=True, error_model="numpy", inline="always")
def _change(
    cluster: np.int64,
    by: np.int64,
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


@numba.njit(cache=True, error_model="numpy")
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


@numba.njit(cache=True, error_model="numpy", inline="always")
def _multiply(
    begin: np.int64,
    offset: np.float32,
    shift: np.float32,
    scale: np.float32,
    table: np.ndarray,
    totals: np.ndarray,
    above: np.ndarray,
    below: np.ndarray,
) -> None:
    """Numerators and denominators of one more token, both divided by the number of words."""
    row = table[begin : begin + above.shape[0]]
    for k in range(above.shape[0]):
        above[k] *= np.float32(row[k]) + offset
        below[k] *= (totals[k] + shift) * scale


@numba.njit(cache=True, error_model="numpy", inline="always")
def _divide(above: np.ndarray, below: np.ndarray) -> None:
    for k in range(above.shape[0]):
        above[k] /= below[k]
        below[k] = ONE


@numba.njit(cache=True, error_model="numpy")
def split_off(above: np.ndarray, bits: np.ndarray, exponents: np.ndarray) -> None:
    """Move the powers of two of positive weights to their exponents; ``bits`` is ``above`` as int32."""
    for k in range(bits.shape[0]):
        if above[k] > 0.0:
            power = (bits[k] >> 23) - 127
            exponents[k] += power
            bits[k] -= power << 23
        else:
            exponents[k] = _NEVER
            above[k] = ONE


@numba.njit(cache=True, error_model="numpy")
def put_back(above: np.ndarray, bits: np.ndarray, exponents: np.ndarray) -> None:
    """Weights relative to the largest: what is 2^-100 of it or less becomes 0."""
    most = exponents.max()
    for k in range(bits.shape[0]):
        power = exponents[k] - most
        if power > -100:
            bits[k] += power << 23
        else:
            above[k] = 0.0


@numba.njit(cache=True, error_model="numpy", inline="always")
def weigh(
    first: np.int64,
    last: np.int64,
    words: np.ndarray,
    counts: np.ndarray,
    size: np.int64,
    table: np.ndarray,
    totals: np.ndarray,
    masses: np.ndarray,
    prior: np.float32,
    scale: np.float32,
    above: np.ndarray,
    below: np.ndarray,
    bits: np.ndarray,
    exponents: np.ndarray,
) -> None:
    """Weights of all clusters for the row of the entries ``first`` to ``last``, into ``above``."""
    above[:] = masses
    below[:] = ONE
    taken, split = 0, False
    for entry in range(first, last):
        begin = np.int64(words[entry]) * size
        for again in range(counts[entry]):
            if taken % BLOCK == 0 and taken:
                _divide(above, below)
                if not split:
                    exponents[:] = 0
                    split = True
                split_off(above, bits, exponents)
            offset = prior + np.float32(again)
            _multiply(begin, offset, np.float32(taken), scale, table, totals, above, below)
            taken += 1
    if taken:
        _divide(above, below)
    if split:
        split_off(above, bits, exponents)
        put_back(above, bits, exponents)


@numba.njit(cache=True, error_model="numpy")
def _open_another(numbers: np.ndarray) -> int:
    """The first cluster without rows; -1 where all have some."""
    for k in range(numbers.shape[0]):
        if numbers[k] == 0:
            return k
    return -1


@numba.njit(cache=True, error_model="numpy")
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
    """Draw the clusters of some rows, one after the other; arrays are changed in place.

    Args:
        begin_at: The first of the rows to draw.
        rows: Their numbers, items of their random streams and places in ``assignments``.
        indptr: The entries of row s are those from ``indptr[s]`` to ``indptr[s + 1]``.
        words: Of each entry, int32.
        counts: Tokens of each entry, int32.
        assignments: z of all rows, int32; `UNSEATED` where a row has none yet.
        table: N_kc, [V + 1, K] as one vector, int32; the last row is zeros.
        tokens: N_k, int64.
        numbers: m_k, int64.
        prior: a_0, each word's Dirichlet parameter.
        alpha: Concentration; 0 where the number of clusters is given.
        extra: Added to every m_k: alpha / K where the number of clusters is given, else 0.
        given: K where it is given, else 0.
        family: Random streams of the draws.

    Returns:
        How many rows are done: fewer than there are where all of the table's clusters have rows.
    """
    size, num_words = np.int64(numbers.shape[0]), table.shape[0] // numbers.shape[0] - 1
    blocks, zeros = size // 16, np.int64(num_words) * size
    a_0, scale = np.float32(prior), np.float32(1.0 / num_words)
    above, below, sums = np.empty(size, np.float32), np.empty(size, np.float32), np.empty(size, np.float32)
    bits, exponents = above.view(np.int32), np.empty(size, np.int32)
    masses, totals = np.empty(size, np.float32), np.empty(size, np.float32)
    for k in range(size):
        masses[k] = numbers[k] + (extra if k < given else 0.0)
        totals[k] = prior * num_words + tokens[k]
    is_open = _open_another(numbers) if alpha > 0.0 else -1
    if is_open >= 0:
        masses[is_open] = alpha
    for at in range(begin_at, rows.shape[0]):
        if alpha > 0.0 and is_open < 0:
            return at
        first, last, old = indptr[at], indptr[at + 1], np.int64(assignments[rows[at]])
        if old >= 0:
            _change(old, -1, first, last, words, counts, size, table, tokens, numbers)
            set_entry(masses, old, np.float32(numbers[old] + extra))
            set_entry(totals, old, np.float32(prior * num_words + tokens[old]))
        weigh(
            first, last, words, counts, size, table, totals, masses, a_0, scale, above, below, bits, exponents
        )
        word, _ = next_word(open_member(family, rows[at]))
        unit = np.float32(np.int64(word >> np.uint64(1))) * TO_UNIT
        new = draw_place(above, table, zeros, ONE, blocks, unit, sums)
        if not above[new] > 0.0:
            new = last_place(above, table, zeros, ONE, unit, size)
        _change(new, 1, first, last, words, counts, size, table, tokens, numbers)
        set_entry(masses, new, np.float32(numbers[new] + extra))
        set_entry(totals, new, np.float32(prior * num_words + tokens[new]))
        assignments[rows[at]] = new
        if new == is_open:
            is_open = _open_another(numbers)
            if is_open >= 0:
                set_entry(masses, is_open, np.float32(alpha))
    return rows.shape[0]
