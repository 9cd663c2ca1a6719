"""Unit vectors of documents from word counts."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int

from geodrift.data import as_csr


def weight_rows(
    counts: sp.csr_matrix,
    weighting: str,
    document_frequencies: Int[np.ndarray, " V"] | None,
    num_documents: int,
) -> sp.csr_matrix:
    """Weight word counts and scale each document to unit length.

    Args:
        counts: Documents by words [M, V]: counts, or any values with ``weighting="none"``.
        weighting: "tfidf": tf log(D / (1 + df)), tf being the count; "tf": the counts; "none": the values
            given.
        document_frequencies: df, number of training documents with each word; None where the weighting
            needs none.
        num_documents: D, number of training documents.

    Returns:
        Float64 CSR, [M, V]; rows have length 1, or no entry where all weights of a document are 0.
    """
    counts = as_csr(counts, "counts")
    if not counts.has_canonical_format:
        # A word that stands twice in a document has one weight, of both counts.
        counts = counts.copy()
        counts.sum_duplicates()
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
