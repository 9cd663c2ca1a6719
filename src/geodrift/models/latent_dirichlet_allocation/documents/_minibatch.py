"""The documents of a minibatch in the form that the kernels take, and the place of each document's tokens."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
import scipy.sparse as sp
from jaxtyping import Int

from geodrift.models.kit._counts import tokens_of_rows

BLOCK = 8192  # documents of one block of a pass over the corpus
MOST_FITTED = 2**24  # tokens of a document: single precision counts on one by one up to there


class Minibatch(NamedTuple):
    """Rows of counts in compressed form, their columns renumbered to the words that occur."""

    documents: np.ndarray  # numbers of the documents, items of their random streams, [S]
    indptr: np.ndarray  # the entries of document s are those from indptr[s] to indptr[s + 1], [S + 1]
    words: np.ndarray  # each entry's word as a place in ``vocabulary``, increasing in a document, [nnz] int32
    counts: np.ndarray  # tokens of each entry, [nnz] int32
    vocabulary: np.ndarray  # the distinct words, increasing, [W]

    @property
    def num_tokens(self) -> int:
        """Number of tokens of all its documents."""
        return int(self.counts.sum())


class TokenSource:
    """The corpus as minibatches of tokens.

    Args:
        corpus: Anything with ``num_documents``, ``num_words`` and ``rows(numbers) -> csr_matrix`` of counts.

    Attributes:
        starts: The place of each document's first token in one vector of all tokens, [D + 1]; the last entry
            is the number of tokens.

    Raises:
        ValueError: There is no token at all, a count is not a whole number, or a document has too many.
    """

    def __init__(self, corpus: Any) -> None:
        self.corpus = corpus
        self.num_documents, self.num_words = int(corpus.num_documents), int(corpus.num_words)
        lengths, frequencies = [np.zeros(0, np.int64)], np.zeros(self.num_words)
        for rows in self._blocks():
            lengths.append(whole_counts(rows))
            frequencies += np.bincount(rows.indices, rows.data, self.num_words)
        self._frequencies = frequencies
        self.starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths), dtype=np.int64)])
        if self.num_tokens == 0:
            raise ValueError("the corpus has no words: there is nothing to fit")
        self._place = np.full(self.num_words, -1, np.int32)

    @property
    def num_tokens(self) -> int:
        """Number of tokens of the corpus."""
        return int(self.starts[-1])

    @property
    def frequencies(self) -> Int[np.ndarray, " V"]:
        """Number of tokens of each word."""
        return self._frequencies.astype(np.int64)

    def minibatch(self, documents: Int[np.ndarray, " S"]) -> Minibatch:
        """The given documents; cost O(V + nnz)."""
        return as_minibatch(self.corpus.rows(documents), documents, self._place)

    def word_bounds(self, num_parts: int) -> Int[np.ndarray, " bound"]:
        """The first words of at most ``num_parts`` parts of the vocabulary with about equal tokens, and V."""
        upto = np.cumsum(self._frequencies)
        inner = np.searchsorted(upto, upto[-1] * np.arange(1, num_parts) / num_parts) + 1
        return np.unique(np.concatenate([[0], inner, [self.num_words]]))

    def _blocks(self) -> Iterator[sp.csr_matrix]:
        for start in range(0, self.num_documents, BLOCK):
            yield self.corpus.rows(np.arange(start, min(start + BLOCK, self.num_documents)))


def as_minibatch(
    rows: sp.csr_matrix, documents: Int[np.ndarray, " S"], place: Int[np.ndarray, " V"]
) -> Minibatch:
    """Rows of counts as a minibatch.

    Args:
        rows: Counts, [S, V].
        documents: Numbers of the documents.
        place: Work space, -1 everywhere before and after.
    """
    rows.sort_indices()  # assignments are in the order of the entries
    words = np.empty(rows.nnz, np.int32)
    vocabulary = _renumber(rows.indices, words, place)
    counts, documents = rows.data.astype(np.int32), np.asarray(documents, np.int64)
    return Minibatch(documents, rows.indptr.astype(np.int64), words, counts, vocabulary)


def whole_counts(rows: sp.csr_matrix) -> Int[np.ndarray, " S"]:
    """The number of tokens of each row; see `tokens_of_rows`.

    Raises:
        ValueError: A count is not a whole number, or a row has too many tokens.
    """
    if not np.array_equal(rows.data, np.rint(rows.data)):
        raise ValueError("counts must be whole numbers: LDA draws a topic for each token")
    return tokens_of_rows(rows, MOST_FITTED)


@numba.njit(cache=True)
def _renumber(columns: np.ndarray, words: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Fill ``words`` with each column's place among the distinct columns, which are returned.

    ``place`` [V] is work space, -1 everywhere before and after.
    """
    for column in columns:
        place[column] = 0
    vocabulary = np.flatnonzero(place == 0)
    for i in range(vocabulary.shape[0]):
        place[vocabulary[i]] = i
    for i in range(columns.shape[0]):
        words[i] = place[columns[i]]
    for word in vocabulary:
        place[word] = -1
    return vocabulary
