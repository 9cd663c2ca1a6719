"""A corpus: counts of words in documents, in memory or in a directory that is read by memory map."""

import json
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int

from geodrift._errors import InputError
from geodrift.data._constructors import CorpusConstructors
from geodrift.data._shards import FORMAT_VERSION, Shard, ShardInfo, finish_directory, spans, write_shards
from geodrift.data._verify import verify_directory
from geodrift.files import new_directory, read_json
from geodrift.kernels._streams import HELD_OUT_DOCUMENTS

_WHAT = "a corpus directory"
_MAX_OPEN_SHARDS = 200


class Corpus(CorpusConstructors):
    """Documents as sparse rows of counts, with the words of the columns.

    Made by `Corpus.open`, `from_matrix`, `from_uci`, `from_lda_c`, `from_matrix_market`, `from_gensim`; of
    text by `build_corpus`; or by `demo_corpus`. Rows are fetched by `rows(indices)`, whose cost is that of
    the rows asked for, whatever the size of the corpus.
    """

    def __init__(
        self,
        shards: Sequence[Shard],
        manifest: dict[str, Any],
        *,
        vocabulary: list[str] | None = None,
        document_frequencies: np.ndarray | None = None,
        path: Path | None = None,
    ):
        self._shards = list(shards)
        self._starts = np.concatenate([[0], np.cumsum([shard.documents for shard in shards])]).astype(
            np.int64
        )
        self._open_shards: deque[Shard] = deque()
        self._vocabulary = vocabulary
        self._document_frequencies = document_frequencies
        self.manifest = manifest
        self.path = path

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a corpus directory; nothing but the manifest is read until it is needed.

        Raises:
            InputError: Not a corpus directory, one cut off half-way, or one of a newer format.
        """
        path = Path(path)
        if not path.exists():
            raise InputError(f"{path} does not exist")
        manifest = read_json(path / "manifest.json", _WHAT)
        version = manifest.get("format_version")
        if not isinstance(version, int) or manifest.get("format") != "geodrift-corpus":
            raise InputError(f"{path} is not {_WHAT}: its manifest.json is of something else")
        if version > FORMAT_VERSION:
            raise InputError(
                f"{path} has corpus format {version}, newer than this geodrift reads ({FORMAT_VERSION})"
            )
        for name, size in manifest["sizes"].items():
            file = path / name
            if not file.is_file():
                raise InputError(f"corpus {path} is incomplete: {name} is missing")
            if file.stat().st_size != size:
                raise InputError(f"corpus {path} was cut off or changed: {name} should have {size:,} bytes")
        shards = [Shard(ShardInfo(**shard), folder=path) for shard in manifest["shards"]]
        return cls(shards, manifest, path=path)

    @property
    def num_documents(self) -> int:
        """Rows, empty ones included."""
        return int(self.manifest["documents"])

    @property
    def num_words(self) -> int:
        """Columns."""
        return int(self.manifest["words"])

    @property
    def num_nonzeros(self) -> int:
        """Stored counts."""
        return int(self.manifest["nnz"])

    @property
    def num_empty_documents(self) -> int:
        """Documents without a word; they are rows like the others."""
        return int(self.manifest["empty_documents"])

    @property
    def vocabulary(self) -> list[str]:
        """The word of each column."""
        if self._vocabulary is None:
            text = (self._folder / "vocabulary.txt").read_text(encoding="utf-8")
            words = text.removesuffix("\n").split("\n")
            if len(words) != self.num_words:
                raise InputError(f"corpus {self.path}: vocabulary.txt should have {self.num_words:,} lines")
            self._vocabulary = words
        return self._vocabulary

    @property
    def document_frequencies(self) -> Int[np.ndarray, " V"]:
        """In how many documents each word occurs."""
        if self._document_frequencies is None:
            self._document_frequencies = np.load(
                self._folder / "document-frequencies.npy", allow_pickle=False
            )
        return self._document_frequencies

    @property
    def checksum(self) -> str | None:
        """Identifies the documents and the vocabulary; None in memory."""
        return self.manifest.get("checksum")

    def rows(self, indices: Sequence[int] | np.ndarray) -> sp.csr_matrix:
        """The documents at `indices`, in that order; an index may occur more than once.

        Raises:
            IndexError: An index outside 0 .. num_documents - 1.
        """
        indices = np.asarray(indices, dtype=np.int64).reshape(-1)
        if indices.size and (indices.min() < 0 or indices.max() >= self.num_documents):
            raise IndexError(
                f"documents are 0 to {self.num_documents - 1}, got {indices.min()} to {indices.max()}"
            )
        if not indices.size:
            return sp.csr_matrix((0, self.num_words), dtype=np.int32)
        owners = np.searchsorted(self._starts, indices, side="right") - 1
        order = np.argsort(owners, kind="stable")
        shards, firsts = np.unique(owners[order], return_index=True)
        parts = []
        for shard, mine in zip(shards, np.split(order, firsts[1:]), strict=True):
            self._limit_open(self._shards[shard])
            parts.append(self._shards[shard].gather(indices[mine] - self._starts[shard]))
        lengths, columns, data = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        if len(parts) > 1:
            # From the order of the shards to the order asked for.
            back = np.argsort(order)
            places = spans((np.cumsum(lengths) - lengths)[back], lengths[back])
            lengths, columns, data = lengths[back], columns[places], data[places]
        return sp.csr_matrix(
            (data, columns, np.append(0, np.cumsum(lengths))), shape=(len(indices), self.num_words)
        )

    def matrix(self) -> sp.csr_matrix:
        """The whole corpus in memory."""
        return sp.vstack([shard.matrix(self.num_words) for shard in self._shards], format="csr")

    def save(self, path: str | Path) -> "Corpus":
        """Write the corpus as a directory at `path` and open it."""
        blocks = (shard.matrix(self.num_words) for shard in self._shards)
        with new_directory(Path(path)) as folder:
            parts = write_shards(folder, "shard", blocks, self.num_words)
            finish_directory(
                folder, [parts], self.vocabulary, self.manifest["made"], self.manifest["dropped"]
            )
        return Corpus.open(path)

    def verify(self) -> None:
        """Read everything and compare it with the manifest.

        Raises:
            InputError: A checksum, a count or an index that does not fit.
        """
        if self.path is not None:
            verify_directory(self.path, self.manifest)

    def split(self, held_out: int, seed: int) -> "tuple[CorpusView, sp.csr_matrix]":
        """Set `held_out` documents that are not empty aside: the rest as a view, and their rows.

        The choice is a function of the corpus and the seed.
        """
        full = self.num_documents - self.num_empty_documents
        if not 0 < held_out < full:
            raise InputError(
                f"held_out must lie between 1 and {full - 1} ({full} documents have words), got {held_out}"
            )
        order = HELD_OUT_DOCUMENTS.generator(seed).permutation(self.num_documents)
        aside = np.sort(order[self._lengths()[order] > 0][:held_out])
        rows = self.rows(aside)
        keep = np.ones(self.num_documents, dtype=bool)
        keep[aside] = False
        frequencies = self.document_frequencies - np.bincount(rows.indices, minlength=self.num_words)
        return CorpusView(self, np.flatnonzero(keep), frequencies), rows

    def __repr__(self) -> str:
        where = f" at {self.path}" if self.path else ""
        size = f"{self.num_documents:,} documents, {self.num_words:,} words, {self.num_nonzeros:,} counts"
        return f"Corpus({size}{where})"

    def _lengths(self) -> np.ndarray:
        lengths = [np.zeros(0, dtype=np.int64)]
        for shard in self._shards:
            self._limit_open(shard)
            lengths.append(shard.lengths())
        return np.concatenate(lengths)

    def _limit_open(self, shard: Shard) -> None:
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


@dataclass(frozen=True, eq=False)
class CorpusView:
    """Some documents of a corpus, renumbered from zero."""

    corpus: Corpus
    documents: np.ndarray
    document_frequencies: np.ndarray

    @property
    def num_documents(self) -> int:
        """Rows of the view."""
        return len(self.documents)

    @property
    def num_words(self) -> int:
        """Columns, those of the corpus."""
        return self.corpus.num_words

    @property
    def vocabulary(self) -> list[str]:
        """The word of each column."""
        return self.corpus.vocabulary

    def rows(self, indices: Sequence[int] | np.ndarray) -> sp.csr_matrix:
        """The documents at `indices` of the view."""
        return self.corpus.rows(self.documents[np.asarray(indices)])

    def matrix(self) -> sp.csr_matrix:
        """The whole view in memory."""
        return self.corpus.rows(self.documents)


def describe(corpus: Corpus) -> Iterable[str]:
    """Lines for a reader: the size of the corpus and what was dropped on the way."""
    manifest = corpus.manifest
    yield (
        f"{corpus.num_documents:,} documents, {corpus.num_words:,} words, {corpus.num_nonzeros:,} counts, "
        f"{manifest['tokens']:,.0f} tokens"
    )
    for reason, number in manifest["dropped"].items():
        if number:
            yield f"dropped: {number:,} {reason}"
    if corpus.num_empty_documents:
        yield f"{corpus.num_empty_documents:,} documents are empty (kept as rows)"


def manifest_text(corpus: Corpus) -> str:
    """The manifest as JSON, without the table of files."""
    hidden = {"shards", "sizes", "checksums"}
    return json.dumps({key: value for key, value in corpus.manifest.items() if key not in hidden}, indent=2)
