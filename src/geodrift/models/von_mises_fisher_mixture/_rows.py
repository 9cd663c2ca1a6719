"""Unit vectors in rows, dense or sparse: read in batches, and multiplied by the sums of clusters."""

import abc
import functools
from typing import Any, ContextManager

import numba
import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int
from threadpoolctl import ThreadpoolController

from geodrift.kernels._streams import Family
from geodrift.models.von_mises_fisher_mixture._assignment_kernel import (
    BACKGROUND,
    STAYED,
    Block,
    Law,
    Sums,
    redraw_block,
    redraw_dense,
)

BLOCK = 64  # rows whose products are made at once: dense
SPARSE_BLOCK = 256
AT_ONCE = 16_384  # rows that are read at once
NORM_TOLERANCE = 1e-3  # half precision leaves 1e-4


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> ContextManager:
    """One thread for the BLAS: products of a block are too small for more, and chains share the cores."""
    return _controller().limit(limits=1, user_api="blas")


class Rows(abc.ABC):
    """Unit vectors, [N, d].

    Attributes:
        number: N.
        dim: d.
    """

    number: int
    dim: int

    @abc.abstractmethod
    def dense(self, numbers: Int[np.ndarray, " S"]) -> Float[np.ndarray, "S d"]:
        """Some rows, float64, of unit norm."""

    @abc.abstractmethod
    def part(self, numbers: Int[np.ndarray, " S"]) -> "Rows":
        """Some rows alone, in memory."""

    @abc.abstractmethod
    def resultants(self, room: int) -> Float[np.ndarray, "..."]:
        """Sums of no rows for ``room`` clusters, in the layout that `redraw` takes."""

    @abc.abstractmethod
    def grown(self, resultants: Float[np.ndarray, "..."], room: int) -> Float[np.ndarray, "..."]:
        """The same sums with room for more clusters."""

    @abc.abstractmethod
    def of_clusters(
        self, resultants: Float[np.ndarray, "..."], clusters: Int[np.ndarray, " K"]
    ) -> Float[np.ndarray, "K d"]:
        """The sums of some clusters."""

    @abc.abstractmethod
    def squares(self, resultants: Float[np.ndarray, "..."]) -> Float[np.ndarray, " M"]:
        """|R|^2 of all clusters."""

    @abc.abstractmethod
    def products(
        self, numbers: Int[np.ndarray, " S"], vectors: Float[np.ndarray, "d K"]
    ) -> Float[np.ndarray, "S K"]:
        """Rows times vectors."""

    @abc.abstractmethod
    def add(
        self, numbers: Int[np.ndarray, " S"], clusters: Int[np.ndarray, " S"], to: Float[np.ndarray, "..."]
    ) -> None:
        """Add rows to the sums of their clusters."""

    @abc.abstractmethod
    def clear(self, resultants: Float[np.ndarray, "..."], clusters: list[int]) -> None:
        """Set the sums of some clusters to 0."""

    @abc.abstractmethod
    def weighted_sum(self, weights: Float[np.ndarray, " N"]) -> Float[np.ndarray, " d"]:
        """Sum of all rows by weights."""

    @abc.abstractmethod
    def redraw(
        self,
        numbers: Int[np.ndarray, " S"],
        z: Int[np.ndarray, " N"],
        sums: Sums,
        resultants: Float[np.ndarray, "..."],
        law: Law,
        r0: Float[np.ndarray, " d"],
        fresh: Float[np.ndarray, " S"],
        streams: Family,
    ) -> tuple[int, int]:
        """Redraw the assignments of rows; returns how many were drawn, and how many rows have moved.

        Fewer are drawn where there is no room for new clusters.
        """


class DenseRows(Rows):
    """An array, which may be a memory map of half or single precision.

    Args:
        array: [N, d].
        normalise: Whether rows of any length are scaled to unit norm, where they are otherwise refused.
    """

    def __init__(self, array: Float[np.ndarray, "N d"], normalise: bool = False) -> None:
        self.array = array
        self.number, self.dim = array.shape
        for start in range(0, self.number, AT_ONCE):
            norms = np.linalg.norm(np.asarray(array[start : start + AT_ONCE], np.float64), axis=1)
            check_norms(norms, start, normalise)

    def dense(self, numbers: Int[np.ndarray, " S"]) -> Float[np.ndarray, "S d"]:
        """Some rows, float64, of unit norm."""
        found = np.asarray(self.array[numbers], np.float64)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def part(self, numbers: Int[np.ndarray, " S"]) -> "DenseRows":
        """Some rows alone, in memory."""
        return DenseRows(self.dense(numbers))

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


class SparseRows(Rows):
    """A CSR matrix; sums are kept as [d, M], so that a row's entries meet contiguous numbers.

    Args:
        matrix: [N, d].
        normalise: See `DenseRows`.
    """

    def __init__(self, matrix: sp.csr_matrix, normalise: bool = False) -> None:
        self.number, self.dim = matrix.shape
        norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1), np.float64)).ravel()
        check_norms(norms, 0, normalise)
        self.matrix = sp.csr_matrix(sp.diags(1 / norms) @ matrix.astype(np.float64))

    def dense(self, numbers: Int[np.ndarray, " S"]) -> Float[np.ndarray, "S d"]:
        """Some rows, float64, of unit norm."""
        return self.matrix[numbers].toarray()

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

    def squares(self, resultants: Float[np.ndarray, "d M"]) -> Float[np.ndarray, " M"]:
        """|R|^2 of all clusters."""
        return np.einsum("dk,dk->k", resultants, resultants)

    def products(
        self, numbers: Int[np.ndarray, " S"], vectors: Float[np.ndarray, "d K"]
    ) -> Float[np.ndarray, "S K"]:
        """Rows times vectors."""
        return np.asarray(self.matrix[numbers] @ vectors)

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
            most = len(some) if law.new_each == 0 else min(len(some), law.new_first / law.g - (room - free))
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


def rows_of(x: Any, normalise: bool = False) -> Rows:
    """Rows of an array or of a sparse matrix."""
    return SparseRows(sp.csr_matrix(x), normalise) if sp.issparse(x) else DenseRows(x, normalise)


def check_norms(norms: Float[np.ndarray, " n"], start: int, normalise: bool) -> None:
    """Refuse rows that have no direction, and rows whose norm is not 1 where they are not to be normalised.

    Args:
        norms: Of some rows.
        start: Number of the first.
        normalise: Whether rows are to be scaled.

    Raises:
        ValueError: With the first such row.
    """
    wrong = ~np.isfinite(norms)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"row {start + row} has a value that is NaN or infinite: leave such rows out")
    zero = norms == 0
    if zero.any():
        row = int(np.flatnonzero(zero)[0])
        raise ValueError(f"row {start + row} is zero and has no direction: leave such rows out")
    off = np.abs(norms - 1) > NORM_TOLERANCE
    if not normalise and off.any():
        row = int(np.flatnonzero(off)[0])
        raise ValueError(
            f"rows must have norm 1: row {start + row} has norm {norms[row]:.6g}; divide each row by its norm, "
            "or say normalise=True"
        )


@numba.njit(cache=True, error_model="numpy")
def _sparse_products(indptr, indices, data, resultants, dots):
    """dots[i, k] = sum_j x_ij R_jk."""
    for i in range(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            j, x = indices[e], data[e]
            for k in range(resultants.shape[1]):
                dots[i, k] += x * resultants[j, k]


@numba.njit(cache=True, error_model="numpy")
def _add_sparse(indptr, indices, data, clusters, sign, to):
    for i in range(len(indptr) - 1):
        if clusters[i] >= 0:
            for e in range(indptr[i], indptr[i + 1]):
                to[indices[e], clusters[i]] += sign * data[e]
