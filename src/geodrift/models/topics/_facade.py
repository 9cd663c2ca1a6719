"""What the scikit-learn estimators of all topic models share."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from geodrift.models._planned_chain import PlannedChain

TRANSFORM_DRAWS = 20  # topic draws that `transform` averages over, at most


class MatrixCorpus:
    """A matrix in memory as a corpus.

    Args:
        matrix: Counts or vectors, [D, V].
    """

    def __init__(self, matrix: sp.csr_matrix) -> None:
        self.matrix = matrix
        self.num_documents, self.num_words = matrix.shape
        self.document_frequencies = np.bincount(matrix.indices, minlength=self.num_words)

    def rows(self, documents: np.ndarray) -> sp.csr_matrix:
        """The rows of the given documents."""
        return self.matrix[documents]


class TopicModelFacade(TransformerMixin, BaseEstimator):
    """A topic model under scikit-learn's contract; a subclass has `fit` and ``random_state``."""

    random_state: Any

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _may_be_negative(self) -> bool:
        return False

    def _validated(self, X: Any, *, reset: bool, least_documents: int = 1) -> sp.csr_matrix:
        """X as canonical rows, float64.

        Args:
            X: What the user gave.
            reset: Whether the number of columns is this estimator's from now on.
            least_documents: Rows that X has to have.
        """
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=np.float64,
            reset=reset,
            ensure_min_samples=least_documents,
            ensure_min_features=2 if reset else 1,
        )
        matrix = sp.csr_matrix(X, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if not self._may_be_negative() and matrix.nnz and matrix.data.min() < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: counts cannot be"
                + self._where_negative_is_allowed()
            )
        return matrix

    def _where_negative_is_allowed(self) -> str:
        return ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = not self._may_be_negative()
        return tags


def sampled_topics(engine: PlannedChain, num_steps: int) -> Float[np.ndarray, "N K V"]:
    """The topic draws of a chain of that many steps."""
    engine.plan(steps=num_steps)
    draws = []
    while (progress := engine.advance()) is not None:
        draws += [draw["topics"] for draw in progress.draws]
    return np.array(draws)


def spaced(draws: Float[np.ndarray, "N ..."], most: int = TRANSFORM_DRAWS) -> Float[np.ndarray, "M ..."]:
    """At most so many of the draws, evenly spaced."""
    return draws[np.linspace(0, len(draws) - 1, min(most, len(draws))).astype(int)]
