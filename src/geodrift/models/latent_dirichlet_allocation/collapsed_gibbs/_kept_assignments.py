"""The state of collapsed Gibbs sampling, every token's assignment and their counts, and what it tells."""

import abc
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, UInt

from geodrift.kernels import _streams
from geodrift.models.latent_dirichlet_allocation._topic_move import TopicMove
from geodrift.models.latent_dirichlet_allocation._topics import draw_topics, expected_topics
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._counts import TopicCounts
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._log_joint import log_joint, log_of_words
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import TokenSource

KEPT = ("assignments", "seen", "alpha")  # arrays of the state, beside those of the counts


class KeptAssignments(TopicMove, abc.ABC):
    """Assignments of the documents seen so far, with topics and mixtures integrated out."""

    source: TokenSource
    settings: Any  # of this model, or of one that is this model given something
    seed: int
    chain: int
    assignments: UInt[np.ndarray, " n"]
    seen: Bool[np.ndarray, " D"]  # whether a document has assignments
    complete_at: int  # the count at which all had; -1 before
    counts: TopicCounts
    alpha: Float[np.ndarray, " K"]
    eta: float

    @property
    def document_prior(self) -> Float[np.ndarray, " K"]:
        """The present alpha."""
        return self.alpha.astype(np.float32)

    @property
    def topic_word_prior(self) -> float:
        """The present eta."""
        return self.eta

    def topics(self, count: int) -> Float[np.ndarray, "K V"]:
        """A draw of the topics given the assignments of the documents seen so far."""
        words = np.arange(self.source.num_words)
        streams = _streams.LDA_GIBBS_TOPICS.family(self.seed, self.chain, count)
        draw = draw_topics(self.counts.table(words), self._totals, words, self.eta, streams)
        return np.ascontiguousarray(draw.T)

    def expected_topics(self) -> Float[np.ndarray, "K V"]:
        """The topics' mean given the assignments of the documents seen so far."""
        return np.ascontiguousarray(self._mean(np.arange(self.source.num_words)).T)

    def topic_sizes(self) -> Float[np.ndarray, " K"]:
        """The share of the words seen so far that each topic has."""
        sizes = self._totals
        return (sizes / sizes.sum()).astype(np.float32)

    def log_joint(self) -> float:
        """Of the words and assignments of the documents seen so far; see `log_joint`."""
        of_words = self._log_of_words(), self._totals, self.source.num_words
        of_documents = self.source.starts, self.seen, self.assignments, self.alpha
        return log_joint(*of_words, *of_documents, self.eta)

    def state(self) -> dict[str, np.ndarray]:
        """Assignments, their counts, alpha and eta."""
        kept = {name: getattr(self, name) for name in KEPT} | self.counts.state()
        copies = {name: array.copy() for name, array in (kept | {"in_parts": self.counts.in_parts}).items()}
        return copies | {"complete_at": np.array(self.complete_at), "eta": np.array(self.eta)}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`."""
        for name in KEPT:
            setattr(self, name, np.array(arrays[name]))
        self.counts.restore(arrays)
        self.counts.in_parts = np.array(arrays["in_parts"])
        self.complete_at = int(arrays["complete_at"])
        # States of runs from before eta was learnt do without: theirs is that of the settings.
        self.eta = float(arrays.get("eta", self.eta))

    def _log_of_words(self) -> float:
        return log_of_words(self.counts.values, self.eta)

    @property
    def _totals(self) -> Float[np.ndarray, " K"]:
        """N_k, the sums of N_kw over words."""
        return self.counts.in_parts.sum(axis=0)[: len(self.alpha)]

    def _mean(self, words: Int[np.ndarray, " W"]) -> Float[np.ndarray, "W K"]:
        table, totals = self.counts.table(words), self._totals
        return expected_topics(table, totals, self.eta, self.source.num_words)
