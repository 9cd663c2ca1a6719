"""Rows that were fitted, known by what they hold: equal rows have equal probabilities."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from geodrift.models.kit._content_hashes import hashed
from geodrift.models.von_mises_fisher_mixture._predict import batches
from geodrift.models.von_mises_fisher_mixture._rows import Rows


class KnownRows(NamedTuple):
    """The rows that were fitted, by what they hold.

    Attributes:
        hashes: In increasing order, [n]: of rows that are equal once.
        numbers: Of each the number of such a row, [n].
    """

    hashes: Int[np.ndarray, " n"]
    numbers: Int[np.ndarray, " n"]

    @classmethod
    def of(cls, rows: Rows) -> "KnownRows":
        """All of some rows."""
        return cls(*np.unique(_hashes(rows), return_index=True))

    def find(self, rows: Rows) -> Int[np.ndarray, " N"]:
        """The number of a row that was fitted and equals each, in single precision; -1: there is none."""
        hashes = _hashes(rows)
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[places] == hashes, self.numbers[places], -1)


def _hashes(rows: Rows) -> Int[np.ndarray, " N"]:
    return hashed(content for numbers in batches(rows) for content in rows.contents(numbers))
