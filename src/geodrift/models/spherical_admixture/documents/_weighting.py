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
    counts = sp.csr_matrix(counts)
    data = counts.data.astype(np.float64)
    if weighting == "tfidf":
        data *= np.log(num_documents / (1.0 + np.asarray(document_frequencies)[counts.indices]))
    lengths = np.diff(counts.indptr)
    owners = np.repeat(np.arange(counts.shape[0]), lengths)
    norms = np.sqrt(np.bincount(owners, weights=data * data, minlength=counts.shape[0]))
    kept = data != 0.0
    if kept.all():
        return sp.csr_matrix((data / norms[owners], counts.indices, counts.indptr), shape=counts.shape)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owners[kept], minlength=counts.shape[0]))])
    return sp.csr_matrix((data[kept] / norms[owners[kept]], counts.indices[kept], indptr), shape=counts.shape)
