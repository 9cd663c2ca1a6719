"""The sweep over one minibatch, of which this process does a part and is told the rest."""

import abc
from typing import Any

import numba
import numpy as np
from jaxtyping import Float, Int, UInt

from geodrift.distributed import Alone, Team
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._threads import start_threads
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._counts import (
    CountLists,
    CountTable,
    TopicCounts,
)
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._token_lists import empty_lists
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed import _exchange_kernel as kernel
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed import _list_kernel as of_lists
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed._rounds import (
    PairPhase,
    Range,
    waves_of,
)
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed._table_tokens import TableTokens
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch


class SharedSweep(abc.ABC):
    """One minibatch while it is swept.

    Args:
        batch: The documents.
        counts: Of all documents; changed in place.
        topics: z of the minibatch's tokens, one document after the other; changed in place.
        doc_topic_prior: alpha, float32.
        pairs: The pairs of groups that this process sweeps.

    Attributes:
        topics: The same array.
    """

    def __init__(
        self,
        batch: Minibatch,
        counts: TopicCounts,
        topics: UInt[np.ndarray, " n"],
        doc_topic_prior: Float[np.ndarray, " K"],
        pairs: Range,
    ) -> None:
        self.topics, self.counts = topics, counts
        self._sizes = np.diff(counts.bounds).astype(np.float64)
        self._lay_out(batch, doc_topic_prior, pairs)

    def draw(
        self, cells: list[PairPhase], masses: Float[np.ndarray, "P K"], prior: float, streams: Family
    ) -> None:
        """Redraw the tokens of some pairs in some phases.

        Args:
            cells: Pairs and phases, in their order.
            masses: rho.
            prior: eta.
            streams: Random streams of the sweeps.
        """
        start_threads()
        in_threads = numba.get_num_threads() > 1
        for wave in waves_of(cells) if in_threads else [cells]:
            work = 1 if len(wave) == 1 or not in_threads else len(self.topics)
            self._draw(work, _as_array(wave), masses, prior, streams)

    def exchange(self, team: Team, cells: list[list[PairPhase]]) -> None:
        """Tell the other processes what was drawn in a round, and take over what they have drawn.

        Args:
            team: The processes.
            cells: Pairs and phases of each process in this round.
        """
        arrays = [_as_array(of_rank) for of_rank in cells]
        lengths = [self._tokens(of_rank) for of_rank in arrays]
        drawn = team.gather(self._drawn(arrays[team.rank], lengths[team.rank]), lengths)
        for rank, (of_rank, part) in enumerate(zip(arrays, drawn, strict=True)):
            if rank != team.rank:
                self._take(of_rank, part)

    def compile(self, masses: Float[np.ndarray, "P K"]) -> None:
        """Call everything, with a minibatch of no documents."""
        self.draw([(0, 0), (1, 0)], masses, 1.0, Family(0, 0, 0))
        self.exchange(Alone(), [[(0, 0)]])
        self._take(_as_array([(0, 0)]), self.topics)

    @abc.abstractmethod
    def _lay_out(self, batch: Minibatch, doc_topic_prior: Float[np.ndarray, " K"], pairs: Range) -> None:
        """Find where the tokens of each group and part are, and the topics of the own documents."""

    @abc.abstractmethod
    def _draw(
        self,
        work: int,
        cells: Int[np.ndarray, "n 2"],
        masses: Float[np.ndarray, "P K"],
        prior: float,
        streams: Family,
    ) -> None:
        """Redraw the tokens of cells that do not depend on each other, or one after the other."""

    @abc.abstractmethod
    def _tokens(self, cells: Int[np.ndarray, "n 2"]) -> int:
        """The number of tokens of some cells."""

    @abc.abstractmethod
    def _drawn(self, cells: Int[np.ndarray, "n 2"], number: int) -> UInt[np.ndarray, " number"]:
        """The topics of their tokens, which this process has drawn."""

    @abc.abstractmethod
    def _take(self, cells: Int[np.ndarray, "n 2"], drawn: UInt[np.ndarray, " n"]) -> None:
        """Take over topics that another process has drawn, and what they change in the counts."""


class TableSweep(SharedSweep):
    """With a table of counts."""

    counts: CountTable

    def _lay_out(self, batch: Minibatch, doc_topic_prior: Float[np.ndarray, " K"], pairs: Range) -> None:
        num_parts, number = len(self.counts.bounds) - 1, len(batch.documents)
        first, last = (min(2 * pair, num_parts) * number // num_parts for pair in pairs)
        of_tokens = self.topics, self.counts, doc_topic_prior
        self._laid = TableTokens(batch, 0, number, Range(first, last), *of_tokens)

    def _draw(self, work: int, cells: Any, masses: Any, prior: float, streams: Family) -> None:
        self._laid.sweep(cells, work, masses, prior, streams)

    def _tokens(self, cells: Int[np.ndarray, "n 2"]) -> int:
        return int(kernel.tokens_of(cells, self._laid.places))

    def _drawn(self, cells: Int[np.ndarray, "n 2"], number: int) -> UInt[np.ndarray, " number"]:
        return kernel.drawn_topics(cells, self._laid.places, self.topics, number)

    def _take(self, cells: Int[np.ndarray, "n 2"], drawn: UInt[np.ndarray, " n"]) -> None:
        laid, table = self._laid, (self.counts.word_topic.reshape(-1), self.counts.in_parts)
        kernel.take_topics(cells, laid.places, drawn, laid.words, self.topics, *table)


class ListSweep(SharedSweep):
    """With a list of topics for each word."""

    counts: CountLists

    def _lay_out(self, batch: Minibatch, doc_topic_prior: Float[np.ndarray, " K"], pairs: Range) -> None:
        bounds, num_topics = self.counts.bounds, len(doc_topic_prior)
        num_rows, num_parts = len(batch.documents), len(bounds) - 1
        ends = np.concatenate([[0], np.cumsum(batch.counts, dtype=np.int64)])[batch.indptr]
        groups = np.arange(num_parts + 1) * num_rows // num_parts
        self._alpha, self._vocabulary = doc_topic_prior.astype(np.float64), batch.vocabulary
        self._cuts = np.searchsorted(batch.vocabulary, bounds)
        self._lists = empty_lists(np.diff(ends), num_topics, num_parts, len(batch.vocabulary))
        first, last = (min(2 * pair, num_parts) for pair in pairs)
        entries = batch.indptr, batch.words, batch.counts
        tokens = ends[:-1], ends[groups], self.topics
        of_lists.lay_out_lists(len(self.topics), first, last, *entries, *tokens, num_topics, *self._lists)

    def _draw(self, work: int, cells: Any, masses: Any, prior: float, streams: Family) -> None:
        lists = self._lists
        of_lists.sweep_list_cells(
            work,
            *(cells, self._cuts, lists.offsets, lists.rows, lists.entries, lists.begins, lists.blocks),
            *(lists.topics, lists.numbers, self._vocabulary),
            *self.counts.rows,
            *(self.counts.in_parts, masses, prior * self._sizes, self._alpha, float(prior), streams.word),
        )

    def _tokens(self, cells: Int[np.ndarray, "n 2"]) -> int:
        return int(of_lists.tokens_of_lists(cells, self._cuts, self._lists.offsets))

    def _drawn(self, cells: Int[np.ndarray, "n 2"], number: int) -> UInt[np.ndarray, " number"]:
        lists = self._lists
        of_tokens = lists.offsets, lists.entries, lists.places, lists.topics
        return of_lists.topics_drawn_in_lists(cells, number, self._cuts, *of_tokens, self.topics)

    def _take(self, cells: Int[np.ndarray, "n 2"], drawn: UInt[np.ndarray, " n"]) -> None:
        of_tokens = self._cuts, self._lists.offsets, self._lists.places, self.topics
        of_words = self._vocabulary, *self.counts.rows, self.counts.in_parts
        of_lists.take_topics_to_lists(cells, drawn, *of_tokens, *of_words)


def shared_sweep(
    batch: Minibatch,
    counts: TopicCounts,
    topics: UInt[np.ndarray, " n"],
    doc_topic_prior: Float[np.ndarray, " K"],
    pairs: Range,
) -> SharedSweep:
    """The sweep for the form that the counts have; see `SharedSweep`."""
    kind = TableSweep if isinstance(counts, CountTable) else ListSweep
    return kind(batch, counts, topics, doc_topic_prior, pairs)


def _as_array(cells: list[PairPhase]) -> Int[np.ndarray, "n 2"]:
    return np.array(cells, np.int64).reshape(-1, 2)
