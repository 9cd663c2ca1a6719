"""The files of a corpus directory: shards, which are blocks of CSR rows as .npy files, read by memory map."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int, Shaped
from numpy.typing import DTypeLike

from geodrift._errors import InputError
from geodrift.data._counts import narrow
from geodrift.data._npy_arrays import read_header
from geodrift.data._sparse_structure import check_indices, check_pointers

_MAX_DOCUMENTS = 1_000_000
_MAX_NONZEROS = 128_000_000
_FEW = 10_000  # stored counts up to which a look-up of each takes less time than scipy's preparations
PARTS = ("indptr", "indices", "data")

CsrArrays: TypeAlias = tuple[Int[np.ndarray, " P"], Int[np.ndarray, " nnz"], Shaped[np.ndarray, " nnz"]]


class ShardInfo(NamedTuple):
    """A shard's entry in the manifest; its files are NAME-indptr.npy, NAME-indices.npy and NAME-data.npy."""

    name: str
    documents: int  # rows
    nnz: int  # stored counts


class ShardSet(NamedTuple):
    """The shards written by one call of `write_shards`, and their totals."""

    shards: list[ShardInfo]
    document_frequencies: Int[np.ndarray, " V"]
    tokens: float  # sum of all counts
    empty_documents: int


class Shard:
    """A block of CSR rows, in memory or in files that are opened when first read.

    Args:
        info: The entry in the manifest.
        folder: The corpus directory; None: in memory.
        arrays: CSR index pointers, columns and counts of a shard in memory.
        unchecked_words: V where nobody has checked the files: the structure of what is read is checked then,
            whenever it is read, since compiled code follows it. None: they were checked.
    """

    def __init__(
        self,
        info: ShardInfo,
        *,
        folder: Path | None = None,
        arrays: CsrArrays | None = None,
        unchecked_words: int | None = None,
    ) -> None:
        self._unchecked_words = unchecked_words
        self.documents = info.documents
        self._info = info
        self._folder = folder
        self._arrays = arrays
        self._rows: sp.csr_matrix | None = None

    @classmethod
    def in_memory(cls, rows: sp.csr_matrix) -> "Shard":
        """A shard of rows in memory."""
        info = ShardInfo("memory", rows.shape[0], int(rows.nnz))
        return cls(info, arrays=(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data))

    @property
    def is_open(self) -> bool:
        """Whether the arrays are in memory or mapped."""
        return self._arrays is not None

    def close(self) -> None:
        """Close the memory maps; the next read opens them again."""
        if self._folder is not None:
            self._arrays = self._rows = None

    def _open(self) -> CsrArrays:
        """Index pointers, columns and counts, opened if they are not."""
        arrays = self._arrays  # of chains in several threads, one may close what another reads
        if arrays is None:
            if self._folder is None:
                raise RuntimeError("a shard in memory has its arrays from the start")
            start = f"{self._folder / self._info.name}-"
            indptr = open_array(Path(f"{start}indptr.npy"), np.int64, self.documents + 1)
            columns = open_array(Path(f"{start}indices.npy"), np.int32, self._info.nnz)
            data = open_array(Path(f"{start}data.npy"), (np.int32, np.float32), self._info.nnz)
            if self._unchecked_words is not None:
                check_pointers(indptr, self.documents, self._info.nnz, f"{start}indptr.npy")
            arrays = self._arrays = indptr, columns, data
        return arrays

    @property
    def holds_counts(self) -> bool:
        """Whether the values are whole numbers: they are stored as such where they fit into 32 bits."""
        data = self._open()[2]
        if data.dtype.kind == "i":
            return True
        blocks = (data[start : start + _FEW] for start in range(0, len(data), _FEW))
        return all(np.array_equal(block, np.rint(block)) for block in blocks)

    def lengths(self) -> Int[np.ndarray, " D"]:
        """Number of stored counts of each row."""
        return np.diff(self._open()[0])

    def gather(self, indices: Int[np.ndarray, " R"]) -> CsrArrays:
        """Lengths, columns and counts of the given rows; only their pages of the files are read."""
        indptr, columns, data = self._open()
        starts = np.asarray(indptr[indices])
        lengths = np.asarray(indptr[indices + 1]) - starts
        if lengths.sum() <= _FEW:
            places = spans(starts, lengths)
            columns = columns[places]
            self._check(columns)
            return lengths, columns, data[places]
        every = self._rows
        if every is None:
            # scipy's own indexing is compiled; the number of columns does not matter to it.
            every = sp.csr_matrix((data, columns, indptr), shape=(self.documents, np.iinfo(np.int32).max))
            self._rows = every
        rows = every[indices]
        self._check(rows.indices)
        return lengths, rows.indices, rows.data

    def _check(self, columns: Int[np.ndarray, " nnz"]) -> None:
        """Refuse columns beyond the vocabulary, where nobody has checked the files."""
        if self._unchecked_words is not None:
            check_indices(columns, self._unchecked_words, f"{self._folder / self._info.name}-indices.npy")

    def matrix(self, num_words: int) -> sp.csr_matrix:
        """The whole shard, copied into memory, [documents, V]."""
        indptr, columns, data = self._open()
        self._check(columns)
        arrays = (np.array(data), np.array(columns), np.array(indptr))
        return sp.csr_matrix(arrays, shape=(self.documents, num_words))


def open_array(
    file: Path, dtypes: DTypeLike | tuple[DTypeLike, ...], length: int
) -> Shaped[np.ndarray, " length"]:
    """Map a vector in a .npy file into memory.

    Args:
        file: The file.
        dtypes: The types, or the one, that it may have.
        length: Number of its values.

    Raises:
        InputError: It holds something else.
    """
    with file.open("rb") as stream:
        header, offset = read_header(stream, file), stream.tell()
    allowed = [np.dtype(each) for each in (dtypes if isinstance(dtypes, tuple) else (dtypes,))]
    if header.dtype not in allowed or header.shape != (length,):
        raise InputError(
            f"{file} holds {header.dtype}{list(header.shape)}, not {' or '.join(map(str, allowed))}[{length}]"
        )
    if file.stat().st_size != offset + header.nbytes:
        raise InputError(f"{file} was cut off or changed: its size is not that of {length:,} values")
    if not length:
        # A map of no bytes is refused by the operating system.
        return np.zeros(0, header.dtype)
    return np.memmap(file, header.dtype, "r", offset, header.shape)


def spans(starts: Int[np.ndarray, " R"], lengths: Int[np.ndarray, " R"]) -> Int[np.ndarray, " N"]:
    """The indices starts[r], ..., starts[r] + lengths[r] - 1 of each r, one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)


def write_shards(folder: Path, prefix: str, blocks: Iterable[sp.csr_matrix], num_words: int) -> ShardSet:
    """Write blocks of rows as shards of bounded size; one block is in memory at a time.

    Args:
        folder: The corpus directory.
        prefix: Of the shards' names.
        blocks: Checked rows, [documents, V] each.
        num_words: V.
    """
    shards: list[ShardInfo] = []
    frequencies = np.zeros(num_words, dtype=np.int64)
    tokens, empty = 0.0, 0
    for block in blocks:
        frequencies += np.bincount(block.indices, minlength=num_words)
        tokens += block.data.sum(dtype=np.float64).item()
        empty += int((np.diff(block.indptr) == 0).sum())
        for start, stop in _cuts(block.indptr):
            info = ShardInfo(
                f"{prefix}-{len(shards):05d}", stop - start, int(block.indptr[stop] - block.indptr[start])
            )
            _write_shard(folder, info.name, block[start:stop])
            shards.append(info)
    return ShardSet(shards, frequencies, tokens, empty)


def _cuts(indptr: Int[np.ndarray, " P"]) -> Iterator[tuple[int, int]]:
    """First and last row (exclusive) of each shard of a block with these index pointers."""
    start, documents = 0, len(indptr) - 1
    while start < documents:
        by_size = int(np.searchsorted(indptr, indptr[start] + _MAX_NONZEROS, side="right")) - 1
        stop = max(start + 1, min(start + _MAX_DOCUMENTS, by_size, documents))
        yield start, stop
        start = stop


def _write_shard(folder: Path, name: str, rows: sp.csr_matrix) -> None:
    # Blocks of whole numbers and of fractions that were joined are of double precision.
    data = rows.data if rows.dtype in (np.int32, np.float32) else narrow(rows.data)
    arrays = (rows.indptr.astype(np.int64), rows.indices.astype(np.int32), data)
    for part, array in zip(PARTS, arrays, strict=True):
        np.save(folder / f"{name}-{part}.npy", array, allow_pickle=False)
