"""From text to counts in two passes over the sources, which may run in several processes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from geodrift._errors import InputError
from geodrift.data._corpus import Corpus
from geodrift.data._counts import check_counts, check_vocabulary
from geodrift.data._manifest import finish_directory
from geodrift.data._shards import ShardSet, write_shards
from geodrift.data._sources import Source, read_documents
from geodrift.data._text import TextOptions
from geodrift.data._workers import mapped
from geodrift.files import new_directory, refuse_existing

_DOCUMENTS_A_BLOCK = 50_000


class Frequencies(NamedTuple):
    """Result of the first pass over a source."""

    documents: int
    tokens: int
    words: Counter[str]  # number of documents that hold each word


def count_frequencies(source: Source, options: TextOptions) -> Frequencies:
    """First pass: the number of documents of the source that hold each word."""
    return _frequencies_of(read_documents(source), options)


def count_blocks(source: Source, options: TextOptions, words: Sequence[str]) -> Iterator[sp.csr_matrix]:
    """Second pass: counts of `words` in the documents of the source, in blocks of rows."""
    return _blocks_of(read_documents(source), options, words)


def build_corpus(
    sources: Sequence[Source], options: TextOptions, path: str | Path | None = None, *, workers: int = 1
) -> Corpus:
    """Make a corpus of text: in memory, or as a directory when `path` is given.

    Args:
        sources: From `find_sources`.
        options: How text becomes words, and which words are kept.
        path: The directory to write, which must not exist. Memory is then bounded by one block of documents
            and the vocabulary.
        workers: Number of processes that read sources.

    Raises:
        InputError: `path` exists, text cannot be read, or no word is left. Nothing is written then.
    """
    if path is not None:
        refuse_existing(Path(path))
    with mapped(min(workers, len(sources))) as each:
        found = list(each(partial(count_frequencies, options=options), sources))
        words, dropped = choose_words(_total(found), options)
        made = {"from": "text", "options": options.to_dict(), "sources": len(sources)}
        if path is None:
            blocks = (block for source in sources for block in count_blocks(source, options, words))
            return _in_memory(blocks, words, made, dropped)
        with new_directory(Path(path)) as folder:
            write = partial(_write_source, options=options, words=words, folder=folder)
            parts = list(each(write, list(enumerate(sources))))
            finish_directory(folder, parts, words, made, dropped)
    return Corpus._written(Path(path))


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
    """Count the words of a given vocabulary in new documents, [D, V]; other words are ignored.

    Args:
        sources: From `find_sources`.
        options: How text becomes words; the limits on their frequencies are not used.
        vocabulary: V words, such as those of a corpus.

    Raises:
        InputError: Text cannot be read.
    """
    return sp.vstack(
        [block for source in sources for block in count_blocks(source, options, vocabulary)], format="csr"
    )


def choose_words(found: Frequencies, options: TextOptions) -> tuple[list[str], dict[str, int]]:
    """Choose the vocabulary by document frequency.

    Returns:
        The words in alphabetical order, and the number of words dropped for each reason.

    Raises:
        InputError: There are no documents, or no word is left.
    """
    if found.documents == 0:
        raise InputError("the input has no documents")
    low, high = options.limits(found.documents)
    kept = [word for word, number in found.words.items() if low <= number <= high]
    dropped = {
        f"words in fewer than {low:g} documents": sum(number < low for number in found.words.values()),
        f"words in more than {high:g} documents": sum(number > high for number in found.words.values()),
    }
    if options.max_words is not None and len(kept) > options.max_words:
        dropped[f"words beyond the {options.max_words:,} most frequent"] = len(kept) - options.max_words
        kept = sorted(kept, key=lambda word: (-found.words[word], word))[: options.max_words]
    if not kept:
        raise InputError(
            f"no words are left: of {len(found.words):,} (no stop words) none is in {low:g} to {high:g} "
            f"of the {found.documents:,} documents; change --min-df, --max-df or --stop-words"
        )
    try:
        return check_vocabulary(sorted(kept), len(kept)), dropped
    except InputError as error:
        pattern = options.token_pattern[:200]
        raise InputError(f"token pattern {pattern!r} finds what is no word: {error}") from None


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
            f"no words are left: none of {corpus.num_words:,} is in {low:g} to {high:g} documents"
        )
    words = [corpus.vocabulary[column] for column in keep]
    dropped = {f"words outside {low:g} to {high:g} documents": corpus.num_words - len(keep)}
    rows = check_counts(corpus.matrix()[:, keep])
    return Corpus._from_checked(rows, words, made=corpus.manifest["made"], dropped=dropped)


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
    blocks: Iterable[sp.csr_matrix], words: list[str], made: dict[str, Any], dropped: dict[str, int]
) -> Corpus:
    rows = sp.vstack(list(blocks), format="csr")
    return Corpus._from_checked(
        check_counts(rows), check_vocabulary(words, rows.shape[1]), made=made, dropped=dropped
    )


def _write_source(
    numbered: tuple[int, Source], options: TextOptions, words: list[str], folder: Path
) -> ShardSet:
    number, source = numbered
    return write_shards(folder, f"shard-{number:05d}", count_blocks(source, options, words), len(words))
