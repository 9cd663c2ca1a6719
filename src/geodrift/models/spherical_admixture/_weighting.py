"""Word counts to unit vectors."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int


def weight_rows(
    counts: sp.csr_matrix, weighting: str, document_frequencies: Int[np.ndarray, " V"], num_documents: int
) -> sp.csr_matrix:
    """Unit vectors of documents.

    Args:
        counts: Rows of counts (or of any values with ``weighting="none"``), [D, V].
        weighting: "tfidf": tf log(D / (1 + df)) with D and df of the training part; "tf"; "none".
        document_frequencies: df, [V], of the training part.
        num_documents: D of the training part.

    Returns:
        Float64 CSR, [D, V]; rows have length 1, or no entry where nothing is left of a document.
    """
    values = sp.csr_matrix(counts, dtype=np.float64, copy=True)
    if weighting == "tfidf":
        weights = np.log(num_documents / (1.0 + np.asarray(document_frequencies)))
        values.data *= weights[values.indices]
    values.eliminate_zeros()
    values.sort_indices()
    norms = np.sqrt(np.asarray(values.multiply(values).sum(axis=1)).ravel())
    values.data /= np.repeat(norms, np.diff(values.indptr))
    return values
