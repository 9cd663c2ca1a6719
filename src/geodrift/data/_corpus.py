"""A corpus: counts of words in documents, in memory or in a directory that is read by memory map."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int

from geodrift._errors import InputError
from geodrift._whole import whole
from geodrift.data._constructors import CorpusConstructors
from geodrift.data._document_numbers import document_numbers
from geodrift.data._manifest import finish_directory, written
from geodrift.data._shards import write_shards
from geodrift.data._verify import damaged_files, refuse_damage
from geodrift.files import new_directory
from geodrift.kernels._streams import HELD_OUT_DOCUMENTS


class Corpus(CorpusConstructors):
    """Documents as sparse rows of counts, with the words of the columns.

    Made by `Corpus.open`, `from_matrix`, `from_uci`, `from_lda_c`, `from_matrix_market`, `from_gensim`; from
    text by `build_corpus`; or by `demo_corpus`. `rows(indices)` fetches documents, at the cost of the rows
    asked for, whatever the size of the corpus.
    """

    def save(self, path: str | Path) -> "Corpus":
        """Write the corpus as a directory at `path` and open it.

        Raises:
            InputError: `path` exists.
        """
        blocks = (shard.matrix(self.num_words) for shard in self._shards)
        with new_directory(Path(path)) as folder:
            parts = write_shards(folder, "shard", blocks, self.num_words)
            made, dropped = self.manifest["made"], self.manifest["dropped"]
            told = written(folder, self.documents)
            finish_directory(folder, [parts], self.vocabulary, made, dropped, told)
        return Corpus._written(Path(path))

    def verify(self) -> None:
        """Read every file of the directory and compare it with the manifest; a corpus in memory passes.

        Raises:
            InputError: A checksum, a count or an index does not agree.
        """
        if self.path is not None:
            refuse_damage(self.path, self.manifest, damaged_files)

    def split(self, held_out: int, seed: int) -> "tuple[CorpusView, sp.csr_matrix]":
        """Set documents aside at random, as a function of the corpus and the seed.

        Args:
            held_out: Number of documents to set aside; empty ones are not chosen.
            seed: Seed of the choice.

        Returns:
            The other documents, and the counts of those set aside, [held_out, V].

        Raises:
            InputError: `held_out` is not between 1 and the number of documents with words less 1.
            ValueError: `held_out` is no whole number.
        """
        held_out = whole("held_out", held_out, 0)
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
        documents, words = _counted(self.num_documents, "document"), _counted(self.num_words, "word")
        return f"Corpus({documents}, {words}, {_counted(self.num_nonzeros, 'count')}{where})"


@dataclass(frozen=True, eq=False)
class CorpusView:
    """Some documents of a corpus, numbered from 0.

    Attributes:
        corpus: The whole corpus.
        documents: Numbers of the view's documents in it.
        document_frequencies: Number of documents of the view that hold each word.
    """

    corpus: Corpus
    documents: Int[np.ndarray, " D"]
    document_frequencies: Int[np.ndarray, " V"]

    @property
    def num_documents(self) -> int:
        """D, number of rows of the view."""
        return len(self.documents)

    @property
    def num_words(self) -> int:
        """V, number of columns, those of the corpus."""
        return self.corpus.num_words

    @property
    def vocabulary(self) -> list[str]:
        """The word of each column."""
        return self.corpus.vocabulary

    def rows(self, indices: Sequence[int] | Int[np.ndarray, "..."]) -> sp.csr_matrix:
        """Fetch documents by their numbers in the view, [len(indices), V]; see `Corpus.rows`."""
        return self.corpus.rows(self.documents[document_numbers(indices, self.num_documents)])

    def matrix(self) -> sp.csr_matrix:
        """The whole view, copied into memory, [D, V]."""
        return self.corpus.rows(self.documents)


def describe(corpus: Corpus) -> Iterator[str]:
    """Lines of text for a reader: the size of the corpus, and what was dropped when it was made."""
    manifest = corpus.manifest
    documents, nonzeros = _counted(corpus.num_documents, "document"), corpus.num_nonzeros
    if corpus.holds_counts:
        words, tokens = _counted(corpus.num_words, "word"), _counted(manifest["tokens"], "token")
        yield f"{documents}, {words}, {_counted(nonzeros, 'count')}, {tokens}"
    else:
        yield f"{documents}, {_counted(corpus.num_words, 'column')}, {_counted(nonzeros, 'value')}"
    for reason, number in manifest["dropped"].items():
        if number:
            yield f"dropped: {number:,} {reason}"
    if corpus.documents is not None:
        more = len(corpus.fields) - 8
        fields = ["the field id" if field == "id" else field for field in corpus.fields[:8]]  # beside the id
        known = ", ".join(fields) + (f" and {more} more" if more > 0 else "")
        yield f"of each document: id{', ' + known if known else ''}"
    if corpus.num_empty_documents:
        number = corpus.num_empty_documents
        told = (
            "1 document is empty (kept as a row)"
            if number == 1
            else f"{number:,} documents are empty (kept as rows)"
        )
        yield told


def manifest_summary(corpus: Corpus) -> dict[str, Any]:
    """The manifest without its lists of files."""
    hidden = {"shards", "document_parts", "sizes", "checksums"}
    return {key: value for key, value in corpus.manifest.items() if key not in hidden}


def _counted(number: float, name: str) -> str:
    return f"{number:,.0f} {name}" + ("" if number == 1 else "s")
