"""The ways to make a corpus from counts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from geodrift._errors import InputError
from geodrift.data._bags import read_lda_c, read_lists, read_uci
from geodrift.data._counts import canonical_rows, check_counts, check_vocabulary, refuse_empty
from geodrift.data._document_writer import table_of
from geodrift.data._documents import DocumentTable
from geodrift.data._limits import default_words
from geodrift.data._manifest import finish_directory, written
from geodrift.data._matrix_market import read_matrix_market
from geodrift.data._shards import Shard, write_shards
from geodrift.data._stored_corpus import StoredCorpus
from geodrift.data._vocabulary import read_vocabulary, words_by_id
from geodrift.files import new_directory

_NONZEROS_A_SHARD = 8_000_000


class CorpusConstructors(StoredCorpus):
    """Class methods that make a `Corpus`; each writes a corpus directory where a ``path`` is given."""

    @classmethod
    def from_matrix(
        cls,
        matrix: sp.spmatrix | sp.sparray | np.ndarray,
        vocabulary: Sequence[str] | np.ndarray | None = None,
        path: str | Path | None = None,
        *,
        signed: bool = False,
        made: dict[str, Any] | None = None,
        ids: Sequence[Any] | np.ndarray | None = None,
        fields: Any = None,
    ) -> Self:
        """Make a corpus from a matrix of counts, documents by words; no column is dropped or moved.

        Args:
            matrix: [D, V], sparse or dense, not negative, finite. It is copied.
            vocabulary: The word of each column, such as scikit-learn's ``get_feature_names_out()``; `word0`,
                `word1`, ... when not given.
            path: Where to write a corpus directory. In memory when not given.
            signed: Allow negative values (embeddings).
            made: Notes for the manifest on how the counts were made.
            ids: What each document is called; the numbers from 0 when not given.
            fields: What else is known of each document, such as a title, a date or a group: D values by name,
                or a DataFrame of D rows.

        Raises:
            InputError: A count is negative or not finite, all are 0, the vocabulary does not have V words,
                there are not D ids or values of a field, a field holds what is no number, date or text,
                or `path` exists.
        """
        rows = check_counts(matrix, signed=signed)
        words = default_words(rows.shape[1]) if vocabulary is None else list(vocabulary)
        table = None if ids is None and fields is None else table_of(rows.shape[0], ids, fields)
        return cls._from_checked(rows, check_vocabulary(words, rows.shape[1]), path, made, documents=table)

    @classmethod
    def from_uci(
        cls,
        docword: str | Path,
        vocabulary: str | Path | Sequence[str] | None = None,
        path: str | Path | None = None,
    ) -> Self:
        """Make a corpus from a bag of words in the format of the UCI repository.

        The file is read block by block, so that with a `path` it may be larger than memory.

        Args:
            docword: `docword.NAME.txt`, which may be compressed (.gz, .bz2): documents, words and number of
                counts on three lines, then ``document word count`` on each, numbered from 1.
            vocabulary: Words, or the file of words. None: `vocab.NAME.txt` beside it where there is one.
            path: Where to write a corpus directory. In memory when not given.

        Raises:
            InputError: A line is wrong (the message quotes it), the file was cut off, the vocabulary has
                another number of words, or `path` exists.
        """
        docword = Path(docword)
        if vocabulary is None and (beside := _uci_vocabulary(docword)).is_file():
            vocabulary = beside
        num_words, blocks = read_uci(docword)
        words = default_words(num_words, docword) if vocabulary is None else _words(vocabulary)
        if len(words) != num_words:
            raise InputError(f"{docword} has {num_words:,} words but the vocabulary has {len(words):,}")
        return cls._from_blocks(blocks, words, path, {"from": "uci"})

    @classmethod
    def from_lda_c(
        cls,
        file: str | Path,
        vocabulary: str | Path | Sequence[str] | None = None,
        path: str | Path | None = None,
    ) -> Self:
        """Make a corpus from a file in the format of LDA-C, block by block.

        Args:
            file: A line for each document, ``N word:count ... word:count``, words numbered from 0; it may be
                compressed.
            vocabulary: Words, or the file of words; there may be more than occur. `word0`, `word1`, ... when
                not given.
            path: Where to write a corpus directory. In memory when not given.

        Raises:
            InputError: A line is wrong (the message quotes it), a word is beyond the vocabulary, or `path`
                exists.
        """
        words = None if vocabulary is None else _words(vocabulary)
        num_words, blocks = read_lda_c(Path(file), None if words is None else len(words))
        if words is None:
            words = default_words(num_words, file)
        return cls._from_blocks(blocks, words, path, {"from": "lda-c"})

    @classmethod
    def from_matrix_market(
        cls,
        file: str | Path,
        vocabulary: str | Path | Sequence[str] | None = None,
        path: str | Path | None = None,
    ) -> Self:
        """Make a corpus from a Matrix Market file, documents by words, as `MmCorpus` or `mmwrite` writes it.

        Args:
            file: The file, which may be compressed.
            vocabulary: Words, or the file of words: one a line, or a gensim dictionary saved by
                `save_as_text`. It may have more words than the file has columns. `word0`, `word1`, ... when
                not given.
            path: Where to write a corpus directory. In memory when not given.

        Raises:
            InputError: The file is not in this format or was cut off, a count is negative or not finite, a
                word is beyond the vocabulary, or `path` exists.
        """
        matrix = read_matrix_market(Path(file))
        words = default_words(matrix.shape[1], file) if vocabulary is None else _words(vocabulary)
        if len(words) < matrix.shape[1]:
            raise InputError(f"{file} has {matrix.shape[1]:,} words but the vocabulary has {len(words):,}")
        matrix.resize(matrix.shape[0], len(words))
        try:
            return cls._from_blocks([matrix], words, path, {"from": "matrix-market"})
        except InputError as error:
            raise InputError(f"{file}: {error}") from None

    @classmethod
    def from_gensim(
        cls,
        documents: Iterable[Iterable[tuple[int, float]]],
        dictionary: Mapping[int, str] | Sequence[str],
        path: str | Path | None = None,
    ) -> Self:
        """Make a corpus from gensim's bags of words, block by block.

        Args:
            documents: Lists of (word number, count), as `Dictionary.doc2bow` makes; any iterable, read once.
            dictionary: gensim's `Dictionary`, a mapping from numbers to words, or the words in order.
            path: Where to write a corpus directory. In memory when not given.

        Raises:
            InputError: A document is not such a list (the message quotes it), a number has no word, a count
                is negative, or `path` exists.
        """
        words = words_by_id(dictionary) if isinstance(dictionary, Mapping) else list(dictionary)
        return cls._from_blocks(read_lists(documents, len(words)), words, path, {"from": "gensim"})

    @classmethod
    def _from_blocks(
        cls, blocks: Iterable[sp.csr_matrix], words: list[str], path: str | Path | None, made: dict[str, Any]
    ) -> Self:
        """Check blocks of rows and make a corpus of them; with a path, in the memory of one shard."""
        words, checked = check_vocabulary(words, len(words)), map(canonical_rows, blocks)
        if path is None:
            parts = list(checked)
            rows = sp.vstack(parts, format="csr") if parts else sp.csr_matrix((0, len(words)), dtype=np.int32)
            refuse_empty(rows.shape[0], rows.shape[1], rows.nnz)
            return cls._from_checked(rows, words, None, made)
        with new_directory(Path(path)) as folder:
            written = write_shards(folder, "shard", _merged(checked), len(words))
            documents = sum(shard.documents for shard in written.shards)
            refuse_empty(documents, len(words), sum(shard.nnz for shard in written.shards))
            finish_directory(folder, [written], words, made, {})
        return cls._written(Path(path))

    @classmethod
    def _from_checked(
        cls,
        rows: sp.csr_matrix,
        words: list[str],
        path: str | Path | None = None,
        made: dict[str, Any] | None = None,
        dropped: dict[str, int] | None = None,
        documents: DocumentTable | None = None,
    ) -> Self:
        """Make a corpus of checked rows, in memory or as a directory."""
        if path is not None:
            with new_directory(Path(path)) as folder:
                parts = write_shards(folder, "shard", [rows], len(words))
                finish_directory(
                    folder, [parts], words, made or {}, dropped or {}, written(folder, documents)
                )
            return cls._written(Path(path))
        manifest = {
            "documents": rows.shape[0],
            "words": len(words),
            "nnz": int(rows.nnz),
            "tokens": rows.data.sum(dtype=np.float64).item(),
            "empty_documents": int((np.diff(rows.indptr) == 0).sum()),
            "made": made or {},
            "dropped": dropped or {},
            "fields": [] if documents is None else documents.fields,
        }
        frequencies = np.bincount(rows.indices, minlength=len(words)).astype(np.int64)
        shards = [Shard.in_memory(rows)]
        return cls(shards, manifest, vocabulary=words, document_frequencies=frequencies, documents=documents)


def _words(vocabulary: str | Path | Sequence[str]) -> list[str]:
    """The words given, or those of the file given."""
    return read_vocabulary(Path(vocabulary)) if isinstance(vocabulary, str | Path) else list(vocabulary)


def _uci_vocabulary(docword: Path) -> Path:
    """The file `vocab.NAME.txt` beside `docword.NAME.txt`."""
    name = docword.name
    for ending in (".gz", ".bz2"):
        name = name.removesuffix(ending)
    return docword.with_name("vocab." + name.removeprefix("docword."))


def _merged(blocks: Iterable[sp.csr_matrix]) -> Iterator[sp.csr_matrix]:
    """Blocks joined to larger ones: each becomes a shard, and many small shards are slow to read."""
    held: list[sp.csr_matrix] = []
    for block in blocks:
        held.append(block)
        if sum(part.nnz for part in held) >= _NONZEROS_A_SHARD:
            yield sp.vstack(held, format="csr")
            held = []
    if held:
        yield sp.vstack(held, format="csr")
