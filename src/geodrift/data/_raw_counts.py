"""Counts of all words of some documents, before anybody knows which words are kept.

A block holds the words that its own documents have: its memory does not grow with the corpus, and the text is
split into words once.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int

from geodrift.data._text import TextOptions

_DOCUMENTS_A_BLOCK = 200_000
_TOKENS_A_BLOCK = 2**22
_WORDS_A_BLOCK = 2**20


class RawCounts(NamedTuple):
    """Documents by their own words.

    Attributes:
        words: W words, in the order in which they first came.
        rows: Counts, [D, W].
    """

    words: list[str]
    rows: sp.csr_matrix

    def frequencies(self) -> Int[np.ndarray, " W"]:
        """The number of the documents that hold each word."""
        return np.bincount(self.rows.indices, minlength=len(self.words))

    def of(self, columns: Mapping[str, int], num_words: int) -> sp.csr_matrix:
        """The counts of some words alone, [D, V], with sorted columns.

        Args:
            columns: The column of each word that is kept.
            num_words: V.
        """
        places = np.fromiter((columns.get(word, -1) for word in self.words), np.int32, len(self.words))
        found = places[self.rows.indices]
        kept = found >= 0
        ends = np.append(0, np.cumsum(kept))[self.rows.indptr]
        rows = sp.csr_matrix((self.rows.data[kept], found[kept], ends), shape=(len(ends) - 1, num_words))
        rows.sort_indices()
        return rows


def raw_counts(texts: Iterable[str], options: TextOptions) -> Iterator[RawCounts]:
    """Split texts into words and count them, a block of documents at a time.

    Where a block ends is told by its own documents, never by how the work is shared.
    """
    split = options.analyzer()
    block = _Block()
    for text in texts:
        block.add(split(text))
        if block.is_full():
            yield block.counts()
            block = _Block()
    if len(block.ends) > 1:
        yield block.counts()


class _Block:
    """Tokens of documents as numbers of words, which are given as the words come."""

    def __init__(self) -> None:
        self.places: defaultdict[str, int] = defaultdict(count().__next__)
        self.tokens, self.ends = array("i"), array("q", [0])

    def add(self, words: list[str]) -> None:
        self.tokens.fromlist(list(map(self.places.__getitem__, words)))  # much faster than extend
        self.ends.append(len(self.tokens))

    def is_full(self) -> bool:
        return (
            len(self.ends) > _DOCUMENTS_A_BLOCK
            or len(self.tokens) >= _TOKENS_A_BLOCK
            or len(self.places) >= _WORDS_A_BLOCK
        )

    def counts(self) -> RawCounts:
        tokens = np.frombuffer(self.tokens, np.int32) if self.tokens else np.zeros(0, np.int32)
        ends = np.frombuffer(self.ends, np.int64)
        arrays = np.ones(len(tokens), np.int32), tokens.copy(), ends.copy()
        rows = sp.csr_matrix(arrays, shape=(len(ends) - 1, max(len(self.places), 1)))
        rows.sum_duplicates()
        return RawCounts(list(self.places), rows)
