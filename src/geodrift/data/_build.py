"""From text to counts in two passes over the sources, which may run in several processes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from geodrift._errors import InputError
from geodrift.data._corpus import Corpus
from geodrift.data._counts import check_counts, check_vocabulary, refuse_empty
from geodrift.data._document_writer import DocumentWriter
from geodrift.data._documents import DocumentTable
from geodrift.data._manifest import Told, finish_directory
from geodrift.data._shards import ShardSet, write_shards
from geodrift.data._sources import Source, read_documents, read_identified
from geodrift.data._text import TextOptions
from geodrift.data._word_choice import Frequencies, choose_words, none_within
from geodrift.data._workers import mapped
from geodrift.files import new_directory, refuse_existing

_DOCUMENTS_A_BLOCK = 50_000


def count_frequencies(source: Source, options: TextOptions) -> Frequencies:
    """First pass: the number of documents of the source that hold each word."""
    return _frequencies_of(read_documents(source), options)


def build_corpus(
    sources: Sequence[Source],
    options: TextOptions,
    path: str | Path | None = None,
    *,
    workers: int = 1,
    vocabulary: Sequence[str] | None = None,
) -> Corpus:
    """Make a corpus of text: in memory, or as a directory when `path` is given.

    Args:
        sources: From `find_sources`.
        options: How text becomes words, and which words are kept.
        path: The directory to write, which must not exist. Memory is then bounded by one block of documents
            and the vocabulary.
        workers: Number of processes that read sources.
        vocabulary: The words to count, in their order; None: they are chosen.

    Raises:
        InputError: `path` exists, text cannot be read, no word is left, or no document has a field that is
            to be kept. Nothing is written then.
    """
    if path is not None:
        refuse_existing(Path(path))
    with mapped(min(workers, len(sources))) as each:
        if vocabulary is None:
            found = list(each(partial(count_frequencies, options=options), sources))
            words, dropped = choose_words(_total(found), options)
        else:
            words, dropped = check_vocabulary(vocabulary, len(vocabulary)), {}
        made = {"from": "text", "options": options.to_dict(), "sources": len(sources)}
        if path is None:
            rows, table = count_documents(sources, options, words)
            _check_fields(sources, table.fields)
            return _in_memory([rows], words, made, dropped, table)
        with new_directory(Path(path)) as folder:
            write = partial(_write_source, options=options, words=words, folder=folder)
            parts = list(each(write, list(enumerate(sources))))
            told = Told.joined(documents for _, documents in parts)
            _check_fields(sources, told.fields)
            counted = [shard for shards, _ in parts for shard in shards.shards]
            sizes = sum(shard.documents for shard in counted), sum(shard.nnz for shard in counted)
            refuse_empty(sizes[0], len(words), sizes[1])
            finish_directory(folder, [shards for shards, _ in parts], words, made, dropped, told)
    return Corpus._written(Path(path))


def _check_fields(sources: Sequence[Source], found: Sequence[str]) -> None:
    """Refuse fields to keep that no document has."""
    for field in sources[0].fields or () if sources else ():
        if field not in found:
            raise InputError(f"no document has a field {field!r} with a number, a date or text (--fields)")


def build_from_texts(
    texts: Sequence[str], options: TextOptions, made: dict[str, Any] | None = None
) -> Corpus:
    """Make an in-memory corpus of texts.

    Args:
        texts: One string for each document.
        options: How text becomes words, and which words are kept.
        made: Notes for the manifest on how the counts were made.

    Raises:
        InputError: There are no documents, or no word is left.
    """
    words, dropped = choose_words(_frequencies_of(texts, options), options)
    return _in_memory(_blocks_of(texts, options, words), words, made or {}, dropped)


def count_words(sources: Sequence[Source], options: TextOptions, vocabulary: Sequence[str]) -> sp.csr_matrix:
    """The counts of `count_documents` alone."""
    return count_documents(sources, options, vocabulary)[0]


def count_documents(
    sources: Sequence[Source], options: TextOptions, vocabulary: Sequence[str]
) -> tuple[sp.csr_matrix, DocumentTable]:
    """Count the words of a given vocabulary in new documents, [D, V]; other words are ignored.

    Args:
        sources: From `find_sources`.
        options: How text becomes words; the limits on their frequencies are not used.
        vocabulary: V words, such as those of a corpus.

    Returns:
        The counts, and who the documents are.

    Raises:
        InputError: Text cannot be read.
    """
    writer = DocumentWriter(None)
    blocks = [
        block
        for source in sources
        for block in _blocks_of(writer.noted(read_identified(source)), options, vocabulary)
    ]
    return sp.vstack(blocks, format="csr"), writer.table()


def prune_columns(corpus: Corpus, options: TextOptions) -> Corpus:
    """Drop words by document frequency; the order of the others is kept.

    Args:
        corpus: The corpus, whose counts are copied into memory.
        options: Of which ``min_df``, ``max_df`` and ``max_words`` are used.

    Raises:
        InputError: No word is left.
    """
    frequencies = corpus.document_frequencies
    low, high = options.limits(corpus.num_documents)
    keep = np.flatnonzero((frequencies >= low) & (frequencies <= high))
    if options.max_words is not None and len(keep) > options.max_words:
        by_frequency = np.lexsort((keep, -frequencies[keep]))
        keep = np.sort(keep[by_frequency[: options.max_words]])
    if not len(keep):
        raise InputError(
            f"no words are left: of {corpus.num_words:,} {none_within(low, high)} of the"
            f" {corpus.num_documents:,} documents; change --min-df or --max-df"
        )
    words = [corpus.vocabulary[column] for column in keep]
    dropped = {f"words outside {low:g} to {high:g} documents": corpus.num_words - len(keep)}
    rows = check_counts(corpus.matrix()[:, keep])
    made = corpus.manifest["made"]
    return Corpus._from_checked(rows, words, made=made, dropped=dropped, documents=corpus.documents)


def _frequencies_of(texts: Iterable[str], options: TextOptions) -> Frequencies:
    analyze = options.analyzer()
    words: Counter[str] = Counter()
    documents = tokens = 0
    for text in texts:
        found = analyze(text)
        words.update(set(found))
        documents += 1
        tokens += len(found)
    return Frequencies(documents, tokens, words)


def _total(found: Iterable[Frequencies]) -> Frequencies:
    documents = tokens = 0
    words: Counter[str] = Counter()
    for part in found:
        documents += part.documents
        tokens += part.tokens
        words.update(part.words)
    return Frequencies(documents, tokens, words)


def _blocks_of(texts: Iterable[str], options: TextOptions, words: Sequence[str]) -> Iterator[sp.csr_matrix]:
    analyze = options.analyzer()
    column = {word: place for place, word in enumerate(words)}
    indices: list[int] = []
    data: list[int] = []
    ends = [0]
    for text in texts:
        counts = Counter(place for word in analyze(text) if (place := column.get(word)) is not None)
        for place, number in sorted(counts.items()):
            indices.append(place)
            data.append(number)
        ends.append(len(indices))
        if len(ends) > _DOCUMENTS_A_BLOCK:
            yield _block(data, indices, ends, len(words))
            indices, data, ends = [], [], [0]
    if len(ends) > 1:
        yield _block(data, indices, ends, len(words))


def _block(data: list[int], indices: list[int], ends: list[int], num_words: int) -> sp.csr_matrix:
    arrays = (
        np.array(data, dtype=np.int32),
        np.array(indices, dtype=np.int32),
        np.array(ends, dtype=np.int64),
    )
    return sp.csr_matrix(arrays, shape=(len(ends) - 1, num_words))


def _in_memory(
    blocks: Iterable[sp.csr_matrix],
    words: list[str],
    made: dict[str, Any],
    dropped: dict[str, int],
    documents: DocumentTable | None = None,
) -> Corpus:
    rows = check_counts(sp.vstack(list(blocks), format="csr"))
    words = check_vocabulary(words, rows.shape[1])
    return Corpus._from_checked(rows, words, made=made, dropped=dropped, documents=documents)


def _write_source(
    numbered: tuple[int, Source], options: TextOptions, words: list[str], folder: Path
) -> tuple[ShardSet, Told]:
    """Second pass over one source: its shards, and its part of the table of documents."""
    number, source = numbered
    writer = DocumentWriter(folder, f"part-{number:05d}")
    blocks = _blocks_of(writer.noted(read_identified(source)), options, words)
    shards = write_shards(folder, f"shard-{number:05d}", blocks, len(words))
    return shards, Told.of(writer)
