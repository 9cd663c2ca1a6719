"""Numbers by which documents are asked for."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int


def document_numbers(
    indices: Sequence[int] | Int[np.ndarray, "..."], num_documents: int
) -> Int[np.ndarray, " N"]:
    """The numbers as an array.

    Raises:
        ValueError: They are something else, such as a mask, whose truth values would be taken for 0 and 1.
        IndexError: One is outside 0 .. num_documents - 1.
    """
    found = np.asarray(indices).reshape(-1)
    if found.size and found.dtype.kind in "bfc":
        raise ValueError(
            f"indices must be the whole numbers of documents, got values of type {found.dtype}: of a mask"
            " take numpy.flatnonzero(mask)"
        )
    numbers = found.astype(np.int64)
    if numbers.size and (numbers.min() < 0 or numbers.max() >= num_documents):
        raise IndexError(f"documents are 0 to {num_documents - 1}, got {numbers.min()} to {numbers.max()}")
    return numbers
