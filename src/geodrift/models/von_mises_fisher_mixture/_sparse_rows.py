"""Sparse rows."""

from collections.abc import Iterator

import numba
import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from geodrift.kernels._stream_kinds import Family
from geodrift.models.von_mises_fisher_mixture._assignment_kernel import redraw_block
from geodrift.models.von_mises_fisher_mixture._conditional import STAYED, Block, Law, Sums
from geodrift.models.von_mises_fisher_mixture._rows import SPARSE_BLOCK, Rows, check_norms


class SparseRows(Rows):
    """A CSR matrix; sums are kept as [d, M], so that a row's entries meet contiguous numbers.

    Args:
        matrix: [N, d].
        normalise: See `DenseRows`.
    """

    def __init__(self, matrix: sp.csr_matrix, normalise: bool = False) -> None:
        self.number, self.dim = matrix.shape
        self.entries = max(1.0, matrix.nnz / self.number)
        norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1), np.float64)).ravel()
        check_norms(norms, 0, normalise)
        self.matrix = sp.csr_matrix(sp.diags(1 / norms) @ matrix.astype(np.float64))

    def dense(self, numbers: Int[np.ndarray, " S"]) -> Float[np.ndarray, "S d"]:
        """Some rows, float64, of unit norm."""
        return self.matrix[numbers].toarray()

    def contents(self, numbers: Int[np.ndarray, " S"]) -> Iterator[bytes]:
        """See `Rows.contents`."""
        part = self.matrix[numbers]
        part.sort_indices()
        places, values = part.indices.astype(np.int64), part.data.astype(np.float32)
        ends = zip(part.indptr[:-1], part.indptr[1:], strict=True)
        return (places[a:b].tobytes() + values[a:b].tobytes() for a, b in ends)

    def part(self, numbers: Int[np.ndarray, " S"]) -> "SparseRows":
        """Some rows alone, in memory."""
        return SparseRows(self.matrix[numbers])

    def resultants(self, room: int) -> Float[np.ndarray, "d M"]:
        """Zeros, [d, M]."""
        return np.zeros((self.dim, room))

    def grown(self, resultants: Float[np.ndarray, "d M"], room: int) -> Float[np.ndarray, "d L"]:
        """The same with columns of zeros."""
        return np.concatenate([resultants, np.zeros((self.dim, room - resultants.shape[1]))], axis=1)

    def of_clusters(
        self, resultants: Float[np.ndarray, "d M"], clusters: Int[np.ndarray, " K"]
    ) -> Float[np.ndarray, "K d"]:
        """The sums of some clusters."""
        return np.ascontiguousarray(resultants[:, clusters].T)

    def put(self, resultants: np.ndarray, clusters: np.ndarray, sums: np.ndarray) -> None:
        """Set the sums of some clusters."""
        resultants[:, clusters] = sums.T

    def squares(self, resultants: Float[np.ndarray, "d M"]) -> Float[np.ndarray, " M"]:
        """|R|^2 of all clusters."""
        return np.einsum("dk,dk->k", resultants, resultants)

    def products(
        self, numbers: Int[np.ndarray, " S"], vectors: Float[np.ndarray, "d K"]
    ) -> Float[np.ndarray, "S K"]:
        """Rows times vectors."""
        every = len(numbers) == self.number and bool((np.diff(numbers) == 1).all())
        return np.asarray((self.matrix if every else self.matrix[numbers]) @ vectors)

    def add(
        self, numbers: Int[np.ndarray, " S"], clusters: Int[np.ndarray, " S"], to: Float[np.ndarray, "d M"]
    ) -> None:
        """Add rows to the sums of their clusters."""
        part = self.matrix[numbers]
        _add_sparse(part.indptr, part.indices, part.data, clusters, 1.0, to)

    def clear(self, resultants: Float[np.ndarray, "..."], clusters: list[int]) -> None:
        """Set the sums of some clusters to 0."""
        resultants[:, clusters] = 0.0

    def weighted_sum(self, weights: Float[np.ndarray, " N"]) -> Float[np.ndarray, " d"]:
        """Sum of all rows by weights."""
        return np.asarray(self.matrix.T @ weights)

    def redraw(
        self,
        numbers: Int[np.ndarray, " S"],
        z: Int[np.ndarray, " N"],
        sums: Sums,
        resultants: Float[np.ndarray, "d M"],
        law: Law,
        r0: Float[np.ndarray, " d"],
        fresh: Float[np.ndarray, " S"],
        streams: Family,
    ) -> tuple[int, int]:
        """See `Rows.redraw`."""
        room, done, moved, word = len(sums.counts), 0, 0, streams.word
        scores, bounds = np.empty((2, room + 2))
        while done < len(numbers):
            some = numbers[done : done + SPARSE_BLOCK]
            free = int((sums.counts == 0).sum())
            most = len(some)
            if law.new_each < 0:
                most = min(most, round(law.new_first / law.g) - (room - free))
            if free < most:
                break
            part = self.matrix[some]
            dots = np.zeros((len(some), room))
            _sparse_products(part.indptr, part.indices, part.data, resultants, dots)
            block = Block(dots, (part @ part.T).toarray(), part @ r0, fresh[done : done + len(some)])
            before = np.empty(len(some), np.int64)
            redraw_block(some, z, sums, law, block, word, scores, bounds, before)
            went = np.flatnonzero(before != STAYED)
            left, came = part[went], z[some[went]].astype(np.int64)
            _add_sparse(left.indptr, left.indices, left.data, before[went], -1.0, resultants)
            _add_sparse(left.indptr, left.indices, left.data, came, 1.0, resultants)
            resultants[:, sums.counts == 0] = 0.0
            done, moved = done + len(some), moved + len(went)
        return done, moved


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _sparse_products(indptr, indices, data, resultants, dots):
    """dots[i, k] = sum_j x_ij R_jk."""
    for i in range(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            j, x = indices[e], data[e]
            for k in range(resultants.shape[1]):
                dots[i, k] += x * resultants[j, k]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _add_sparse(indptr, indices, data, clusters, sign, to):
    for i in range(len(indptr) - 1):
        if clusters[i] >= 0:
            for e in range(indptr[i], indptr[i + 1]):
                to[indices[e], clusters[i]] += sign * data[e]
