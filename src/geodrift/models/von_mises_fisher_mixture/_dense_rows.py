"""Dense rows, which may be a memory map."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from geodrift.kernels._stream_kinds import Family
from geodrift.models.von_mises_fisher_mixture._conditional import BACKGROUND, Law, Sums
from geodrift.models.von_mises_fisher_mixture._dense_kernel import redraw_dense
from geodrift.models.von_mises_fisher_mixture._rows import AT_ONCE, BLOCK, Rows, check_norms


class DenseRows(Rows):
    """An array, which may be a memory map of half or single precision.

    Args:
        array: [N, d]: real numbers, or what reads some of its rows where it is indexed.
        normalise: Whether rows of any length are scaled to unit norm, where they are otherwise refused.

    Attributes:
        exact: Whether the array is of double precision and its rows are scaled already.
        on_device: The rows there, once `_rows_on_device` has put them; chains share them.
    """

    on_device: Any = None

    def __init__(self, array: Any, normalise: bool = False) -> None:
        self.array, self.exact = array, False
        self.number, self.dim = array.shape
        self.entries = float(self.dim)
        for start in range(0, self.number, AT_ONCE):
            norms = np.linalg.norm(np.asarray(array[start : start + AT_ONCE], np.float64), axis=1)
            check_norms(norms, start, normalise)

    def dense(self, numbers: Int[np.ndarray, " S"]) -> Float[np.ndarray, "S d"]:
        """Some rows, float64, of unit norm; not to be changed."""
        if self.exact:
            every = len(numbers) == self.number and bool((np.diff(numbers) == 1).all())
            return self.array if every else self.array[numbers]
        found = np.asarray(self.array[numbers], np.float64)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def contents(self, numbers: Int[np.ndarray, " S"]) -> Iterator[bytes]:
        """See `Rows.contents`."""
        return (row.tobytes() for row in np.asarray(self.array[numbers], np.float32))

    def part(self, numbers: Int[np.ndarray, " S"]) -> "DenseRows":
        """Some rows alone, in memory."""
        found = DenseRows(self.dense(numbers))
        found.exact = True
        return found

    def resultants(self, room: int) -> Float[np.ndarray, "M d"]:
        """Zeros, [M, d]."""
        return np.zeros((room, self.dim))

    def grown(self, resultants: Float[np.ndarray, "M d"], room: int) -> Float[np.ndarray, "L d"]:
        """The same with rows of zeros."""
        return np.concatenate([resultants, np.zeros((room - len(resultants), self.dim))])

    def of_clusters(
        self, resultants: Float[np.ndarray, "M d"], clusters: Int[np.ndarray, " K"]
    ) -> Float[np.ndarray, "K d"]:
        """The sums of some clusters."""
        return resultants[clusters]

    def put(self, resultants: np.ndarray, clusters: np.ndarray, sums: np.ndarray) -> None:
        """Set the sums of some clusters."""
        resultants[clusters] = sums

    def squares(self, resultants: Float[np.ndarray, "M d"]) -> Float[np.ndarray, " M"]:
        """|R|^2 of all clusters."""
        return np.einsum("kd,kd->k", resultants, resultants)

    def products(
        self, numbers: Int[np.ndarray, " S"], vectors: Float[np.ndarray, "d K"]
    ) -> Float[np.ndarray, "S K"]:
        """Rows times vectors."""
        return self.dense(numbers) @ vectors

    def add(
        self, numbers: Int[np.ndarray, " S"], clusters: Int[np.ndarray, " S"], to: Float[np.ndarray, "M d"]
    ) -> None:
        """Add rows to the sums of their clusters."""
        inside = clusters != BACKGROUND
        members = sp.csr_matrix(
            (np.ones(inside.sum()), (clusters[inside], np.flatnonzero(inside))),
            shape=(len(to), len(numbers)),
        )
        to += members @ self.dense(numbers)

    def clear(self, resultants: Float[np.ndarray, "..."], clusters: list[int]) -> None:
        """Set the sums of some clusters to 0."""
        resultants[clusters] = 0.0

    def weighted_sum(self, weights: Float[np.ndarray, " N"]) -> Float[np.ndarray, " d"]:
        """Sum of all rows by weights."""
        return weights @ self.dense(np.arange(self.number))

    def redraw(
        self,
        numbers: Int[np.ndarray, " S"],
        z: Int[np.ndarray, " N"],
        sums: Sums,
        resultants: Float[np.ndarray, "M d"],
        law: Law,
        r0: Float[np.ndarray, " d"],
        fresh: Float[np.ndarray, " S"],
        streams: Family,
    ) -> tuple[int, int]:
        """See `Rows.redraw`."""
        x, moved = self.dense(numbers), np.zeros(1, np.int64)
        done = redraw_dense(x, numbers, z, sums, resultants, law, x @ r0, fresh, BLOCK, streams.word, moved)
        return int(done), int(moved[0])
