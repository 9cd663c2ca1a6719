"""A split of each document's tokens in observed and held-out ones."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from geodrift._whole import whole
from geodrift.kernels._streams import LDA_TOKEN_SPLIT
from geodrift.models.kit._counts import checked_counts


class Split(NamedTuple):
    """Counts of observed and of held-out tokens; their sum is the counts."""

    observed: sp.csr_matrix  # [D, V]
    held_out: sp.csr_matrix  # [D, V]


def split_tokens(counts: sp.csr_matrix, held_out: float = 0.1, seed: int = 0) -> Split:
    """Split each document's tokens, without replacement.

    The split is a function of the counts, the share and the seed alone, so that all models see the same
    words. Tokens stand in the order of documents, then of words; token i gets the i-th number of NumPy's
    ``default_rng([seed, 20090]).random``, and a document's tokens with the smallest numbers are held out:
    of n tokens ``floor(held_out n + 1/2)``, but at least 1 and at most n - 1, and none of a document of
    fewer than 2.

    Args:
        counts: Whole numbers, [D, V].
        held_out: Share of each document's tokens, between 0 and 1.
        seed: Seed of the numbers.

    Raises:
        ValueError: A count is not a whole number, or an argument is outside what its line allows.
    """
    if not 0.0 < held_out < 1.0:
        raise ValueError(f"held_out must lie between 0 and 1, got {held_out!r}")
    seed = whole("seed", seed, 0)
    counts = checked_counts(counts)
    entries = np.repeat(np.arange(counts.nnz), counts.data)  # of each token
    documents = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))[entries]
    lengths = np.bincount(documents, minlength=counts.shape[0])
    order = np.lexsort((LDA_TOKEN_SPLIT.generator(seed).random(len(entries)), documents))
    # Sorting leaves each document's tokens in its own stretch.
    rank = np.arange(len(entries)) - (np.cumsum(lengths) - lengths)[documents]
    wanted = np.clip(
        np.floor(held_out * lengths + 0.5), np.minimum(lengths, 2) // 2, np.maximum(lengths - 1, 0)
    )
    aside = counts.copy()
    aside.data = np.bincount(entries[order[rank < wanted[documents]]], minlength=counts.nnz).astype(np.int32)
    return Split(checked_counts(counts - aside), checked_counts(aside))


def split_to_score(counts: sp.csr_matrix, held_out: float, seed: int) -> Split:
    """`split_tokens`, where there is something to score.

    Raises:
        ValueError: No document has two tokens.
    """
    split = split_tokens(counts, held_out, seed)
    if split.held_out.nnz == 0:
        raise ValueError(f"none of the {counts.shape[0]} documents has two tokens: there is nothing to score")
    return split
