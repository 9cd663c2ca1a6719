"""Vectors in rows, as files have them: read by memory map where they are dense."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int, Real

from geodrift._errors import InputError
from geodrift._whole import whole
from geodrift.data._counts import check_vocabulary
from geodrift.data._document_numbers import document_numbers
from geodrift.data._documents import Document
from geodrift.data._npy_arrays import read_header
from geodrift.data._regular_files import open_regular
from geodrift.data._sparse_archives import read_counts
from geodrift.files import checksum
from geodrift.kernels._streams import HELD_OUT_DOCUMENTS

VectorRows: TypeAlias = Real[np.ndarray, "D V"] | sp.csr_matrix


class VectorSource:
    """Rows of numbers, dense or sparse, in the place that a `Corpus` has for counts.

    Made by `VectorSource.open`. What the numbers have to be, such as of norm 1, is for a model to check.

    Args:
        matrix: D rows of V numbers each: an array, a memory map or CSR.
        vocabulary: A name for each of the V numbers of a row; None: they have none.
        path: The file that they are in; None: they are in memory.
        checksum: SHA-256 of that file.
    """

    documents = None  # nobody says who the rows are: their numbers are their ids

    def __init__(
        self,
        matrix: VectorRows,
        vocabulary: Sequence[str] | None = None,
        path: Path | None = None,
        checksum: str | None = None,
    ) -> None:
        self.matrix, self.path, self.checksum = matrix, path, checksum
        self.num_documents, self.num_words = (int(size) for size in matrix.shape)
        self.vocabulary = None if vocabulary is None else check_vocabulary(vocabulary, self.num_words)

    @classmethod
    def open(cls, path: str | Path, vocabulary: Sequence[str] | None = None) -> "VectorSource":
        """Vectors saved by `numpy.save` (.npy, read by memory map) or `scipy.sparse.save_npz` (.npz).

        Raises:
            InputError: The file does not exist, is empty, damaged or of another kind, has not two dimensions
                or holds something other than real numbers of 64 bits at most. Nothing is unpickled.
        """
        path = Path(path)
        if path.suffix.lower() not in (".npy", ".npz"):
            raise InputError(
                f"{path} is not a file of vectors: save an array by numpy.save (.npy), or a sparse matrix by"
                " scipy.sparse.save_npz (.npz)"
            )
        matrix = _mapped(path) if path.suffix.lower() == ".npy" else read_counts(path)
        return cls(matrix, vocabulary, path, checksum(path))

    def rows(self, numbers: Sequence[int] | Int[np.ndarray, "..."]) -> VectorRows:
        """Some rows, in memory."""
        found = self.matrix[document_numbers(numbers, self.num_documents)]
        return found if sp.issparse(found) else np.asarray(found)

    def identities(self, numbers: Sequence[int] | Int[np.ndarray, "..."]) -> list[Document]:
        """Who rows are: their numbers."""
        return [Document(str(number), {}) for number in document_numbers(numbers, self.num_documents)]

    def split(self, held_out: int, seed: int) -> "tuple[VectorView, VectorRows]":
        """Set rows aside at random; see `Corpus.split`.

        Raises:
            InputError: ``held_out`` is not between 1 and the number of rows less 1.
            ValueError: ``held_out`` is no whole number.
        """
        held_out = whole("held_out", held_out, 0)
        if not 0 < held_out < self.num_documents:
            raise InputError(
                f"held_out must lie between 1 and {self.num_documents - 1} ({self.num_documents} rows), got"
                f" {held_out}"
            )
        order = HELD_OUT_DOCUMENTS.generator(seed).permutation(self.num_documents)
        aside = np.sort(order[:held_out])
        return VectorView(self, np.sort(order[held_out:])), self.rows(aside)

    def describe(self) -> Iterator[str]:
        """A line of text for a reader."""
        matrix = self.matrix
        kind = f"sparse, {matrix.nnz:,} values" if sp.issparse(matrix) else f"dense, {matrix.dtype}"
        yield f"{self.num_documents:,} vectors of {self.num_words:,} numbers, {kind}"


class VectorView:
    """Some rows of a `VectorSource`, numbered from 0; of dense ones no copy is made.

    Args:
        source: All rows.
        documents: Numbers of the view's rows in it.
    """

    def __init__(self, source: VectorSource, documents: Int[np.ndarray, " D"]) -> None:
        self.documents, self.num_documents, self.num_words = documents, len(documents), source.num_words
        self.path = source.path
        whole = source.matrix
        self.matrix: Any = whole[documents] if sp.issparse(whole) else _ChosenRows(whole, documents)


class _ChosenRows:
    """Rows of an array that are read as they are asked for."""

    def __init__(self, array: Real[np.ndarray, "D V"], numbers: Int[np.ndarray, " S"]) -> None:
        self.array, self.numbers, self.shape = array, numbers, (len(numbers), array.shape[1])

    def __getitem__(self, key: Any) -> Real[np.ndarray, "R V"]:
        return np.asarray(self.array[self.numbers[key]])


def _mapped(path: Path) -> Real[np.ndarray, "D V"]:
    """A dense array on the disk."""
    with open_regular(path) as stream:
        header, start = read_header(stream, path), stream.tell()
    if len(header.shape) != 2:
        raise InputError(f"{path} holds an array of {len(header.shape)} dimensions; rows of vectors are 2")
    if header.dtype.kind not in "biuf" or header.dtype.itemsize > 8:
        raise InputError(
            f"{path} holds values of type {header.dtype}; vectors are real numbers of 64 bits at most: save"
            " them as float32, x.astype('float32')"
        )
    for size, what in zip(header.shape, ("rows", "columns"), strict=True):
        if size == 0:
            raise InputError(f"{path} has no {what}")
    if path.stat().st_size != start + header.nbytes:
        more = "more" if path.stat().st_size > start + header.nbytes else "fewer"
        raise InputError(f"{path} was cut off or changed: it has {more} bytes than its header says")
    order: Literal["F", "C"] = "F" if header.fortran_order else "C"
    return np.memmap(path, header.dtype, "r", start, header.shape, order)
