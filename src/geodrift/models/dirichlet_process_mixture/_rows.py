"""The rows of a corpus in the form that the kernels take."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int

from geodrift.data._shards import spans
from geodrift.models.kit._counts import tokens_of_rows

BLOCK = 8192  # rows that are checked at once
KEPT_ENTRIES = 2**26  # entries up to which the rows are kept in memory where every step needs all
FEW_ENTRIES = 2**22  # and where steps take some


class Rows(NamedTuple):
    """Some rows of counts, compressed."""

    numbers: np.ndarray  # of the rows in the corpus, [S]
    indptr: np.ndarray  # the entries of row s are those from indptr[s] to indptr[s + 1], [S + 1]
    words: np.ndarray  # of each entry, [nnz] int32
    counts: np.ndarray  # of each entry, [nnz] int32

    @property
    def num_tokens(self) -> int:
        """Sum of all counts."""
        return int(self.counts.sum())


class RowSource:
    """The corpus as rows of whole counts.

    Args:
        corpus: Anything with ``num_documents``, ``num_words`` and ``rows(numbers) -> csr_matrix`` of counts.

    Raises:
        ValueError: A count is not a whole number, or a row has too many tokens; see `tokens_of_rows`.
    """

    def __init__(self, corpus: Any) -> None:
        self.corpus = corpus
        self.num_rows, self.num_words = int(corpus.num_documents), int(corpus.num_words)
        self.num_entries = 0
        for start in range(0, self.num_rows, BLOCK):
            block = corpus.rows(np.arange(start, min(start + BLOCK, self.num_rows)))
            if not np.array_equal(block.data, np.rint(block.data)):
                raise ValueError("counts must be whole numbers: a row's tokens are drawn one by one")
            tokens_of_rows(block)
            self.num_entries += block.nnz
        self._all: Rows | None = None

    def rows(self, numbers: Int[np.ndarray, " S"]) -> Rows:
        """The given rows; cost O(nnz)."""
        if self.num_entries > FEW_ENTRIES:
            return as_rows(self.corpus.rows(numbers), numbers)
        # From the corpus itself a minibatch takes a third of a millisecond, and a step of SCIR takes one.
        every = self.all_rows()
        lengths = np.diff(every.indptr)[numbers]
        places = spans(every.indptr[numbers], lengths)
        indptr = np.append(0, np.cumsum(lengths))
        return Rows(np.asarray(numbers, np.int64), indptr, every.words[places], every.counts[places])

    def all_rows(self) -> Rows:
        """All rows, kept in memory unless they are very many."""
        if self._all is not None:
            return self._all
        numbers = np.arange(self.num_rows)
        rows = as_rows(self.corpus.rows(numbers), numbers)
        if self.num_entries <= KEPT_ENTRIES:
            self._all = rows
        return rows


def as_rows(counts: sp.csr_matrix, numbers: Int[np.ndarray, " S"]) -> Rows:
    """Rows of counts, [S, V], with the numbers that they have in their corpus."""
    return Rows(
        np.asarray(numbers, np.int64),
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int32),
        counts.data.astype(np.int32),
    )
