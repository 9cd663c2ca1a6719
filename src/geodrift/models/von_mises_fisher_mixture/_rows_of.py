"""Rows of what a user gives."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from geodrift.models.von_mises_fisher_mixture._dense_rows import DenseRows
from geodrift.models.von_mises_fisher_mixture._rows import Rows
from geodrift.models.von_mises_fisher_mixture._sparse_rows import SparseRows


def rows_of(x: Any, normalise: bool = False) -> Rows:
    """Rows of an array or of a sparse matrix."""
    return SparseRows(sp.csr_matrix(x), normalise) if sp.issparse(x) else DenseRows(x, normalise)


def check_differ(rows: Rows) -> None:
    """Refuse rows that are all equal: their likelihood has no bound.

    Raises:
        ValueError: They are.
    """
    first = rows.dense(np.zeros(1, np.int64))
    for start in range(0, rows.number, 4_096):
        numbers = np.arange(start, min(start + 4_096, rows.number))
        if rows.products(numbers, np.ascontiguousarray(first.T)).min() < 1 - 1e-9:
            return
    raise ValueError(f"all {rows.number} rows are equal: there is nothing to cluster")
