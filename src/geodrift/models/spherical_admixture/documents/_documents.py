"""The documents of a corpus as unit vectors, a minibatch at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from geodrift.models.spherical_admixture.documents._weighting import weight_rows

BLOCK = 4096  # documents in one block of a pass over the corpus


class DocumentSource:
    """The documents of a corpus as weighted unit vectors in sparse rows.

    Args:
        corpus: Anything with ``num_documents``, ``num_words``, ``document_frequencies`` [V] and
            ``rows(numbers) -> csr_matrix``.
        weighting: See `weight_rows`.

    Attributes:
        mean_direction: Direction of the sum of all unit rows, [V].
        num_documents: D.
        num_words: V.
        lengths: Entries of each document's row, [D].

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
        self.mean_direction, self.lengths = self._mean_direction()

    def rows(self, documents: Int[np.ndarray, " S"]) -> sp.csr_matrix:
        """Unit rows of the given documents, [S, V]; the cost is proportional to their entries."""
        return weight_rows(
            self.corpus.rows(documents), self.weighting, self.corpus.document_frequencies, self.num_documents
        )

    def batches(self) -> Iterator[tuple[Int[np.ndarray, " S"], sp.csr_matrix]]:
        """The whole corpus in blocks: document numbers and their unit rows [S, V]."""
        for start in range(0, self.num_documents, BLOCK):
            documents = np.arange(start, min(start + BLOCK, self.num_documents))
            yield documents, self.rows(documents)

    @property
    def num_empty(self) -> int:
        """Number of documents whose row has no entry."""
        return int((self.lengths == 0).sum())

    def _mean_direction(self) -> tuple[Float[np.ndarray, " V"], Int[np.ndarray, " D"]]:
        """The direction of the sum of all documents, and the number of each one's entries."""
        total, lengths = np.zeros(self.num_words), np.zeros(self.num_documents, np.int32)
        for documents, rows in self.batches():
            total += np.asarray(rows.sum(axis=0)).ravel()
            lengths[documents] = np.diff(rows.indptr)
        length = float(np.linalg.norm(total))
        if not np.isfinite(length):
            raise ValueError("the documents hold NaN or infinity; every value must be finite")
        if not lengths.any() or length == 0.0:
            raise ValueError(
                f"no word of the {self.num_documents} documents has any weight "
                f"under weighting={self.weighting!r}"
            )
        return total / length, lengths
