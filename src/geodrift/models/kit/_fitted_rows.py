"""Documents that were fitted among those whose weights are asked for, known by their content.

A document that was fitted has had its say in every draw of the components: given a draw its weights are those
of the posterior. To a new document a draw is one of several guesses, which it has had no part in.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float, Int

from geodrift.data import VectorRows
from geodrift.models.kit._content_hashes import content_hashes

Weights = dict[str, Float[np.ndarray, "D K"]]


def hashes_of(rows: sp.csr_matrix) -> Int[np.ndarray, " fitted"]:
    """What `by_fitted` knows fitted documents by."""
    return np.unique(content_hashes(rows))


def by_fitted(
    rows: sp.csr_matrix,
    known: Int[np.ndarray, " fitted"] | None,
    weigh: Callable[[sp.csr_matrix, bool], Weights],
) -> Weights:
    """Weights of documents, those that were fitted and new ones each in their way.

    Args:
        rows: Counts, [D, V].
        known: `hashes_of` the documents that were fitted; None: all of ``rows`` are new.
        weigh: Weights of documents that were all fitted, or all not.
    """
    fitted = np.zeros(rows.shape[0], bool) if known is None else np.isin(content_hashes(rows), known)
    return each_in_its_way(rows, fitted, weigh)


def each_in_its_way(
    rows: VectorRows, fitted: Bool[np.ndarray, " D"], weigh: Callable[[Any, bool], Weights]
) -> Weights:
    """Weights of documents of which some were fitted; see `by_fitted`.

    Args:
        rows: Documents as the model takes them, [D, V].
        fitted: Which of them were.
        weigh: See `by_fitted`.
    """
    if fitted.all() or not fitted.any():
        return weigh(rows, bool(fitted.any()))
    old, new = weigh(rows[fitted], True), weigh(rows[~fitted], False)
    found = {name: np.empty((len(fitted), values.shape[1]), values.dtype) for name, values in old.items()}
    for name, values in found.items():
        values[fitted], values[~fitted] = old[name], new[name]
    return found
