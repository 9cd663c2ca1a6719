"""What the chain asks of the part that moves the clusters."""

import abc
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from geodrift.models.dirichlet_process_mixture._rows import Rows, RowSource
from geodrift.models.dirichlet_process_mixture._settings import Settings


class ClusterDraw(NamedTuple):
    """A posterior draw, the clusters by decreasing number of rows."""

    clusters: Float[np.ndarray, "K V"]  # probabilities of words, float32
    weights: Float[np.ndarray, " K"]  # of the clusters, float32
    sizes: Float[np.ndarray, " K"]  # the share of the rows that each has, float32
    new_weight: float  # of all clusters that have no rows
    places: Int[np.ndarray, " slots"]  # of an assignment of the move: the place among these clusters
    counts: Int[np.ndarray, "K V"] | None = None  # N, tokens of words, given which the clusters were drawn


class ClusterMove(abc.ABC):
    """Clusters of a minibatch of rows given all else, then all else given these.

    The chain chooses the rows and counts the steps; the move holds the rest of the chain's state.
    """

    settings: Settings
    source: RowSource
    batch_size: int  # rows of a step, at most those of the corpus
    concentration: float  # alpha
    assignments: Int[np.ndarray, " D"]  # of every row, int32; -1 where it has none yet

    @property
    def threads_of_a_step(self) -> int:
        """See `Chain.threads_of_a_step`."""
        return 0

    @abc.abstractmethod
    def rows_of_pass(self, number: int) -> int:
        """How many rows, the first of a random order, pass ``number`` goes over."""

    def compile(self) -> None:  # noqa: B027  some compile in their first step
        """See `Chain.compile`."""

    @abc.abstractmethod
    def begin(self, rows: Rows) -> None:
        """What happens before the first step, with the rows of the first pass."""

    def rows(self, numbers: Int[np.ndarray, " S"], count: int) -> Rows:
        """The given rows for step ``count``; where a step takes all rows, they are in their order."""
        del count
        every = self.batch_size == self.source.num_rows
        return self.source.all_rows() if every else self.source.rows(numbers)

    @abc.abstractmethod
    def step(self, rows: Rows, count: int) -> None:
        """One step; random numbers are named by (seed, chain, count)."""

    @abc.abstractmethod
    def unseen(self) -> Int[np.ndarray, " U"]:
        """Numbers of the rows that have no cluster yet."""

    @abc.abstractmethod
    def join(self, rows: Rows, count: int) -> None:
        """Give clusters to rows that have none."""

    @abc.abstractmethod
    def draw(self, count: int) -> ClusterDraw:
        """A draw of weights and clusters after ``count`` steps."""

    @abc.abstractmethod
    def number_of_clusters(self) -> int:
        """Clusters that have rows."""

    @abc.abstractmethod
    def log_joint(self) -> float | None:
        """Of rows, assignments and concentration; None where it is not known."""

    @abc.abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to go on, bit for bit."""

    @abc.abstractmethod
    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`."""
