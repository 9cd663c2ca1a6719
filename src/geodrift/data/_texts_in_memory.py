"""Counts of texts in memory: of a few texts, and of words that are known."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from geodrift.data._corpus import Corpus
from geodrift.data._counts import check_counts
from geodrift.data._document_writer import DocumentWriter
from geodrift.data._documents import DocumentTable
from geodrift.data._raw_counts import raw_counts
from geodrift.data._sources import Source, read_identified
from geodrift.data._text import TextOptions
from geodrift.data._word_choice import choose_words, none_left
from geodrift.data._word_totals import WordTotals


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
    blocks, totals = list(raw_counts(texts, options)), WordTotals()
    for block in blocks:
        totals.add(block.words, block.frequencies()[: len(block.words)])
    documents = sum(block.rows.shape[0] for block in blocks)
    words, _, dropped = choose_words(totals.in_order(), documents, options)
    columns = {word: place for place, word in enumerate(words)}
    rows = check_counts(_stacked(block.of(columns, len(words)) for block in blocks))
    return Corpus._from_checked(rows, words, made=made or {}, dropped=dropped)


def _stacked(blocks: Iterable[sp.csr_matrix]) -> sp.csr_matrix:
    return sp.vstack(list(blocks), format="csr")


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
    writer, columns = DocumentWriter(None), {word: place for place, word in enumerate(vocabulary)}
    blocks = (
        block.of(columns, len(vocabulary))
        for source in sources
        for block in raw_counts(writer.noted(read_identified(source)), options)
    )
    return _stacked(blocks), writer.table()


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
    dropped = {f"words outside {low:g} to {high:g} documents": corpus.num_words - len(keep)}
    if options.max_words is not None and len(keep) > options.max_words:
        dropped[f"words beyond the {options.max_words:,} most frequent"] = len(keep) - options.max_words
        by_frequency = np.lexsort((keep, -frequencies[keep]))
        keep = np.sort(keep[by_frequency[: options.max_words]])
    if not len(keep):
        limits, change = (low, high), "--min-df or --max-df"
        raise none_left(corpus.num_words, limits, corpus.num_documents, change)
    words = [corpus.vocabulary[column] for column in keep]
    rows = check_counts(corpus.matrix()[:, keep])
    made = corpus.manifest["made"]
    return Corpus._from_checked(rows, words, made=made, dropped=dropped, documents=corpus.documents)
