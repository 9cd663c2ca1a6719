"""Readers of the bags of words that other programs write: UCI, LDA-C, gensim's lists."""

from collections.abc import Iterable, Iterator
from io import BufferedIOBase
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from geodrift._errors import InputError
from geodrift.data._limits import check_documents
from geodrift.data._number_lines import NumberLines, open_numbers, read_lines

_DOCUMENTS_A_BLOCK = 50_000
_LARGEST_COUNT = np.iinfo(np.int32).max


def read_uci(path: Path) -> tuple[int, Iterator[sp.csr_matrix]]:
    """Read a bag of words in the format of the UCI repository, block by block.

    The file begins with three lines: the number of documents, of words and of counts that are not zero. Each
    further line is ``document word count``, numbered from 1, in the order of documents.

    Args:
        path: The file, which may be compressed (.gz, .bz2).

    Returns:
        The number of words V, and blocks of documents, [documents, V] each.

    Raises:
        InputError: A line of the header is wrong (raised at once); a later line is wrong, or there are not as
            many lines as the header says (raised while blocks are read).
    """
    with open_numbers(path) as stream:
        documents, words, counts = _uci_header(stream, path)
    return words, _uci_blocks(path, documents, words, counts)


def _uci_header(stream: BufferedIOBase, path: Path) -> tuple[int, int, int]:
    """Numbers of documents, of words and of counts that are not zero."""
    sizes = []
    for line, what in enumerate(("documents", "words", "counts that are not zero"), 1):
        text = stream.readline().decode("utf-8", "replace").strip()
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise InputError(f"{path}, line {line} should be the number of {what}, got {text[:60]!r}")
        sizes.append(int(text))
    if 0 in sizes[:2]:
        raise InputError(f"{path} says that it has {sizes[0]} documents of {sizes[1]} words")
    check_documents(sizes[0], path.stat().st_size, path)
    return sizes[0], sizes[1], sizes[2]


def _uci_blocks(path: Path, documents: int, words: int, counts: int) -> Iterator[sp.csr_matrix]:
    done, seen = 0, 0  # documents in earlier blocks; lines read
    kept = np.zeros((0, 3), np.int64)  # lines of the last document, which the next block may continue
    with open_numbers(path) as stream:
        _uci_header(stream, path)
        for lines in read_lines(stream, path, first=4):
            table = _uci_table(path, lines, documents, words)
            seen += len(table)
            last = kept[-1, 0] if len(kept) else done
            lines.refuse(
                path,
                np.diff(table[:, 0], prepend=last) < 0,
                "documents must come in order (sort the lines by their first number)",
            )
            table = np.concatenate([kept, table])
            whole = int(np.searchsorted(table[:, 0], table[-1, 0])) if len(table) else 0
            if whole:
                until = int(table[whole - 1, 0])
                yield _uci_rows(table[:whole], done, until, words)
                done = until
            kept = table[whole:]
    if seen != counts:
        raise InputError(
            f"{path} was cut off or changed: it has {seen:,} lines of counts, its header says {counts:,}"
        )
    yield _uci_rows(kept, done, documents, words)


def _uci_rows(table: np.ndarray, done: int, until: int, words: int) -> sp.csr_matrix:
    """Rows of documents ``done`` + 1 to ``until``, of which ``table`` [N, 3] has the lines."""
    return _rows(table[:, 0] - 1 - done, table[:, 1] - 1, table[:, 2], until - done, words)


def _uci_table(path: Path, lines: NumberLines, documents: int, words: int) -> np.ndarray:
    """The checked lines as an array [N, 3] of document, word and count."""
    lines.refuse(path, (lines.lengths != 3), "should be 'document word count'")
    lines.refuse(path, np.add.reduceat(lines.colons, lines.starts), "should be 'document word count'")
    table = lines.numbers.reshape(-1, 3)
    for column, most, what in ((0, documents, "documents"), (1, words, "words")):
        outside = (table[:, column] < 1) | (table[:, column] > most)
        lines.refuse(path, outside, f"{what} are 1 to {most:,} by the header")
    lines.refuse(path, table[:, 2] > _LARGEST_COUNT, f"a count is above {_LARGEST_COUNT:,}")
    return table


def read_lda_c(path: Path, num_words: int | None = None) -> tuple[int, Iterator[sp.csr_matrix]]:
    """Read a corpus in the format of Blei's LDA-C, block by block.

    A line is a document, ``N word:count ... word:count`` with N pairs, words numbered from 0; ``0`` is an
    empty document.

    Args:
        path: The file, which may be compressed (.gz, .bz2).
        num_words: V. None: one more than the largest word number, for which the file is read twice.

    Returns:
        V, and blocks of documents, [documents, V] each.

    Raises:
        InputError: A line is wrong (raised while blocks are read, or at once without ``num_words``).
    """
    if num_words is None:
        largest = -1
        for lines in _lda_c_lines(path):
            words, _ = _pairs(lines)
            largest = max(largest, int(words.max(initial=-1)))
        num_words = largest + 1
    return num_words, _lda_c_blocks(path, num_words)


def _lda_c_blocks(path: Path, num_words: int) -> Iterator[sp.csr_matrix]:
    for lines in _lda_c_lines(path):
        words, counts = _pairs(lines)
        pairs = lines.lengths // 2
        document = np.repeat(np.arange(len(pairs)), pairs)
        for bad, why in (
            (words >= num_words, f"words are 0 to {num_words - 1:,} (the vocabulary has {num_words:,})"),
            (counts > _LARGEST_COUNT, f"a count is above {_LARGEST_COUNT:,}"),
        ):
            lines.refuse(path, np.bincount(document[bad], minlength=len(pairs)) > 0, why)
        yield _rows(document, words, counts, len(pairs), num_words)


def _lda_c_lines(path: Path) -> Iterator[NumberLines]:
    """The lines of the file, checked for their form."""
    with open_numbers(path) as stream:
        for lines in read_lines(stream, path):
            lines.refuse(path, lines.lengths == 0, "is blank; a document without words is the line 0")
            pairs = lines.numbers[lines.starts]
            form = "should be 'N word:count ...' with N pairs"
            lines.refuse(path, lines.lengths < 1 + 2 * pairs, f"was cut off: it {form}")
            place = np.arange(len(lines.numbers)) - np.repeat(lines.starts, lines.lengths)
            astray = lines.colons != (place % 2 == 1)
            more = (lines.lengths != 1 + 2 * pairs) | (np.add.reduceat(astray, lines.starts) > 0)
            lines.refuse(path, more, form)
            yield lines


def _pairs(lines: NumberLines) -> tuple[np.ndarray, np.ndarray]:
    """Words and counts of all lines, one after the other."""
    table = np.delete(lines.numbers, lines.starts).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def read_lists(documents: Iterable[Iterable[tuple[int, float]]], num_words: int) -> Iterator[sp.csr_matrix]:
    """Read lists of (word number, count), such as gensim's ``doc2bow`` makes, in blocks of documents.

    Args:
        documents: One list for each document.
        num_words: V; words are 0 to V - 1.

    Raises:
        InputError: A document is not such a list, a word is outside the vocabulary, a count is negative or
            not finite.
    """
    lengths: list[int] = []
    pairs: list[tuple[int, float]] = []
    before = 0  # documents in earlier blocks
    for bag in documents:
        size = len(pairs)
        try:
            pairs.extend((word, count) for word, count in bag)
        except (TypeError, ValueError):
            raise InputError(
                f"document {before + len(lengths)} is not a list of (word number, count): {str(bag)[:60]!r}"
            ) from None
        lengths.append(len(pairs) - size)
        if len(lengths) == _DOCUMENTS_A_BLOCK:
            yield _list_rows(pairs, lengths, before, num_words)
            before += len(lengths)
            lengths, pairs = [], []
    if lengths:
        yield _list_rows(pairs, lengths, before, num_words)


def _list_rows(
    pairs: list[tuple[int, float]], lengths: list[int], before: int, num_words: int
) -> sp.csr_matrix:
    """Checked rows of the documents whose pairs, ``lengths`` of them for each, stand one after the other."""
    document = np.repeat(np.arange(len(lengths)), lengths)

    def refuse(bad: np.ndarray, why: str) -> None:
        if bad.any():
            place = int(np.argmax(bad))
            raise InputError(f"document {before + document[place]}: {why}: {pairs[place]!r}")

    try:
        words, counts = np.array([w for w, _ in pairs], object), np.array([c for _, c in pairs], np.float64)
        whole = np.array([isinstance(word, int | np.integer) for word in words], bool)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"documents {before} to {before + len(lengths) - 1}: counts must be numbers ({error})"
        ) from None
    refuse(~whole, "a word must be a whole number")
    refuse(np.array([not 0 <= word < num_words for word in words], bool), f"words are 0 to {num_words - 1:,}")
    refuse(~np.isfinite(counts), "a count must be finite")
    refuse(counts < 0, "a count is negative")
    return _rows(document, words.astype(np.int64), counts, len(lengths), num_words)


def _rows(
    document: np.ndarray, words: np.ndarray, counts: np.ndarray, num_documents: int, num_words: int
) -> sp.csr_matrix:
    """Sparse rows from (document, word, count) triplets; counts of repeated pairs are added."""
    return sp.csr_matrix((counts, (document, words)), shape=(num_documents, num_words))
