"""Which documents of a large corpus are looked at."""

import numpy as np
from jaxtyping import Int

from geodrift.kernels._streams import DOCUMENTS_LOOKED_AT


def documents_looked_at(number: int, most: int, seed: int) -> Int[np.ndarray, " D"]:
    """All documents of a corpus of so many, or ``most`` of them at random, in order."""
    if most >= number:
        return np.arange(number)
    return np.sort(DOCUMENTS_LOOKED_AT.generator(seed).choice(number, most, replace=False))
