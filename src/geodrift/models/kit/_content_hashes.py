"""Hashes of documents, which name the random streams of documents that have no number."""

import hashlib
from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int


def content_hashes(rows: sp.csr_matrix) -> Int[np.ndarray, " D"]:
    """64 bits of each row's words and values, so that a document's draws do not depend on those beside it.

    Equal documents have equal hashes. Of ten million different documents any two have the same hash with a
    probability of 3e-6, which is that of any 64-bit name of a stream.

    Args:
        rows: Documents, [D, V]; the words of each increase.
    """
    ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    words, values = rows.indices.astype(np.int64), rows.data.astype(np.float64)
    return hashed(words[a:b].tobytes() + values[a:b].tobytes() for a, b in ends)


def hashed(contents: Iterable[bytes]) -> Int[np.ndarray, " n"]:
    """64 bits of each."""
    digests = b"".join(hashlib.blake2b(content, digest_size=8).digest() for content in contents)
    return np.frombuffer(digests, "<i8").astype(np.int64)
