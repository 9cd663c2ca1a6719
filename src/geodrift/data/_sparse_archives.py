"""Matrices saved by `scipy.sparse.save_npz` or `numpy.save`, in files that anyone may have written."""

import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from geodrift._errors import InputError
from geodrift.data._limits import check_documents, refuse_expanding
from geodrift.data._npy_arrays import read_array
from geodrift.data._regular_files import open_regular
from geodrift.data._sparse_structure import as_csr, check_indices, check_pointers, of_scipy

_COMPRESSED = {"csr": sp.csr_matrix, "csc": sp.csc_matrix, "bsr": sp.bsr_matrix}
_FORMATS = (*_COMPRESSED, "coo", "dia")
_REMEDY = "save the matrix with scipy.sparse.save_npz(..., compressed=False)"

Reader = Callable[[str], np.ndarray]


def read_counts(path: str | Path) -> sp.csr_matrix:
    """Read a matrix, documents by words, saved by `scipy.sparse.save_npz`, or dense by `numpy.save` (.npy).

    Raises:
        InputError: The file does not exist, is empty, was cut off or does not hold a matrix; an index lies
            outside its shape; or it decompresses to far more than its size.
    """
    path = Path(path)
    with open_regular(path) as stream:
        return _dense(stream, path) if path.suffix.lower() == ".npy" else _sparse(stream, path)


def _dense(stream: BinaryIO, path: Path) -> sp.csr_matrix:
    matrix = read_array(stream, path)
    if matrix.ndim != 2:
        raise InputError(f"{path} holds an array of {matrix.ndim} dimensions, documents by words are 2")
    _check_shape(matrix.shape, path)
    return sp.csr_matrix(_check_numbers(matrix, path))


def _sparse(stream: BinaryIO, path: Path) -> sp.csr_matrix:
    try:
        with zipfile.ZipFile(stream) as archive:
            members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
            if "format" not in members:
                raise InputError(f"{path} is not a matrix saved by scipy.sparse.save_npz: it has no 'format'")
            _check_members(path, list(members.values()))
            return _matrix(path, lambda name: _member(archive, members, name, path))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{path} is damaged or was cut off ({error})") from None
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not a matrix saved by scipy.sparse.save_npz ({error})") from None


def _check_members(path: Path, members: list[zipfile.ZipInfo]) -> None:
    """Refuse a compression that NumPy does not write, and members that are far larger than the file."""
    for member in members:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
            raise InputError(
                f"{path} is not a matrix saved by scipy.sparse.save_npz: "
                "it is encrypted, or compressed in a way that NumPy does not write"
            )
    # A reader of a member ends after the size that is told here.
    refuse_expanding(path, path.stat().st_size, sum(member.file_size for member in members), _REMEDY)


def _member(archive: zipfile.ZipFile, members: dict[str, Any], name: str, path: Path) -> np.ndarray:
    if name not in members:
        raise InputError(f"{path} is not a matrix saved by scipy.sparse.save_npz: it has no {name!r}")
    with archive.open(members[name]) as stream:
        return read_array(stream, f"{path} ({name})")


def _matrix(path: Path, read: Reader) -> sp.csr_matrix:
    """The matrix whose arrays ``read`` gives by their names."""
    form, shape = _format(path, read("format")), read("shape")
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
        raise InputError(
            f"{path} is damaged: its shape must be two whole numbers, got {str(shape.tolist())[:60]}"
        )
    rows, columns = _check_shape(tuple(shape.tolist()), path)
    data = _check_numbers(read("data"), path)
    if form == "coo":
        row, column = read("row"), read("col")
        check_indices(row, rows, str(path), "rows")
        check_indices(column, columns, str(path), "columns")
        return as_csr(sp.coo_matrix((data, (row, column)), shape=(rows, columns)), str(path))
    if form == "dia":
        offsets = read("offsets")
        if data.ndim != 2 or offsets.ndim != 1 or offsets.dtype.kind not in "iu":
            raise InputError(f"{path} is damaged: its diagonals and their offsets do not fit together")
        return as_csr(sp.dia_matrix((data, offsets), shape=(rows, columns)), str(path))
    indptr, indices = read("indptr"), read("indices")
    lines, wide = (columns, rows) if form == "csc" else (rows, columns)
    if data.ndim != (3 if form == "bsr" else 1) or 0 in data.shape[1:] or len(data) != len(indices):
        raise InputError(f"{path} is damaged: its values and their indices do not fit together")
    if form == "bsr":
        lines, wide = lines // data.shape[1], wide // data.shape[2]
    check_pointers(indptr, lines, len(data), str(path), "columns" if form == "csc" else "rows")
    check_indices(indices, wide, str(path), "rows" if form == "csc" else "columns")
    return as_csr(_COMPRESSED[form]((data, indices, indptr), shape=(rows, columns)), str(path))


def _format(path: Path, told: np.ndarray) -> str:
    text = told.item() if told.ndim == 0 and told.dtype.kind in "SU" else b""
    form = text.decode("latin1") if isinstance(text, bytes) else str(text)
    if form not in _FORMATS:
        raise InputError(
            f"{path} is not a matrix saved by scipy.sparse.save_npz: its 'format' is not one of "
            f"{', '.join(_FORMATS)}"
        )
    return form


def _check_shape(shape: tuple[int, ...], path: Path) -> tuple[int, int]:
    """Documents and words, which there are, and not more documents than the file may have."""
    rows, columns = shape
    for number, what in ((rows, "documents"), (columns, "words")):
        if number == 0:
            raise InputError(f"{path} has no {what}")
    check_documents(rows, path.stat().st_size, path)
    if columns > np.iinfo(np.int64).max // 2:
        raise InputError(f"{path} is damaged: it says that it has {columns:,} words")
    return rows, columns


def _check_numbers(values: np.ndarray, path: Path) -> np.ndarray:
    """The values, which are real numbers of up to 64 bits, of a type that SciPy computes with."""
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise InputError(f"{path} holds values of type {values.dtype}; counts are real, of 64 bits at most")
    return of_scipy(values)
