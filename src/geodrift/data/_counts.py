"""Matrices of counts and their vocabularies, checked."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Shaped

from geodrift._errors import InputError
from geodrift.data._sparse_structure import as_csr

_INT32_MAX = np.iinfo(np.int32).max


def check_vocabulary(vocabulary: Sequence[str], num_words: int) -> list[str]:
    """The vocabulary as a list of strings that can be written one a line and told apart.

    Raises:
        InputError: It does not have `num_words` words; or a word is blank, stands twice, contains a line
            break, or has half of a surrogate pair, which UTF-8 cannot hold.
    """
    words = [str(word) for word in vocabulary]
    if len(words) != num_words:
        raise InputError(f"the vocabulary has {len(words):,} words but the counts have {num_words:,} columns")
    wrong = first_wrong_word(words)
    if wrong is not None:
        raise InputError(f"word {wrong[0]} of the vocabulary {wrong[1]}")
    return words


def first_wrong_word(words: Sequence[str]) -> tuple[int, str] | None:
    """The place of the first word that cannot be in a vocabulary and what is wrong with it; None: all can."""
    if len(set(words)) == len(words) and not any(_why_not(word) for word in words):
        return None
    places: dict[str, int] = {}
    for place, word in enumerate(words):
        if (why := _why_not(word)) is not None:
            return place, why
        if (first := places.setdefault(word, place)) != place:
            return place, f"is {word!r}, as word {first} is (both from 0): give each column a word of its own"
    return None


def _why_not(word: str) -> str | None:
    if not word.strip():
        return "is blank: give each column a word"
    if "\n" in word or "\r" in word:
        return f"contains a line break: {word!r}"
    if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
        return f"contains half of a surrogate pair, which is no character: {word!r}"
    return None


def check_counts(matrix: sp.spmatrix | sp.sparray | np.ndarray, *, signed: bool = False) -> sp.csr_matrix:
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


def canonical_rows(matrix: sp.spmatrix | sp.sparray | np.ndarray, *, signed: bool = False) -> sp.csr_matrix:
    """As `check_counts`, for a part of a corpus: it may have no rows, or only empty ones.

    Raises:
        InputError: A value is not finite or negative, or beyond single precision; an index lies outside the
            shape.
    """
    rows = as_csr(matrix).copy()
    if rows.dtype.kind not in "biuf":
        raise InputError(f"counts must be numbers, got dtype {rows.dtype}")
    _refuse(rows, ~np.isfinite(rows.data), "is not a finite number")
    if not signed:
        _refuse(rows, rows.data < 0, "is negative")
    if not rows.has_canonical_format:
        # Sums of repeated entries would not fit into small whole numbers.
        rows = rows.astype(np.float64)
    rows.sum_duplicates()
    rows = sp.csr_matrix((narrow(rows.data), rows.indices, rows.indptr), shape=rows.shape)
    rows.eliminate_zeros()  # also of what is 0 in single precision
    return rows


def _refuse(rows: sp.csr_matrix, bad: Bool[np.ndarray, " nnz"], why: str) -> None:
    """Raise InputError that names the first bad value, if any."""
    if bad.any():
        place = int(np.argmax(bad))
        document = int(np.searchsorted(rows.indptr, place, side="right")) - 1
        value, word, number = rows.data[place], rows.indices[place], int(bad.sum())
        raise InputError(f"the count of word {word} in document {document} {why}: {value} ({number:,} such)")


def narrow(data: Shaped[np.ndarray, " nnz"]) -> Shaped[np.ndarray, " nnz"]:
    """The values as int32 where they are whole numbers that fit, else as float32."""
    whole = data.dtype.kind in "biu" or bool(np.all(data == np.rint(data)))
    if whole and np.abs(data).max(initial=0) <= _INT32_MAX:
        return data.astype(np.int32)
    with np.errstate(over="ignore"):
        narrow = data.astype(np.float32)
    if not np.isfinite(narrow).all():
        raise InputError(f"the largest count, {data.max()}, is beyond single precision")
    return narrow
