"""Unit vectors in rows, dense or sparse: read in batches, and multiplied by the sums of clusters."""

import abc
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from geodrift.kernels._stream_kinds import Family
from geodrift.models.von_mises_fisher_mixture._conditional import Law, Sums

BLOCK = 64  # rows whose products are made at once: dense
SPARSE_BLOCK = 256
AT_ONCE = 16_384  # rows that are read at once
NORM_TOLERANCE = 1e-3  # half precision leaves 1e-4


class Rows(abc.ABC):
    """Unit vectors, [N, d].

    Attributes:
        number: N.
        dim: d.
        entries: Numbers that are kept of a row.
    """

    number: int
    dim: int
    entries: float

    @abc.abstractmethod
    def dense(self, numbers: Int[np.ndarray, " S"]) -> Float[np.ndarray, "S d"]:
        """Some rows, float64, of unit norm; not to be changed."""

    @abc.abstractmethod
    def contents(self, numbers: Int[np.ndarray, " S"]) -> Iterator[bytes]:
        """What some rows hold, in single precision: the same of rows that are equal as they were given."""

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
    def put(
        self,
        resultants: Float[np.ndarray, "..."],
        clusters: Int[np.ndarray, " K"],
        sums: Float[np.ndarray, "K d"],
    ) -> None:
        """Set the sums of some clusters."""

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
            f"rows must have norm 1: row {start + row} has norm {norms[row]:.6g}; divide each row by its"
            " norm, or say normalise=True (--normalise yes)"
        )
