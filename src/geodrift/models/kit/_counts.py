"""Counts of new documents, checked."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.data import as_csr


def checked_counts(counts: sp.spmatrix | sp.sparray | Float[np.ndarray, "D V"]) -> sp.csr_matrix:
    """Counts in canonical form: int32, sorted, without zeros or repeated entries; a copy.

    Raises:
        ValueError: A count is negative, not finite, or not a whole number; an index lies outside the shape.
    """
    rows = as_csr(counts, "counts").copy()
    if not rows.has_canonical_format:
        # Sums of repeated entries would not fit into small whole numbers.
        rows = rows.astype(np.float64)
    rows.sum_duplicates()
    rows.sort_indices()
    wrong = ~((rows.data >= 0) & (rows.data == np.rint(rows.data)) & (rows.data < 2**31))
    if wrong.any():
        raise ValueError(f"counts must be whole numbers from 0, got {rows.data[wrong][0]!r}")
    rows.data = rows.data.astype(np.int32)
    rows.eliminate_zeros()
    return rows
