"""Numbers for documents from their contents, which name their random streams."""

import zlib

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int


def content_names(rows: sp.csr_matrix) -> Int[np.ndarray, " D"]:
    """A number for each row from its words and values.

    So a document's draws do not depend on the documents beside it.
    """
    ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    words, values = rows.indices.astype(np.int64), rows.data.astype(np.float64)
    return np.array(
        [zlib.crc32(words[a:b].tobytes() + values[a:b].tobytes()) for a, b in ends], dtype=np.int64
    )
