"""Matrices of counts: reading and checking them."""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Shaped

from geodrift._errors import InputError

_INT32_MAX = np.iinfo(np.int32).max


def check_vocabulary(vocabulary: Sequence[str], num_words: int) -> list[str]:
    """The vocabulary as a list of strings that can be written one a line.

    Raises:
        InputError: It does not have `num_words` words, or a word contains a line break.
    """
    words = [str(word) for word in vocabulary]
    if len(words) != num_words:
        raise InputError(f"the vocabulary has {len(words):,} words but the counts have {num_words:,} columns")
    broken = next((i for i, word in enumerate(words) if "\n" in word or "\r" in word), None)
    if broken is not None:
        raise InputError(f"word {broken} of the vocabulary contains a line break: {words[broken]!r}")
    return words


def read_counts(path: Path) -> sp.csr_matrix:
    """Read a matrix, documents by words, saved by `scipy.sparse.save_npz`, or dense by `numpy.save` (.npy).

    Raises:
        InputError: The file does not exist, is empty, was cut off or does not hold a matrix.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty")
    dense = path.suffix.lower() == ".npy"
    try:
        # Opened here because numpy leaves a file open that it cannot read.
        with path.open("rb") as stream:
            if dense:
                return sp.csr_matrix(_two_dimensional(np.load(stream, allow_pickle=False)))
            return sp.csr_matrix(sp.load_npz(stream))
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InputError(f"{path} is damaged or was cut off ({error})") from None
    except (ValueError, KeyError, TypeError) as error:
        writer = "numpy.save" if dense else "scipy.sparse.save_npz"
        raise InputError(f"{path} is not a matrix saved by {writer}, or was cut off ({error})") from None


def _two_dimensional(matrix: np.ndarray) -> np.ndarray:
    if matrix.ndim != 2:
        raise ValueError(f"it has {matrix.ndim} dimensions, documents by words are 2")
    return matrix


def check_counts(matrix: sp.spmatrix | np.ndarray, *, signed: bool = False) -> sp.csr_matrix:
    """Check a matrix of counts and bring it to canonical form.

    Args:
        matrix: Documents by words, [D, V]; it is copied.
        signed: Allow negative values, such as embeddings have.

    Returns:
        CSR with sorted columns and without zeros, int32 where every value is a whole number, else float32.

    Raises:
        InputError: There are no documents, no words or nothing but zeros, or a value is not finite or
            negative.
    """
    rows = canonical_rows(matrix, signed=signed)
    refuse_empty(rows.shape[0], rows.shape[1], rows.nnz)
    return rows


def refuse_empty(documents: int, words: int, nonzeros: int) -> None:
    """Raise InputError for a corpus without documents, words or counts."""
    for number, what in ((documents, "documents"), (words, "words")):
        if number == 0:
            raise InputError(f"the input has no {what}")
    if nonzeros == 0:
        raise InputError("every document is empty: the counts are all zero")


def canonical_rows(matrix: sp.spmatrix | np.ndarray, *, signed: bool = False) -> sp.csr_matrix:
    """As `check_counts`, for a part of a corpus: it may have no rows, or only empty ones.

    Raises:
        InputError: A value is not finite or negative, or beyond single precision.
    """
    rows = sp.csr_matrix(matrix, copy=True)
    if rows.dtype.kind not in "biuf":
        raise InputError(f"counts must be numbers, got dtype {rows.dtype}")
    _refuse(rows, ~np.isfinite(rows.data), "is not a finite number")
    if not signed:
        _refuse(rows, rows.data < 0, "is negative")
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return sp.csr_matrix((_narrow(rows.data), rows.indices, rows.indptr), shape=rows.shape)


def _refuse(rows: sp.csr_matrix, bad: Bool[np.ndarray, " nnz"], why: str) -> None:
    """Raise InputError that names the first bad value, if any."""
    if bad.any():
        place = int(np.argmax(bad))
        document = int(np.searchsorted(rows.indptr, place, side="right")) - 1
        value, word, number = rows.data[place], rows.indices[place], int(bad.sum())
        raise InputError(f"the count of word {word} in document {document} {why}: {value} ({number:,} such)")


def _narrow(data: Shaped[np.ndarray, " nnz"]) -> Shaped[np.ndarray, " nnz"]:
    """The values as int32 where they are whole numbers that fit, else as float32."""
    whole = data.dtype.kind in "biu" or bool(np.all(data == np.rint(data)))
    if whole and np.abs(data).max(initial=0) <= _INT32_MAX:
        return data.astype(np.int32)
    narrow = data.astype(np.float32)
    if not np.isfinite(narrow).all():
        raise InputError(f"the largest count, {data.max()}, is beyond single precision")
    return narrow
