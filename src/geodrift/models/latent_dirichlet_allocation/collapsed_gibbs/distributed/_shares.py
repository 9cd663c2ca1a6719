"""Assignments shared out to processes: each keeps those of documents that lie side by side."""

import numpy as np
from jaxtyping import Bool, Int, UInt

from geodrift.distributed import Team
from geodrift.models.latent_dirichlet_allocation.documents import _assignment_kernel as kernel


class Shares:
    """Which documents each process keeps, and how their assignments get to all.

    Args:
        team: The processes.
        starts: The place of each document's first token in one vector of all tokens, [D + 1].

    Attributes:
        tokens: Number of tokens of the documents of each process.
    """

    def __init__(self, team: Team, starts: Int[np.ndarray, " start"]) -> None:
        self.team, self.starts = team, starts
        even = starts[-1] * np.arange(1, team.size) // team.size
        # The first document of each process, and D.
        self.firsts = np.concatenate([[0], np.searchsorted(starts, even), [len(starts) - 1]])
        self.tokens = [int(n) for n in np.diff(starts[self.firsts])]

    @property
    def own_tokens(self) -> int:
        """Number of tokens of the documents of this process."""
        return self.tokens[self.team.rank]

    def fetch(self, documents: Int[np.ndarray, " S"], own: UInt[np.ndarray, " n"]) -> UInt[np.ndarray, " m"]:
        """Assignments of some documents at every process, one document after the other.

        Args:
            documents: Their numbers, the same at every process.
            own: Assignments of the documents of this process.
        """
        lengths, keepers = self.lengths(documents), self.keepers(documents)
        ends = np.cumsum(lengths)
        numbers = np.bincount(keepers, weights=lengths, minlength=self.team.size).astype(int).tolist()
        mine = documents[keepers == self.team.rank]
        starts, stops = self._places(mine)
        parts = self.team.gather(kernel.gather(starts, stops, own), numbers)
        found = np.empty(ends[-1] if len(ends) else 0, own.dtype)
        for rank, part in enumerate(parts):
            of_rank = keepers == rank
            kernel.scatter(ends[of_rank] - lengths[of_rank], ends[of_rank], part, found)
        return found

    def keep(
        self, documents: Int[np.ndarray, " S"], found: UInt[np.ndarray, " m"], own: UInt[np.ndarray, " n"]
    ) -> None:
        """Write to ``own`` what of the assignments ``found``, in the order of `fetch`, is this process's."""
        lengths, mine = self.lengths(documents), self.keepers(documents) == self.team.rank
        ends = np.cumsum(lengths)
        starts, stops = self._places(documents[mine])
        kernel.scatter(starts, stops, kernel.gather(ends[mine] - lengths[mine], ends[mine], found), own)

    def hand_over(
        self,
        documents: Int[np.ndarray, " S"],
        held: UInt[np.ndarray, " n"],
        holders: Int[np.ndarray, " S"],
        takers: Int[np.ndarray, " S"],
    ) -> UInt[np.ndarray, " m"]:
        """Assignments of the documents that this process takes, one document after the other.

        Args:
            documents: Their numbers, the same at every process.
            held: Assignments of the documents that this process holds, one after the other.
            holders: The process that holds each document's.
            takers: The process that takes them.
        """
        lengths, rank = self.lengths(documents), self.team.rank
        in_held, in_taken = (_places_among(lengths, who == rank) for who in (holders, takers))
        taken = np.empty(int(lengths[takers == rank].sum()), held.dtype)
        stay, leave = (holders == rank) & (takers == rank), holders != takers
        begins, ends = in_taken
        kernel.scatter(begins[stay], ends[stay], _cut_out(in_held, stay, held), taken)
        numbers = np.bincount(holders, weights=lengths * leave, minlength=self.team.size).astype(int).tolist()
        parts = self.team.gather(_cut_out(in_held, leave & (holders == rank), held), numbers)
        for other, part in enumerate(parts):
            sent = leave & (holders == other)
            mine = sent & (takers == rank)
            found = _cut_out(_places_among(lengths, sent), mine, part)
            kernel.scatter(begins[mine], ends[mine], found, taken)
        return taken

    def own(
        self, documents: Int[np.ndarray, " S"], assignments: UInt[np.ndarray, " n"]
    ) -> UInt[np.ndarray, " m"]:
        """Assignments of those of some documents that this process keeps, one document after the other."""
        return kernel.gather(*self._places(documents[self.keepers(documents) == self.team.rank]), assignments)

    def keep_own(
        self, documents: Int[np.ndarray, " S"], found: UInt[np.ndarray, " m"], own: UInt[np.ndarray, " n"]
    ) -> None:
        """Write assignments in the order of `own` back."""
        kernel.scatter(*self._places(documents[self.keepers(documents) == self.team.rank]), found, own)

    def whole(self, own: UInt[np.ndarray, " n"]) -> UInt[np.ndarray, " N"] | None:
        """All assignments at process 0; None at the others."""
        return self.team.to_first(own, self.tokens)

    def cut(self, whole: UInt[np.ndarray, " N"]) -> UInt[np.ndarray, " n"]:
        """This process's part of all assignments."""
        first, last = self.firsts[self.team.rank : self.team.rank + 2]
        return np.array(whole[self.starts[first] : self.starts[last]])

    def keepers(self, documents: Int[np.ndarray, " S"]) -> Int[np.ndarray, " S"]:
        """The process that keeps each document."""
        return np.searchsorted(self.firsts[1:-1], documents, side="right")

    def lengths(self, documents: Int[np.ndarray, " S"]) -> Int[np.ndarray, " S"]:
        """Tokens of each document."""
        return self.starts[documents + 1] - self.starts[documents]

    def _places(
        self, documents: Int[np.ndarray, " S"]
    ) -> tuple[Int[np.ndarray, " S"], Int[np.ndarray, " S"]]:
        """Where documents of this process begin and end in its assignments."""
        first = self.starts[self.firsts[self.team.rank]]
        return self.starts[documents] - first, self.starts[documents + 1] - first


def _places_among(
    lengths: Int[np.ndarray, " S"], chosen: Bool[np.ndarray, " S"]
) -> tuple[Int[np.ndarray, " S"], Int[np.ndarray, " S"]]:
    """Where documents begin and end in a vector of the tokens of those that are chosen alone."""
    ends = np.cumsum(lengths * chosen)
    return ends - lengths * chosen, ends


def _cut_out(
    places: tuple[Int[np.ndarray, " S"], Int[np.ndarray, " S"]],
    some: Bool[np.ndarray, " S"],
    assignments: UInt[np.ndarray, " n"],
) -> UInt[np.ndarray, " m"]:
    begins, ends = places
    return kernel.gather(begins[some], ends[some], assignments)
