"""The counts N_kw of words and topics, and what draws with them: a table, or a list for each word.

A table has the counts of all topics for each word, and a draw reads a row of it. Lists have the topics that a
word has; a draw reads the document's, and is slower where there are few topics.
"""

import abc
import itertools
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt

from geodrift._errors import InputError
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._vector_draw import padded
from geodrift.models.latent_dirichlet_allocation._settings import LISTS_FROM
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sparse_sweeps import sparse_gibbs_sweeps
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sweeps import collapsed_gibbs_sweeps
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._word_rows import WordRows
from geodrift.models.latent_dirichlet_allocation.documents import _assignment_kernel as kernel
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch, TokenSource


class TopicCounts(abc.ABC):
    """N_kw of the documents that have assignments.

    Attributes:
        in_parts: N_kb, the sums over the words of each part of the vocabulary, [P, Kp] float64; the topics
            are padded with zeros to whole vectors.
        bounds: Words at which the parts begin, and V.
        power: The power to which a sweep takes the probabilities of topics; 1 but for a warm-up. Lists are
            without powers.
    """

    names: tuple[str, ...]  # of the arrays of the state

    def __init__(self, num_topics: int, bounds: Int[np.ndarray, " bound"]) -> None:
        self.num_topics, self.bounds = num_topics, bounds
        self.in_parts = np.zeros((len(bounds) - 1, padded(num_topics)))
        self.power = 1.0

    @abc.abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """The arrays `names`, not copied."""

    @abc.abstractmethod
    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take over arrays of `state`; others are passed over.

        Raises:
            InputError: They are of the other form of counts.
        """

    @abc.abstractmethod
    def table(self, words: Int[np.ndarray, " W"]) -> Int[np.ndarray, "W K"]:
        """N_kw of some words, int32."""

    @abc.abstractmethod
    def add(self, batch: Minibatch, assignments: UInt[np.ndarray, " n"]) -> None:
        """Add documents.

        Args:
            batch: The documents.
            assignments: Of their tokens, in the order of the entries.
        """

    @abc.abstractmethod
    def sweep(
        self,
        batch: Minibatch,
        starts: Int[np.ndarray, " S"],
        assignments: UInt[np.ndarray, " n"],
        masses: Float[np.ndarray, "P K"],
        doc_topic_prior: Float[np.ndarray, " K"],
        prior: float,
        *,
        sweeps: int,
        streams: Family,
    ) -> None:
        """See `collapsed_gibbs_sweeps`."""

    @property
    @abc.abstractmethod
    def values(self) -> Int[np.ndarray, " count"]:
        """Every N_kw above 0, in any order, and zeros."""


class CountTable(TopicCounts):
    """N_kw as a table, [V, Kp] int32."""

    names = ("word_topic",)

    def __init__(self, source: TokenSource, num_topics: int, bounds: Int[np.ndarray, " bound"]) -> None:
        super().__init__(num_topics, bounds)
        self.word_topic = np.zeros((source.num_words, padded(num_topics)), np.int32)

    def state(self) -> dict[str, np.ndarray]:
        return {"word_topic": self.word_topic}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.word_topic = np.array(arrays["word_topic"])

    def table(self, words: Int[np.ndarray, " W"]) -> Int[np.ndarray, "W K"]:
        return np.ascontiguousarray(self.word_topic[:, : self.num_topics])[words]

    def add(self, batch: Minibatch, assignments: UInt[np.ndarray, " n"]) -> None:
        vocabulary = batch.vocabulary
        counts = np.zeros((len(vocabulary), self.word_topic.shape[1]), np.int32)
        kernel.add_counts(batch.words, batch.counts, assignments, counts)
        self.word_topic[vocabulary] += counts
        cuts = np.searchsorted(vocabulary, self.bounds)
        for part, (begin, end) in enumerate(itertools.pairwise(cuts)):
            self.in_parts[part] += counts[begin:end].sum(axis=0)

    def sweep(self, batch: Minibatch, starts: Any, assignments: Any, *arguments: Any, **named: Any) -> None:
        counts = (self.word_topic, self.in_parts)
        collapsed_gibbs_sweeps(
            batch, starts, self.bounds, assignments, *counts, *arguments, power=self.power, **named
        )

    @property
    def values(self) -> Int[np.ndarray, " count"]:
        return self.word_topic.reshape(-1)


class CountLists(TopicCounts):
    """N_kw as a list of topics for each word."""

    names = ("row_topics", "row_counts", "row_sizes")

    def __init__(self, source: TokenSource, num_topics: int, bounds: Int[np.ndarray, " bound"]) -> None:
        super().__init__(num_topics, bounds)
        self.rows = WordRows.empty(source.frequencies, num_topics)

    def state(self) -> dict[str, np.ndarray]:
        return dict(zip(self.names, self.rows[1:], strict=True))

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        if "word_topic" in arrays:
            raise InputError(
                f"the run of {self.num_topics:,} topics was begun by a version that kept a table of counts,"
                " and cannot go on: its draws can be read; begin it anew for more"
            )
        self.rows = WordRows(self.rows.begins, *(np.array(arrays[name]) for name in self.names))

    def table(self, words: Int[np.ndarray, " W"]) -> Int[np.ndarray, "W K"]:
        return self.rows.table(words, self.num_topics)

    def add(self, batch: Minibatch, assignments: UInt[np.ndarray, " n"]) -> None:
        words = batch.vocabulary[batch.words]
        self.rows.add(words, batch.counts, assignments, self.in_parts, self.bounds)

    def sweep(self, batch: Minibatch, starts: Any, assignments: Any, *arguments: Any, **named: Any) -> None:
        counts = (self.rows, self.in_parts)
        sparse_gibbs_sweeps(batch, starts, self.bounds, assignments, *counts, *arguments, **named)

    @property
    def values(self) -> Int[np.ndarray, " count"]:
        return self.rows.counts


def empty_counts(source: TokenSource, num_topics: int, bounds: Int[np.ndarray, " bound"]) -> TopicCounts:
    """Counts of no documents, in the form that is faster for so many topics."""
    kind = CountTable if num_topics < LISTS_FROM else CountLists
    return kind(source, num_topics, bounds)
