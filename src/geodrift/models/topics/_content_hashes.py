"""Hashes of documents' contents, which key their random streams."""

import zlib

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int


def content_hashes(rows: sp.csr_matrix) -> Int[np.ndarray, " D"]:
    """CRC-32 of each document's words and counts.

    As a key of the document's random stream it makes draws independent of the order and number of documents.

    Args:
        rows: Counts or weights, [D, V].
    """
    ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    words, values = rows.indices.astype(np.int64), rows.data.astype(np.float64)
    return np.array(
        [zlib.crc32(words[a:b].tobytes() + values[a:b].tobytes()) for a, b in ends], dtype=np.int64
    )
