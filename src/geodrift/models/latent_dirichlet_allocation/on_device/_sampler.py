"""Partially collapsed Gibbs sampling with kept assignments on devices that are no CPUs, several at a time."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, UInt

from geodrift.kernels import _streams
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._counts import TopicCounts
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sampler import CollapsedGibbs
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import TokenSource
from geodrift.models.latent_dirichlet_allocation.on_device._chain_arrays import ChainArrays
from geodrift.models.latent_dirichlet_allocation.on_device._host_counts import host_counts

# A step begins with V K gammas, of which a GPU draws about so many in the time of two of a step's tokens, and
# it has a millisecond or so of programs to start.
GAMMAS_OF_A_TOKEN = 6
TOKENS_OF_A_STEP = 2**22


class OwnDocuments(NamedTuple):
    """A minibatch whose tokens are on the devices.

    Attributes:
        documents: Their numbers, [S].
        num_tokens: Tokens of all of them.
    """

    documents: Int[np.ndarray, " S"]
    num_tokens: int


class GibbsOnDevice(CollapsedGibbs):
    """`CollapsedGibbs` in JAX: the topics are drawn, and documents are redrawn side by side given these.

    A step draws all topics given all assignments, and the assignments of a minibatch given the topics, with
    the documents' mixtures integrated out. Each is a draw from its full conditional law, so that is a Gibbs
    sampler of topics and assignments, exact for minibatches of any size; documents are independent given the
    topics, however many run side by side. With the topics drawn it mixes less per sweep than the host's,
    which integrates them out.

    Start, annealing, learnt priors and state are those of the host, whose arrays the state has: a chain that
    was put down on one kind of machine goes on on the other, with the same law and other draws. A topic draw
    that is stored is the one that the next step begins with. What is told of assignments and counts is told
    from copies on the host, which are fetched when they are asked for, and not by a step.

    Args:
        source: The corpus.
        settings: See `Settings`.
        seed: Seed of the run.
        chain: Number of the chain; (seed, chain, step) names the keys of the random numbers.
    """

    held: ChainArrays
    fetched: TopicCounts | None = None  # the counts, where they are those of the present state

    @property
    def threads_of_a_step(self) -> int:
        """0: one chain has the devices."""
        return 0

    def _least_tokens_of_a_step(self) -> int:
        return max(TOKENS_OF_A_STEP, self.source.num_words * self.settings.n_topics // GAMMAS_OF_A_TOKEN)

    def _keep_none(self, dtype: type) -> None:
        self.held = ChainArrays(self.source, len(self.alpha), dtype, self.batch_size)

    @property
    def assignments(self) -> UInt[np.ndarray, " n"]:
        """The topic of every token, from the devices."""
        return self.held.host_assignments()

    @assignments.setter
    def assignments(self, assignments: UInt[np.ndarray, " n"]) -> None:
        self.held.put_assignments(assignments)

    @property
    def counts(self) -> TopicCounts:
        """The counts of words and topics, from the devices."""
        if self.fetched is None:
            self.fetched = host_counts(self.source, self.held.host_table(), self.bounds)
        return self.fetched

    @counts.setter
    def counts(self, counts: TopicCounts) -> None:
        self.fetched = counts
        self.held.put_table(counts.table(np.arange(self.source.num_words)))

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`, or by a chain on the host."""
        self.fetched = self._empty_counts()
        super().restore(arrays)
        self.counts = self.fetched

    def topics(self, count: int) -> Float[np.ndarray, "K V"]:
        """A draw of the topics given the assignments of the documents seen so far."""
        return self._told(self._draw_topics(count, self.eta))

    def expected_topics(self) -> Float[np.ndarray, "K V"]:
        """The topics' mean given the assignments of the documents seen so far."""
        return self._told(self.held.mean_topics(self.eta))

    def minibatch(self, source: TokenSource, documents: Int[np.ndarray, " S"]) -> OwnDocuments:
        """Numbers of documents: their tokens are on the devices."""
        lengths = source.starts[documents + 1] - source.starts[documents]
        return OwnDocuments(documents, int(lengths.sum()))

    def _log_of_words(self) -> float:
        return self.held.log_of_words(self.eta)

    @property
    def _totals(self) -> Float[np.ndarray, " K"]:
        return self.held.totals()

    def _topics_for(self, batch: OwnDocuments, topics: Float[np.ndarray, "V K"] | None = None) -> Array:
        del batch  # the topics on the devices are those of all words
        return self.held.mean_topics(self.eta) if topics is None else self.held.put_topics(topics)

    def _assign(self, batch: OwnDocuments, topics: Array, count: int) -> None:
        key = _streams.LDA_GIBBS_FIRST_ASSIGNMENTS.family(self.seed, self.chain, count).key
        how = {"sweeps": self.settings.first_sweeps, "first": True}
        self.held.redraw(batch.documents, topics, self.document_prior, key, **how)
        self.fetched = None
        self.seen[batch.documents] = True

    def _redraw(self, batch: OwnDocuments, count: int) -> None:
        alpha, eta = self._priors_of_step
        key = _streams.LDA_GIBBS_ASSIGNMENTS.family(self.seed, self.chain, count).key
        how = {"sweeps": self.settings.sweeps, "first": False}
        self.held.redraw(batch.documents, self._draw_topics(count, eta), alpha, key, **how)
        self.fetched = None

    def _draw_topics(self, count: int, eta: float) -> Array:
        """The topics given all assignments after ``count`` steps, on every device."""
        key = _streams.LDA_GIBBS_TOPICS.family(self.seed, self.chain, count).key
        return self.held.draw_topics(key, eta)

    def _told(self, topics: Array) -> Float[np.ndarray, "K V"]:
        return np.ascontiguousarray(self.held.host_topics(topics).T)

    def compile(self) -> None:
        """Compile the programs of a step."""
        self.held.compile(self.alpha, self.settings.sweeps, self.settings.first_sweeps)
        CollapsedGibbs.log_joint(self)
