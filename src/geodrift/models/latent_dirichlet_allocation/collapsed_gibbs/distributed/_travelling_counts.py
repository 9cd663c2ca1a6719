"""The sweep over one minibatch whose documents are shared out, and whose counts of words go round.

In a phase every group of documents is at another part of the vocabulary, and in the next at the part that the
group after it had (see `_sweeps`). A process that sweeps its own groups alone, of its own documents, needs of
the others nothing but the counts of the parts that come to it: V K numbers in a sweep, however many tokens
the minibatch has. Where `SharedSweep` lays out all documents and counts all draws at every process, all of
this work is shared; with few tokens the counts cost more than the draws.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, UInt

from geodrift.distributed import Team
from geodrift.kernels._stream_kinds import Family
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._counts import CountTable
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed._rounds import Range
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed._table_tokens import TableTokens
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch, TokenSource


class OwnRows(NamedTuple):
    """A minibatch of which a process has read what it sweeps itself."""

    documents: np.ndarray  # all of the minibatch, [S]
    num_tokens: int  # of all of them
    sweepers: np.ndarray  # the process that sweeps each document, [S]
    rows: Minibatch  # those of this process, side by side in ``documents``
    first: int  # the place of the first of them


class TravellingSweep:
    """One minibatch while it is swept.

    Args:
        batch: The documents.
        counts: Of all documents; changed in place. At the end every process has all of them.
        topics: z of the tokens of this process's documents, one after the other; changed in place.
        doc_topic_prior: alpha, float32.
        pairs: The pairs of groups of each process.
        team: The processes.
    """

    def __init__(
        self,
        batch: OwnRows,
        counts: CountTable,
        topics: UInt[np.ndarray, " n"],
        doc_topic_prior: Float[np.ndarray, " K"],
        pairs: list[Range],
        team: Team,
    ) -> None:
        self.counts, self.topics, self.team, self.pairs = counts, topics, team, pairs
        self._num_parts, rows = len(counts.bounds) - 1, batch.rows
        own = Range(batch.first, batch.first + len(rows.documents))
        of_tokens = topics, counts, doc_topic_prior
        self._laid = TableTokens(rows, batch.first, len(batch.documents), own, *of_tokens)

    def sweep(self, sweeps: int, masses: Float[np.ndarray, "P K"], prior: float, streams: Family) -> None:
        """Redraw all tokens.

        Args:
            sweeps: How often.
            masses: rho.
            prior: eta.
            streams: Random streams of the sweeps.
        """
        phases = sweeps * self._num_parts
        for phase in range(phases):
            cells = np.array([(pair, phase) for pair in range(*self.pairs[self.team.rank])], np.int64)
            work = len(self._laid.topics) if len(cells) > 1 else 1
            self._laid.sweep(cells.reshape(-1, 2), work, masses, prior, streams)
            self._hand_on(phase, last=phase == phases - 1)

    def _hand_on(self, phase: int, last: bool) -> None:
        """Send the counts of the parts that another process sweeps next, or of all parts to all."""
        now, after = (
            _holders(self.pairs, self._num_parts, phase),
            _holders(self.pairs, self._num_parts, phase + 1),
        )
        leaving = [part for part in range(self._num_parts) if last or now[part] != after[part]]
        of_ranks = [[part for part in leaving if now[part] == rank] for rank in range(self.team.size)]
        lengths = [sum(self._length(part) for part in parts) for parts in of_ranks]
        own = [self._pack(part) for part in of_ranks[self.team.rank]]
        received = self.team.gather(np.concatenate([np.zeros(0, np.int32), *own]), lengths)
        for rank, (parts, numbers) in enumerate(zip(of_ranks, received, strict=True)):
            ends = np.cumsum([self._length(part) for part in parts])
            for part, found in zip(parts, np.split(numbers, ends[:-1]), strict=bool(parts)):
                if rank != self.team.rank and (last or after[part] == self.team.rank):
                    self._unpack(part, found)

    def _length(self, part: int) -> int:
        """Numbers of `_pack`."""
        words = self.counts.bounds[part + 1] - self.counts.bounds[part]
        return int(words + 2) * self.counts.in_parts.shape[1]

    def _pack(self, part: int) -> Int[np.ndarray, " n"]:
        """N_kw of a part's words and N_kb, each of the latter as two numbers of 32 bits."""
        begin, end = self.counts.bounds[part : part + 2]
        of_part = self.counts.in_parts[part].astype(np.int64).view(np.int32)
        return np.concatenate([self.counts.word_topic[begin:end].reshape(-1), of_part])

    def _unpack(self, part: int, found: Int[np.ndarray, " n"]) -> None:
        begin, end = self.counts.bounds[part : part + 2]
        size = self.counts.in_parts.shape[1]
        self.counts.word_topic[begin:end] = found[: -2 * size].reshape(-1, size)
        self.counts.in_parts[part] = found[-2 * size :].view(np.int64)


def _holders(pairs: list[Range], num_parts: int, phase: int) -> list[int]:
    """The process that has each part in a phase: of the group g = part - phase, mod P."""
    of_groups = [rank for rank, (begin, end) in enumerate(pairs) for _ in range(2 * begin, 2 * end)]
    return [of_groups[(part - phase) % num_parts] for part in range(num_parts)]


def own_rows(
    source: TokenSource, documents: Int[np.ndarray, " S"], num_parts: int, pairs: list[Range], rank: int
) -> OwnRows:
    """Read the documents of a minibatch that a process sweeps.

    Args:
        source: The corpus.
        documents: All of the minibatch.
        num_parts: P, the number of parts of the vocabulary and of groups of documents.
        pairs: The pairs of groups of each process.
        rank: The process.
    """
    ends = [min(2 * end, num_parts) * len(documents) // num_parts for _, end in pairs]
    begins = [0, *ends[:-1]]
    tokens = int((source.starts[documents + 1] - source.starts[documents]).sum())
    sweepers = np.repeat(np.arange(len(pairs)), np.subtract(ends, begins))
    rows = source.minibatch(documents[begins[rank] : ends[rank]])
    return OwnRows(documents, tokens, sweepers, rows, begins[rank])
