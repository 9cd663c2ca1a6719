"""Counts of new documents, checked."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from geodrift.data import as_csr

MOST_TOKENS = 100_000_000  # that a document may have: each takes memory


def tokens_of_rows(rows: sp.csr_matrix, most: int = MOST_TOKENS) -> Int[np.ndarray, " S"]:
    """The number of tokens of each row of whole counts, [S, V].

    Raises:
        ValueError: A row has more than ``most``.
    """
    tokens = np.diff(np.concatenate([[0.0], np.cumsum(rows.data, dtype=np.float64)])[rows.indptr])
    if tokens.size and tokens.max() > most:
        raise ValueError(
            f"counts: a document has {tokens.max():,.0f} words, and may have {most:,}; is one of its"
            " counts wrong? If none is, divide it into parts"
        )
    return tokens.astype(np.int64)


def checked_counts(counts: sp.spmatrix | sp.sparray | Float[np.ndarray, "D V"]) -> sp.csr_matrix:
    """Counts in canonical form: int32, sorted, without zeros or repeated entries; a copy.

    Raises:
        ValueError: A count is negative, not finite, or not a whole number; an index lies outside the shape; a
            row has more than `MOST_TOKENS`.
    """
    rows = as_csr(counts, "counts").copy()
    if not rows.has_canonical_format:
        # Sums of repeated entries would not fit into small whole numbers.
        rows = rows.astype(np.float64)
    rows.sum_duplicates()
    rows.sort_indices()
    wrong = ~((rows.data >= 0) & (rows.data == np.rint(rows.data)) & np.isfinite(rows.data))
    if wrong.any():
        raise ValueError(f"counts must be whole numbers from 0, got {rows.data[wrong][0]!r}")
    tokens_of_rows(rows)
    rows.data = rows.data.astype(np.int32)
    rows.eliminate_zeros()
    return rows
