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
        num_empty: Number of documents whose row has no entry.

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
        self.mean_direction, self.num_empty = self._mean_direction()

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

    def _mean_direction(self) -> tuple[Float[np.ndarray, " V"], int]:
        """The direction of the sum of all documents, and the number of empty ones."""
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
