"""The documents of a corpus as unit vectors, a minibatch at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int

from geodrift.models.spherical_admixture.documents._weighting import weight_rows

BLOCK = 4096  # documents of one block of a pass over the corpus


class DocumentSource:
    """Weighted unit rows of a corpus.

    Args:
        corpus: Anything with ``num_documents``, ``num_words``, ``document_frequencies`` [V] and
            ``rows(numbers) -> csr_matrix``.
        weighting: See `weight_rows`.

    Attributes:
        mean_direction: Direction of the sum of all unit rows, [V].
        num_documents: D.
        num_words: V.
        num_empty: Documents whose row has no entry.

    Raises:
        ValueError: The corpus has no documents, a value is not finite, or no document has a word with any
            weight.
    """

    def __init__(self, corpus: Any, weighting: str) -> None:
        self.corpus = corpus
        self.weighting = weighting
        self.num_documents = int(corpus.num_documents)
        self.num_words = int(corpus.num_words)
        if self.num_documents == 0:
            raise ValueError("the corpus has no documents")
        self.mean_direction, self.num_empty = self._survey()

    def rows(self, documents: Int[np.ndarray, " S"]) -> sp.csr_matrix:
        """Unit rows [S, V] of documents [S]; cost proportional to those rows."""
        return weight_rows(
            self.corpus.rows(documents), self.weighting, self.corpus.document_frequencies, self.num_documents
        )

    def batches(self) -> Iterator[tuple[Int[np.ndarray, " S"], sp.csr_matrix]]:
        """The corpus once, in blocks: (document numbers, unit rows)."""
        for start in range(0, self.num_documents, BLOCK):
            documents = np.arange(start, min(start + BLOCK, self.num_documents))
            yield documents, self.rows(documents)

    def _survey(self) -> tuple[np.ndarray, int]:
        """The direction of the sum of all documents, and how many are empty."""
        total, num_empty = np.zeros(self.num_words), 0
        for _, rows in self.batches():
            total += np.asarray(rows.sum(axis=0)).ravel()
            num_empty += int((np.diff(rows.indptr) == 0).sum())
        length = float(np.linalg.norm(total))
        if not np.isfinite(length):
            raise ValueError("the documents hold NaN or infinity; every value must be finite")
        if num_empty == self.num_documents or length == 0.0:
            raise ValueError(
                f"no word of the {self.num_documents} documents has any weight "
                f"under weighting={self.weighting!r}"
            )
        return total / length, num_empty
