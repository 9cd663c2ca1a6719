"""Collapsed Gibbs sampling whose documents are shared out to processes, to the same bits as in one.

The order of the work is that of one process (see `_rounds`). A process sweeps some pairs of groups of each
minibatch, whosever documents they are. What travels are topics of tokens, one byte each, or two where there
are more than 256 topics: before a step those of the minibatch, from the processes that keep them; after each
round those that were drawn in it. Every process carries all counts along, which are whole numbers, so nothing
is ever stale: a draw has read what it would have read in one process. Of a large minibatch a process reads
and draws its own documents alone, and the counts of words travel instead (see `_travelling_counts`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import numpy as np
from jaxtyping import Float, Int, UInt

from geodrift.distributed import Team, check_agreement
from geodrift.kernels import _streams
from geodrift.models.latent_dirichlet_allocation._settings import MOST_PROCESSES, Settings
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._counts import CountTable
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sampler import CollapsedGibbs
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed._rounds import (
    Range,
    rounds_of,
    shares_of,
)
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed._shared_sweep import shared_sweep
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed._shares import Shares
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed._travelling_counts import (
    OwnRows,
    TravellingSweep,
    own_rows,
)
from geodrift.models.latent_dirichlet_allocation.documents._gibbs_sweeps import gibbs_sweeps
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch, TokenSource

# Tokens of a minibatch for each count of a word and a topic, from which on the counts travel. 1.5 tables of
# 4 bytes are sent at some 0.7 GB/s, 9 ns a count; two processes save about 25 ns a token.
WORTH_TRAVEL = 0.5


class DistributedCollapsedGibbs(CollapsedGibbs):
    """`CollapsedGibbs` by the processes of a team, which make all calls together.

    A process keeps the assignments of its documents, and all counts. Draws of the topics and the state are
    for process 0; the others get nothing for a state.

    Args:
        source: The corpus.
        settings: See `Settings`.
        seed: Seed of the run.
        chain: Number of the chain.
        team: The processes.

    Raises:
        ValueError: There are more of them than have work.
    """

    def __init__(self, source: TokenSource, settings: Settings, seed: int, chain: int, team: Team) -> None:
        if team.size > MOST_PROCESSES:
            raise ValueError(
                f"{team.size} processes: a step of collapsed Gibbs sampling has work for {MOST_PROCESSES} at"
                " most"
            )
        self.team, self.shares = team, Shares(team, source.starts)
        super().__init__(source, settings, seed, chain)
        self.assignments = np.zeros(self.shares.own_tokens, self.assignments.dtype)
        pairs, phases = len(self.bounds) // 2, settings.sweeps * (len(self.bounds) - 1)
        self.pairs = shares_of(pairs, team.size)
        self.rounds = rounds_of(pairs, phases, self.pairs)

    @property
    def threads_of_a_step(self) -> int:
        """0: all processes make the same calls in the same order."""
        return 0

    def minibatch(self, source: TokenSource, documents: Int[np.ndarray, " S"]) -> Minibatch | OwnRows:
        """All rows, or those that this process sweeps where the counts travel."""
        if not self._counts_travel(documents):
            return source.minibatch(documents)
        return own_rows(source, documents, len(self.bounds) - 1, self.pairs, self.team.rank)

    def step(self, batch: Minibatch | OwnRows, count: int, warming_up: bool) -> int:
        """One minibatch; returns its number of token draws."""
        if not isinstance(batch, OwnRows):
            return super().step(batch, count, warming_up)
        documents, keepers = batch.documents, self.shares.keepers(batch.documents)
        kept = self.shares.own(documents, self.assignments)
        topics = self.shares.hand_over(documents, kept, keepers, batch.sweepers)
        table = cast(CountTable, self.counts)  # or rows would not have been read so
        prior, eta = self._priors_of_step
        self.counts.power = self.annealed.power
        sweep = TravellingSweep(batch, table, topics, prior, self.pairs, self.team)
        streams = _streams.LDA_GIBBS_ASSIGNMENTS.family(self.seed, self.chain, count)
        sweep.sweep(self.settings.sweeps, self._masses(count), eta, streams)
        drawn = self.shares.hand_over(documents, sweep.topics, batch.sweepers, keepers)
        self.shares.keep_own(documents, drawn, self.assignments)
        return self._swept(batch.num_tokens * self.settings.sweeps, count)

    def state(self) -> dict[str, np.ndarray]:
        """The state of one process, at process 0."""
        counts = [*self.counts.state().values(), self.counts.in_parts]
        check_agreement(self.team, [*counts, self.seen, self.alpha])
        with self._all_assignments():
            return {} if self.team.rank else super().state()

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state that any number of processes have left."""
        super().restore(arrays)
        self.assignments = self.shares.cut(self.assignments)

    def log_joint(self) -> float:
        """See `CollapsedGibbs.log_joint`; 0 at other processes than the first."""
        with self._all_assignments():
            return 0.0 if self.team.rank else super().log_joint()

    def _new_priors(self, count: int) -> tuple[Float[np.ndarray, " K"], float]:
        with self._all_assignments():
            drawn = None if self.team.rank else np.append(*super()._new_priors(count))
        both = self.team.from_first(drawn, (len(self.alpha) + 1,), np.float64)
        return both[:-1], float(both[-1])

    def _topics_of_start(self, documents: Int[np.ndarray, " D"]) -> Float[np.ndarray, "V K"]:
        found = None if self.team.rank else super()._topics_of_start(documents)
        return self.team.from_first(found, (self.source.num_words, len(self.alpha)), np.float32)

    def _draw_first(
        self, batch: Minibatch, topics: Float[np.ndarray, "W K"], count: int
    ) -> UInt[np.ndarray, " n"]:
        lengths = self.shares.lengths(batch.documents)
        ends, rows = np.concatenate([[0], np.cumsum(lengths)]), shares_of(len(lengths), self.team.size)
        first, last = rows[self.team.rank]
        own = np.zeros(ends[last] - ends[first], self.assignments.dtype)
        gibbs_sweeps(
            _rows(batch, first, last),
            ends[first:last] - ends[first],
            own,
            topics,
            self.document_prior,
            sweeps=self.settings.first_sweeps,
            first=True,
            streams=_streams.LDA_GIBBS_FIRST_ASSIGNMENTS.family(self.seed, self.chain, count),
        )
        drawn = np.concatenate(self.team.gather(own, [int(ends[b] - ends[a]) for a, b in rows]))
        self.shares.keep(batch.documents, drawn, self.assignments)
        return drawn

    def _sweep(
        self, batch: Minibatch, starts: Int[np.ndarray, " S"], assignments: UInt[np.ndarray, " n"], count: int
    ) -> None:
        del starts  # of one process
        topics = self.shares.fetch(batch.documents, assignments)
        prior, eta = self._priors_of_step
        self.counts.power = self.annealed.power
        sweep = shared_sweep(batch, self.counts, topics, prior, self.pairs[self.team.rank])
        masses = self._masses(count)
        streams = _streams.LDA_GIBBS_ASSIGNMENTS.family(self.seed, self.chain, count)
        for cells in self.rounds:
            sweep.draw(cells[self.team.rank], masses, eta, streams)
            sweep.exchange(self.team, cells)
        self.shares.keep(batch.documents, sweep.topics, assignments)

    def _counts_travel(self, documents: Int[np.ndarray, " S"]) -> bool:
        """Whether the counts of all words are less to send than the draws of the minibatch are to count."""
        if self.complete_at < 0 or not isinstance(self.counts, CountTable):
            return False
        return int(self.shares.lengths(documents).sum()) >= WORTH_TRAVEL * self.counts.word_topic.size

    def compile(self) -> None:
        """Also what is only called where processes share a step."""
        super().compile()
        nothing = self.source.minibatch(np.zeros(0, np.int64))
        sweep = shared_sweep(nothing, self.counts, self.assignments[:0], self.document_prior, Range(0, 0))
        sweep.compile(self._masses(0))

    @contextmanager
    def _all_assignments(self) -> Iterator[None]:
        """For this while process 0 has the assignments of all documents."""
        whole = self.shares.whole(self.assignments)
        own = self.assignments
        try:
            if whole is not None:
                self.assignments = whole
            yield
        finally:
            self.assignments = own


def _rows(batch: Minibatch, first: int, last: int) -> Minibatch:
    """Some documents of a minibatch, side by side, with the vocabulary of all."""
    begin, end = batch.indptr[first], batch.indptr[last]
    return Minibatch(
        batch.documents[first:last],
        batch.indptr[first : last + 1] - begin,
        batch.words[begin:end],
        batch.counts[begin:end],
        batch.vocabulary,
    )
