"""Read access to a corpus: its rows, in memory or by memory map, and its vocabulary."""

from collections import deque
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int

from geodrift._errors import InputError
from geodrift.data._document_numbers import document_numbers
from geodrift.data._documents import Document, DocumentTable
from geodrift.data._manifest import FREQUENCIES, VOCABULARY, document_parts_of, read_manifest, shards_of
from geodrift.data._shards import Shard, open_array, spans
from geodrift.data._verify import damaged_files, refuse_damage, wrong_sizes

_MAX_OPEN_SHARDS = 200


class StoredCorpus:
    """Rows and words of a corpus.

    Args:
        shards: Blocks of rows, in order.
        manifest: Sizes, and notes on how the corpus was made.
        vocabulary: V words; None: in the file of the directory.
        document_frequencies: Number of documents with each word; None: in the file of the directory.
        documents: Ids and fields; None: in files of the directory, if anywhere.
        path: The directory; None: in memory.
    """

    def __init__(
        self,
        shards: Sequence[Shard],
        manifest: dict[str, Any],
        *,
        vocabulary: list[str] | None = None,
        document_frequencies: Int[np.ndarray, " V"] | None = None,
        documents: DocumentTable | None = None,
        path: Path | None = None,
    ) -> None:
        self._shards = list(shards)
        self._starts = np.concatenate([[0], np.cumsum([shard.documents for shard in shards])]).astype(
            np.int64
        )
        self._open_shards: deque[Shard] = deque()
        self._vocabulary = vocabulary
        self._documents = documents
        self._document_frequencies = document_frequencies
        self.manifest = manifest
        self.path = path

    @classmethod
    def open(cls, path: str | Path, *, checked: bool = True) -> Self:
        """Open a corpus directory, after a comparison of every file with its checksum in the manifest.

        That reads all files once, with all cores. Afterwards only the rows that are asked for are read.

        Args:
            path: The directory.
            checked: False: only the sizes of the files are compared, and the structure of what is read when
                it is read. Counts may then be wrong where the disk or a copy has changed them.

        Raises:
            InputError: The path is not a corpus directory, a file of it is missing or is not as it was
                written, or its format is newer than this version reads.
        """
        path = Path(path)
        manifest = read_manifest(path)
        refuse_damage(path, manifest, damaged_files if checked else wrong_sizes)
        return cls._mapped(path, manifest, None if checked else manifest["words"])

    @classmethod
    def _written(cls, path: Path) -> Self:
        """Open a corpus directory that was written just now, by this process."""
        return cls._mapped(path, read_manifest(path))

    @classmethod
    def _mapped(cls, path: Path, manifest: dict[str, Any], unchecked_words: int | None = None) -> Self:
        shards = [Shard(info, folder=path, unchecked_words=unchecked_words) for info in shards_of(manifest)]
        return cls(shards, manifest, path=path)

    @property
    def num_documents(self) -> int:
        """D, number of rows, empty ones included."""
        return int(self.manifest["documents"])

    @property
    def num_words(self) -> int:
        """V, number of columns."""
        return int(self.manifest["words"])

    @property
    def num_nonzeros(self) -> int:
        """Number of stored counts."""
        return int(self.manifest["nnz"])

    @property
    def holds_counts(self) -> bool:
        """Whether the values are whole numbers, as counts are, and not weights or embeddings."""
        if not float(self.manifest["tokens"]).is_integer():
            return False
        for shard in self._shards:
            self._limit_open(shard)
            if not shard.holds_counts:
                return False
        return True

    @property
    def num_empty_documents(self) -> int:
        """Number of documents without a word; they are rows like the others."""
        return int(self.manifest["empty_documents"])

    @property
    def vocabulary(self) -> list[str]:
        """The word of each column."""
        if self._vocabulary is None:
            try:
                text = (self._folder / VOCABULARY).read_text(encoding="utf-8")
            except UnicodeDecodeError as error:
                raise InputError(f"{self._folder / VOCABULARY} is not UTF-8 (byte {error.start})") from None
            words = text.removesuffix("\n").split("\n")
            if len(words) != self.num_words:
                raise InputError(f"{self._folder / VOCABULARY} should have {self.num_words:,} lines")
            self._vocabulary = words
        return self._vocabulary

    @property
    def document_frequencies(self) -> Int[np.ndarray, " V"]:
        """Number of documents that hold each word."""
        if self._document_frequencies is None:
            self._document_frequencies = np.array(
                open_array(self._folder / FREQUENCIES, np.int64, self.num_words)
            )
        return self._document_frequencies

    @property
    def documents(self) -> DocumentTable | None:
        """Ids and fields of the documents; None where nobody has said who they are, as with plain counts."""
        parts = document_parts_of(self.manifest)
        if self._documents is None and parts:
            self._documents = DocumentTable.open(self._folder, parts, self.fields)
        return self._documents

    @property
    def fields(self) -> list[str]:
        """The names of the documents' fields."""
        return list(self.manifest.get("fields", []))

    def identities(self, indices: Sequence[int] | Int[np.ndarray, "..."]) -> list[Document]:
        """Who documents are: id and fields, or the number as the id where nobody has said; see `rows`."""
        numbers = document_numbers(indices, self.num_documents)
        if self.documents is not None:
            return self.documents.rows(numbers)
        return [Document(str(number), {}) for number in numbers]

    @property
    def checksum(self) -> str | None:
        """SHA-256 of documents, their ids and fields, and vocabulary; None in memory."""
        return self.manifest.get("checksum")

    def rows(self, indices: Sequence[int] | Int[np.ndarray, "..."]) -> sp.csr_matrix:
        """Fetch documents; the cost is that of the rows asked for, whatever the size of the corpus.

        Args:
            indices: Document numbers in any order; a number may occur more than once.

        Returns:
            Counts [len(indices), V], in the order of `indices`.

        Raises:
            IndexError: An index is outside 0 .. num_documents - 1.
            ValueError: They are no whole numbers, such as a mask.
        """
        indices = document_numbers(indices, self.num_documents)
        if not indices.size:
            return sp.csr_matrix((0, self.num_words), dtype=np.int32)
        owners = np.searchsorted(self._starts, indices, side="right") - 1
        if (owners == owners[0]).all():
            order, shards, of_shards = None, owners[:1], [slice(None)]
        else:
            order = np.argsort(owners, kind="stable")
            shards, firsts = np.unique(owners[order], return_index=True)
            of_shards = np.split(order, firsts[1:])
        parts = []
        for shard, mine in zip(shards, of_shards, strict=True):
            self._limit_open(self._shards[shard])
            parts.append(self._shards[shard].gather(indices[mine] - self._starts[shard]))
        lengths, columns, data = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        if order is not None:
            # From the order of the shards to the order asked for.
            back = np.argsort(order)
            places = spans((np.cumsum(lengths) - lengths)[back], lengths[back])
            lengths, columns, data = lengths[back], columns[places], data[places]
        return sp.csr_matrix(
            (data, columns, np.append(0, np.cumsum(lengths))), shape=(len(indices), self.num_words)
        )

    def matrix(self) -> sp.csr_matrix:
        """The whole corpus, copied into memory, [D, V]."""
        return sp.vstack([shard.matrix(self.num_words) for shard in self._shards], format="csr")

    def _lengths(self) -> Int[np.ndarray, " D"]:
        """Number of stored counts of each document."""
        lengths = [np.zeros(0, dtype=np.int64)]
        for shard in self._shards:
            self._limit_open(shard)
            lengths.append(shard.lengths())
        return np.concatenate(lengths)

    def let_go(self) -> None:
        """Close the memory maps; the next read opens them again.

        What was read of a mapped file counts as memory of this process until then.
        """
        while self._open_shards:
            self._open_shards.popleft().close()

    def _limit_open(self, shard: Shard) -> None:
        """Close the shard that has been open longest when `shard` would be one too many."""
        # Each memory map holds a file descriptor, and a process may have few.
        if not shard.is_open:
            self._open_shards.append(shard)
            if len(self._open_shards) > _MAX_OPEN_SHARDS:
                self._open_shards.popleft().close()

    @cached_property
    def _folder(self) -> Path:
        if self.path is None:
            raise RuntimeError("an in-memory corpus has its vocabulary and frequencies from the start")
        return self.path
