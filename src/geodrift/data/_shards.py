"""The files of a corpus directory: shards, which are blocks of CSR rows as .npy files, read by memory map."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int, Shaped

from geodrift.files import checksum, write_json

FORMAT_VERSION = 1
_MAX_DOCUMENTS = 1_000_000
_MAX_NONZEROS = 128_000_000
_PARTS = ("indptr", "indices", "data")

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
    """

    def __init__(
        self, info: ShardInfo, *, folder: Path | None = None, arrays: CsrArrays | None = None
    ) -> None:
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
        if self._arrays is None:
            if self._folder is None:
                raise RuntimeError("a shard in memory has its arrays from the start")
            files = [self._folder / f"{self._info.name}-{part}.npy" for part in _PARTS]
            # A map of no bytes is refused by the operating system.
            mode: Literal["r"] | None = "r" if self._info.nnz else None
            indptr, columns, data = (np.load(file, mmap_mode=mode, allow_pickle=False) for file in files)
            self._arrays = indptr, columns, data
        return self._arrays

    def lengths(self) -> Int[np.ndarray, " D"]:
        """Number of stored counts of each row."""
        return np.diff(self._open()[0])

    def gather(self, indices: Int[np.ndarray, " R"]) -> CsrArrays:
        """Lengths, columns and counts of the given rows; only their pages of the files are read."""
        if self._rows is None:
            indptr, columns, data = self._open()
            # scipy's own indexing is compiled; the number of columns does not matter to it.
            self._rows = sp.csr_matrix(
                (data, columns, indptr), shape=(self.documents, np.iinfo(np.int32).max)
            )
        rows = self._rows[indices]
        return np.diff(rows.indptr).astype(np.int64), rows.indices, rows.data

    def matrix(self, num_words: int) -> sp.csr_matrix:
        """The whole shard, copied into memory, [documents, V]."""
        indptr, columns, data = self._open()
        arrays = (np.array(data), np.array(columns), np.array(indptr))
        return sp.csr_matrix(arrays, shape=(self.documents, num_words))


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
    data = rows.data if rows.dtype in (np.int32, np.float32) else rows.data.astype(np.int32)
    arrays = (rows.indptr.astype(np.int64), rows.indices.astype(np.int32), data)
    for part, array in zip(_PARTS, arrays, strict=True):
        np.save(folder / f"{name}-{part}.npy", array, allow_pickle=False)


def finish_directory(
    folder: Path, parts: list[ShardSet], vocabulary: list[str], made: dict[str, Any], dropped: dict[str, int]
) -> None:
    """Complete a corpus directory: write the vocabulary, the document frequencies and the manifest.

    Args:
        folder: The directory, with its shards.
        parts: What `write_shards` returned, in the order of documents.
        vocabulary: V words.
        made: Notes on how the counts were made.
        dropped: Number of words dropped for each reason.
    """
    shards = [shard for part in parts for shard in part.shards]
    (folder / "vocabulary.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8", newline="\n")
    np.save(folder / "document-frequencies.npy", sum(part.document_frequencies for part in parts))
    files = sorted(file.name for file in folder.iterdir())
    checksums = {name: checksum(folder / name) for name in files}
    write_json(
        folder / "manifest.json",
        {
            "format": "geodrift-corpus",
            "format_version": FORMAT_VERSION,
            "documents": sum(shard.documents for shard in shards),
            "words": len(vocabulary),
            "nnz": sum(shard.nnz for shard in shards),
            "tokens": sum(part.tokens for part in parts),
            "empty_documents": sum(part.empty_documents for part in parts),
            "made": made,
            "dropped": dropped,
            "checksum": hashlib.sha256(json.dumps(checksums, sort_keys=True).encode()).hexdigest(),
            "shards": [shard._asdict() for shard in shards],
            "sizes": {name: (folder / name).stat().st_size for name in files},
            "checksums": checksums,
        },
    )
