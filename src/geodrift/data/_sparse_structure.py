"""Sparse matrices from anywhere: their index arrays are checked before compiled code follows them.

SciPy's compiled routines, and ours, read and write where index arrays point to, without a look at the shape.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Shaped

from geodrift._errors import InputError
from geodrift._masked import unmasked


def as_csr(matrix: Any, where: str = "the matrix") -> sp.csr_matrix:
    """A matrix as CSR, after a check of its structure; arrays are shared where it is CSR already.

    Args:
        matrix: [D, V], of any format of `scipy.sparse`, or dense.
        where: What it is called in error messages.

    Raises:
        InputError: An index lies outside the shape, the arrays do not fit together, entries are hidden, or
            there are not two dimensions.
    """
    if not sp.issparse(matrix):
        dense = np.asarray(csr_or_dense(matrix, where))
        _refuse_dimensions(dense.ndim, where)
        return sp.csr_matrix(of_scipy(dense))
    _refuse_dimensions(matrix.ndim, where)
    if matrix.format == "dia":
        matrix = _diagonals(matrix, where)
    if matrix.format == "coo":
        _check_coordinates(matrix, where)
        if matrix.dtype.kind in "biu":
            # The conversion adds repeated entries, whose sum would not fit into small whole numbers.
            matrix = matrix.astype(np.int64)
    elif matrix.format in ("csr", "csc", "bsr"):
        _check_compressed(matrix, where)
    rows = sp.csr_matrix(matrix)
    if matrix.format not in ("coo", "csr", "csc", "bsr"):
        # Lists and dictionaries of Python's, which their own conversion does not follow out of bounds.
        _check_compressed(rows, where)
    return rows


def _refuse_dimensions(number: int, where: str) -> None:
    if number != 2:
        told = f"{where} has {number} dimension{'' if number == 1 else 's'}, documents by words are 2"
        raise InputError(f"{told}: one document is a matrix of one row" if number == 1 else told)


def csr_or_dense(matrix: Any, where: str = "the matrix") -> Any:
    """A sparse matrix as `as_csr` has it; any other as it is, unless it hides entries.

    Raises:
        InputError: As `as_csr`.
    """
    if sp.issparse(matrix):
        return as_csr(matrix, where)
    return unmasked(where, matrix, "leave such rows out, or fill counts that are missing with 0 (.filled(0))")


def of_scipy(values: np.ndarray) -> np.ndarray:
    """Numbers of a type that SciPy has: half precision as single, in this machine's order of bytes."""
    half = values.dtype.kind == "f" and values.dtype.itemsize == 2
    return values.astype(np.float32 if half else values.dtype.newbyteorder("="), copy=False)


def check_pointers(
    indptr: Shaped[np.ndarray, " P"], lines: int, entries: int, where: str, what: str = "rows"
) -> None:
    """Check index pointers: one more than there are lines, from 0 to the number of entries, never falling.

    Args:
        indptr: The entries of line r are those from indptr[r] to indptr[r + 1].
        lines: Rows, or columns.
        entries: How many there are.
        where: What the matrix is called in error messages.
        what: What the lines are.

    Raises:
        InputError: They are something else.
    """
    if indptr.ndim != 1 or indptr.dtype.kind not in "iu" or len(indptr) != lines + 1:
        raise InputError(
            f"{where} is damaged: indptr has {indptr.size:,} values of type {indptr.dtype}, "
            f"its {lines:,} {what} need {lines + 1:,} whole numbers"
        )
    if indptr[0] != 0 or indptr[-1] != entries or (indptr[1:] < indptr[:-1]).any():
        raise InputError(f"{where} is damaged: indptr does not rise from 0 to the {entries:,} entries")


def check_indices(indices: Shaped[np.ndarray, " nnz"], most: int, where: str, what: str = "columns") -> None:
    """Check that indices are whole numbers from 0 to below ``most``.

    Args:
        indices: Of each entry.
        most: Rows or columns that the matrix has.
        where: What the matrix is called in error messages.
        what: What the indices number.

    Raises:
        InputError: One lies outside, or they are not whole numbers.
    """
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise InputError(f"{where} is damaged: its indices must be whole numbers, got {indices.dtype}")
    if indices.size and (indices.min() < 0 or indices.max() >= most):
        wrong = int(indices.min()) if indices.min() < 0 else int(indices.max())
        raise InputError(f"{where} has an index of {wrong:,}: its {most:,} {what} are numbered from 0")


def _check_compressed(matrix: Any, where: str) -> None:
    """Check CSR, CSC or BSR; SciPy allows arrays that are longer than indptr says."""
    (rows, columns), across = matrix.shape, ("columns", "rows")
    lines = rows
    if matrix.format == "csc":
        lines, columns, across = columns, rows, ("rows", "columns")
    elif matrix.format == "bsr":
        if matrix.data.ndim != 3 or 0 in matrix.data.shape[1:]:
            raise InputError(f"{where} is damaged: its blocks have the shape {matrix.data.shape[1:]}")
        high, wide = matrix.data.shape[1:]
        if lines % high or columns % wide:
            raise InputError(f"{where} is damaged: blocks of {high} by {wide} do not fill its shape")
        lines, columns = lines // high, columns // wide
    indptr, indices = np.asarray(matrix.indptr), np.asarray(matrix.indices)
    entries = min(len(indices), len(matrix.data))
    last = int(indptr[-1]) if indptr.ndim == 1 and indptr.size and indptr.dtype.kind in "iu" else -1
    used = last if 0 <= last <= entries else entries
    check_pointers(indptr, lines, used, where, across[1])
    check_indices(indices[:used], columns, where, across[0])


def _check_coordinates(matrix: Any, where: str) -> None:
    rows, columns = (np.asarray(each) for each in matrix.coords)
    if not len(rows) == len(columns) == len(matrix.data):
        raise InputError(f"{where} is damaged: its rows, columns and values differ in number")
    check_indices(rows, matrix.shape[0], where, "rows")
    check_indices(columns, matrix.shape[1], where, "columns")


def _diagonals(matrix: Any, where: str) -> sp.coo_matrix:
    """Entries of a matrix that is stored by diagonals, in the memory of those that are stored.

    SciPy's own conversion takes the memory of whole diagonals, however few of their values there are.
    """
    offsets, data = np.asarray(matrix.offsets), np.asarray(matrix.data)
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or data.shape[:-1] != offsets.shape:
        raise InputError(f"{where} is damaged: its diagonals and their offsets differ in number")
    column = np.broadcast_to(np.arange(data.shape[1]), data.shape)
    row = column - offsets[:, None].astype(np.int64)
    inside = (row >= 0) & (row < matrix.shape[0]) & (column < matrix.shape[1])
    return sp.coo_matrix((data[inside], (row[inside], column[inside])), shape=matrix.shape)
