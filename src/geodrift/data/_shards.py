"""The files of a corpus directory: CSR shards as plain .npy, read by memory map."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from geodrift.files import checksum, write_json

FORMAT_VERSION = 1
_MAX_DOCUMENTS = 1_000_000
_MAX_NONZEROS = 128_000_000
_PARTS = ("indptr", "indices", "data")


class ShardInfo(NamedTuple):
    """One shard in the manifest; its files are `name`-indptr.npy and so on."""

    name: str
    documents: int
    nnz: int


class ShardSet(NamedTuple):
    """What one writer wrote."""

    shards: list[ShardInfo]
    document_frequencies: np.ndarray  # int64 [V]
    tokens: float
    empty_documents: int


class Shard:
    """One CSR block, opened when first read."""

    def __init__(self, info: ShardInfo, *, folder: Path | None = None, arrays: tuple | None = None):
        self.documents = info.documents
        self._info = info
        self._folder = folder
        self._arrays = arrays
        self._rows: sp.csr_matrix | None = None

    @classmethod
    def in_memory(cls, rows: sp.csr_matrix) -> "Shard":
        """A shard of arrays at hand."""
        info = ShardInfo("memory", rows.shape[0], int(rows.nnz))
        return cls(info, arrays=(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data))

    @property
    def is_open(self) -> bool:
        """Whether the arrays are at hand."""
        return self._arrays is not None

    def close(self) -> None:
        """Let go of the memory maps; the next read opens them again."""
        if self._folder is not None:
            self._arrays = self._rows = None

    def _open(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self._arrays is None:
            if self._folder is None:
                raise RuntimeError("a shard in memory has its arrays from the start")
            files = [self._folder / f"{self._info.name}-{part}.npy" for part in _PARTS]
            # A map of no bytes is refused by the operating system.
            mode: Literal["r"] | None = "r" if self._info.nnz else None
            self._arrays = tuple(np.load(file, mmap_mode=mode, allow_pickle=False) for file in files)
        return self._arrays

    def lengths(self) -> np.ndarray:
        """Stored counts of each row."""
        return np.diff(self._open()[0])

    def gather(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Lengths, columns and counts of the rows at `indices`; touches only their pages."""
        if self._rows is None:
            indptr, columns, data = self._open()
            # scipy's own indexing is compiled; the number of columns does not matter to it.
            self._rows = sp.csr_matrix(
                (data, columns, indptr), shape=(self.documents, np.iinfo(np.int32).max)
            )
        rows = self._rows[indices]
        return np.diff(rows.indptr).astype(np.int64), rows.indices, rows.data

    def matrix(self, num_words: int) -> sp.csr_matrix:
        """The whole shard, copied into memory."""
        indptr, columns, data = self._open()
        arrays = (np.array(data), np.array(columns), np.array(indptr))
        return sp.csr_matrix(arrays, shape=(self.documents, num_words))


def spans(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The positions starts[r], ..., starts[r] + lengths[r] - 1 for each r, one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)


def write_shards(folder: Path, prefix: str, blocks: Iterable[sp.csr_matrix], num_words: int) -> ShardSet:
    """Write blocks of rows as shards of bounded size; memory is that of one block."""
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


def _cuts(indptr: np.ndarray) -> Iterable[tuple[int, int]]:
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
    """Write the vocabulary, the document frequencies and the manifest over shards already there."""
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
