"""The two passes from text to counts; each is a pure function of one source and may run in a pool."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from geodrift._errors import InputError
from geodrift.data._corpus import Corpus
from geodrift.data._counts import check_counts, check_vocabulary
from geodrift.data._shards import ShardSet, finish_directory, write_shards
from geodrift.data._sources import Source, read_documents
from geodrift.data._text import TextOptions
from geodrift.files import new_directory, refuse_existing

_DOCUMENTS_A_BLOCK = 50_000


class Frequencies(NamedTuple):
    """What the first pass knows of a source."""

    documents: int
    tokens: int
    words: Counter  # word -> documents with it


def count_frequencies(source: Source, options: TextOptions) -> Frequencies:
    """First pass: in how many documents of the source each word occurs."""
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
        options: Tokeniser and pruning.
        path: The directory to write; refused when it exists. Memory is then bounded by one block of documents
            and the vocabulary.
        workers: Processes that read sources.

    Raises:
        InputError: Text that cannot be read, or no word left. Nothing is written then.
    """
    if path is not None:
        refuse_existing(Path(path))
    with _mapper(workers, len(sources)) as each:
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
    return Corpus.open(path)


def build_from_texts(texts: Sequence[str], options: TextOptions, made: dict | None = None) -> Corpus:
    """Make an in-memory corpus of texts at hand."""
    words, dropped = choose_words(_frequencies_of(texts, options), options)
    return _in_memory(_blocks_of(texts, options, words), words, made or {}, dropped)


def count_words(sources: Sequence[Source], options: TextOptions, vocabulary: Sequence[str]) -> sp.csr_matrix:
    """Counts of a given vocabulary in new documents; words it does not have are ignored."""
    return sp.vstack(
        [block for source in sources for block in count_blocks(source, options, vocabulary)], format="csr"
    )


def choose_words(found: Frequencies, options: TextOptions) -> tuple[list[str], dict[str, int]]:
    """The vocabulary, in alphabetical order, and what was dropped.

    Raises:
        InputError: No documents, or no word left.
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
    return sorted(kept), dropped


def prune_columns(corpus: Corpus, options: TextOptions) -> Corpus:
    """Drop columns by document frequency; the order of the others is kept."""
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
    words: Counter = Counter()
    documents = tokens = 0
    for text in texts:
        found = analyze(text)
        words.update(set(found))
        documents += 1
        tokens += len(found)
    return Frequencies(documents, tokens, words)


def _total(found: Iterable[Frequencies]) -> Frequencies:
    documents = tokens = 0
    words: Counter = Counter()
    for part in found:
        documents += part.documents
        tokens += part.tokens
        words.update(part.words)
    return Frequencies(documents, tokens, words)


def _blocks_of(texts: Iterable[str], options: TextOptions, words: Sequence[str]) -> Iterator[sp.csr_matrix]:
    analyze = options.analyzer()
    # A vocabulary from elsewhere may name a word twice: the first column gets the counts.
    column = {word: place for place, word in reversed(list(enumerate(words)))}
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


def _in_memory(blocks: Iterable[sp.csr_matrix], words: list[str], made: dict, dropped: dict) -> Corpus:
    rows = sp.vstack(list(blocks), format="csr")
    return Corpus._from_checked(
        check_counts(rows), check_vocabulary(words, rows.shape[1]), made=made, dropped=dropped
    )


def _write_source(
    numbered: tuple[int, Source], options: TextOptions, words: list[str], folder: Path
) -> ShardSet:
    number, source = numbered
    return write_shards(folder, f"shard-{number:05d}", count_blocks(source, options, words), len(words))


class _mapper:
    """`map` in this process, or over a pool that lives as long as the block."""

    def __init__(self, workers: int, sources: int):
        # Threads of JAX do not survive a fork.
        several = min(workers, sources) > 1
        self._pool = (
            ProcessPoolExecutor(min(workers, sources), mp_context=get_context("spawn")) if several else None
        )

    def __enter__(self) -> Callable:
        return map if self._pool is None else self._pool.map

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
