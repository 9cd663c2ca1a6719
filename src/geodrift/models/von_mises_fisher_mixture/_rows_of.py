"""Rows of what a user gives."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from geodrift._errors import InputError
from geodrift.models.von_mises_fisher_mixture._dense_rows import DenseRows
from geodrift.models.von_mises_fisher_mixture._rows import Rows
from geodrift.models.von_mises_fisher_mixture._sparse_rows import SparseRows


def rows_of(x: Any, normalise: bool = False) -> Rows:
    """Rows of an array or of a sparse matrix."""
    return SparseRows(sp.csr_matrix(x), normalise) if sp.issparse(x) else DenseRows(x, normalise)


def joined(first: Rows, second: Rows) -> Rows:
    """The rows of both, in memory.

    Raises:
        ValueError: One are dense and the others sparse.
    """
    if isinstance(first, DenseRows) and isinstance(second, DenseRows):
        # Their norms were checked, and where that was asked for they are scaled.
        return DenseRows(np.concatenate([first.array, second.array]), normalise=True)
    if isinstance(first, SparseRows) and isinstance(second, SparseRows):
        return SparseRows(sp.csr_matrix(sp.vstack([first.matrix, second.matrix])))
    raise ValueError("the rows before were of the other kind: give all as arrays, or all as sparse matrices")


def checked_width(x: np.ndarray) -> int:
    """The numbers in a row of an array to fit, which scikit-learn checks where it knows the precision.

    Raises:
        ValueError: It has fewer rows than two, or fewer numbers in a row.
    """
    if min(x.shape) < 2:
        raise ValueError(f"X must have 2 rows or more, of 2 numbers or more each, got shape {x.shape}")
    return int(x.shape[1])


def check_differ(rows: Rows) -> None:
    """Refuse rows of which nothing can be said: one alone, and equal ones, whose likelihood has no bound.

    Raises:
        ValueError: They are.
    """
    if rows.number < 2:
        raise ValueError("there is one row: clusters are of two rows at least")
    first = rows.dense(np.zeros(1, np.int64))
    for start in range(0, rows.number, 4_096):
        numbers = np.arange(start, min(start + 4_096, rows.number))
        if rows.products(numbers, np.ascontiguousarray(first.T)).min() < 1 - 1e-9:
            return
    raise ValueError(f"all {rows.number} rows are equal: there is nothing to cluster")


def checked_rows(source: Any, normalise: bool) -> Rows:
    """Rows of a `VectorSource` or `VectorView` that a model is fitted to.

    Raises:
        InputError: They cannot be, with their file.
    """
    try:
        rows = rows_of(source.matrix, normalise)
        check_differ(rows)
    except ValueError as error:
        raise InputError(f"{'the vectors' if source.path is None else source.path}: {error}") from None
    return rows
