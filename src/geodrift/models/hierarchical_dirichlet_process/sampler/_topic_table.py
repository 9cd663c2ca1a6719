"""The counts of words and topics of a hierarchical Dirichlet process, whose large topics come first."""

from typing import Any

import numba
import numpy as np
from jaxtyping import Int, UInt

from geodrift.kernels._bits import BITS, above_zero
from geodrift.kernels._vector_draw import padded
from geodrift.models.hierarchical_dirichlet_process.sampler._sweeps import (
    SplitCounts,
    sweeps_with_small_topics,
)
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._counts import CountTable
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch, TokenSource

LARGE = (
    0.0005  # share of the tokens from which a topic is large: most of its words are those of other topics too
)
SPARE = 1.25  # a table is made for so many times as many topics as there are, so that few passes need another


def filled(large: int) -> int:
    """So many topics, and as many more as fill vectors, but for the place that all small ones have."""
    return padded(large + 1) - 1


@numba.njit(cache=True)
def renumber(counts: np.ndarray, topics: np.ndarray, into: np.ndarray) -> None:
    """Write the counts of some topics to the first places of each row, and zeros to the others.

    Args:
        counts: N_kw, [V, K], int32.
        topics: Their numbers so far.
        into: [V, K'], int32; it may be ``counts``.
    """
    row = np.empty(topics.shape[0], np.int32)
    for word in range(counts.shape[0]):
        for place in range(topics.shape[0]):
            row[place] = counts[word, topics[place]]
        for place in range(topics.shape[0]):
            into[word, place] = row[place]
        into[word, topics.shape[0] :] = 0


class TopicTable(CountTable):
    """N_kw of topics whose number changes, the large ones first.

    Attributes:
        large: Their number.
        of_words: The small topics that each word has, as bits, and others at times: of these a draw takes
            note in vain.
    """

    names = ("word_topic", "large")

    def __init__(self, source: TokenSource, num_topics: int, bounds: Int[np.ndarray, " bound"]) -> None:
        super().__init__(source, num_topics, bounds)
        self.large = filled(num_topics)
        self._make_room()
        self.take_note()

    def state(self) -> dict[str, np.ndarray]:
        return super().state() | {"large": np.array(self.large)}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        super().restore(arrays)
        self.large = int(arrays["large"])
        self.take_note()

    def add(self, batch: Minibatch, assignments: UInt[np.ndarray, " n"]) -> None:
        super().add(batch, assignments)
        self.take_note()

    def sweep(self, batch: Minibatch, starts: Any, assignments: Any, *arguments: Any, **named: Any) -> None:
        counts = SplitCounts(self.word_topic, self.of_words, self.in_parts, self.large)
        sweeps_with_small_topics(batch, starts, self.bounds, assignments, counts, *arguments, **named)

    def keep(self, topics: Int[np.ndarray, " O"], number: int) -> None:
        """Number some topics, by decreasing size, from 0 on, and make room for ``number`` of them.

        Args:
            topics: Their numbers so far; no other topic has a token.
            number: At least as many.
        """
        word_topic, in_parts = self.word_topic, self.in_parts[:, topics]
        sizes = in_parts.sum(axis=0)
        self.num_topics, self.large = number, filled(int(np.count_nonzero(sizes >= LARGE * sizes.sum())))
        self._make_room()
        renumber(word_topic, topics, self.word_topic)
        self.in_parts[:] = 0.0
        self.in_parts[:, : len(topics)] = in_parts
        self.take_note()

    def take_note(self) -> None:
        """Find the small topics that each word has."""
        small = self.word_topic.shape[1] - self.large
        self.of_words = np.zeros((len(self.word_topic), -(-small // BITS)), np.uint64)
        above_zero(self.word_topic, self.large, self.of_words)

    def _make_room(self) -> None:
        """See that the tables have places for all topics; what stands there is not said."""
        size = max(padded(self.num_topics), self.large + 1)
        if not size <= self.word_topic.shape[1] <= SPARE**2 * size:
            size = padded(int(SPARE * size))
            self.word_topic = np.zeros((len(self.word_topic), size), np.int32)
            self.in_parts = np.zeros((len(self.in_parts), size))
