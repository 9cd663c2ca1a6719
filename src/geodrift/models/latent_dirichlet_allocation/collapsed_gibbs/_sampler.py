"""Collapsed Gibbs sampling by minibatches: every token's assignment is kept between its visits."""

import numpy as np
from jaxtyping import Float, Int

from geodrift.driver import Plan
from geodrift.kernels import _streams
from geodrift.kernels._stream_kinds import Family
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.latent_dirichlet_allocation._topic_move import TopicMove
from geodrift.models.latent_dirichlet_allocation._topics import draw_topics, expected_topics
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._counts import (
    LISTS_FROM,
    CountLists,
    CountTable,
    TopicCounts,
)
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._document_prior import draw_document_prior
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._log_joint import log_joint
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._start import Start, first_topics, sizes_of
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sweeps import draw_masses
from geodrift.models.latent_dirichlet_allocation.documents import _assignment_kernel as kernel
from geodrift.models.latent_dirichlet_allocation.documents._gibbs_sweeps import gibbs_sweeps
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch, TokenSource

PARTS = 8  # of the vocabulary: twice the number of threads that have work
WORTH_PARTS = 2**17  # tokens of a corpus
KEPT = ("assignments", "seen", "alpha")  # arrays of the state, beside those of the counts


class CollapsedGibbs(TopicMove):
    """Redraws the assignments of a minibatch given all others, with topics and mixtures integrated out.

    That is a Gibbs sampler (see `_sweeps`), whose law is exact once every document has assignments.

    The chain starts with some of the documents, whose assignments are drawn given topics from a factorisation
    (see `_start`); those of the documents that join are drawn given the topics found. All of that is warm-up:
    what follows is the Gibbs sampler alone. Topics are drawn given all assignments, and only for a draw that
    is stored.

    Args:
        source: The corpus.
        settings: See `Settings`.
        seed: Seed of the run.
        chain: Number of the chain; (seed, chain, step) keys the random streams.
    """

    def __init__(self, source: TokenSource, settings: Settings, seed: int, chain: int) -> None:
        self.source, self.settings, self.seed, self.chain = source, settings, seed, chain
        self.batch_size, self.start_size, self.num_factorised = sizes_of(source, settings.batch_size)
        self.seen = np.zeros(source.num_documents, bool)  # whether a document has assignments
        self.complete_at = -1  # the count at which all had; -1 before
        self.token_draws = 0  # in this process
        self.prepared: Float[np.ndarray, "V K"] | None = None  # topics of the start, until it begins
        small = np.uint8 if settings.n_topics <= 2**8 else np.uint16
        self.assignments = np.zeros(source.num_tokens, small)
        bounds = source.word_bounds(PARTS if source.num_tokens >= WORTH_PARTS else 1)
        kind = CountTable if settings.n_topics < LISTS_FROM else CountLists
        self.counts: TopicCounts = kind(source, settings.n_topics, bounds)
        self.alpha = settings.document_prior.astype(np.float64)
        self._compile()

    @property
    def document_prior(self) -> Float[np.ndarray, " K"]:
        """The present alpha."""
        return self.alpha.astype(np.float32)

    @property
    def _start(self) -> Start:
        of_start, of_all = (-(-size // self.batch_size) for size in (self.start_size, len(self.seen)))
        return Start(self.settings.sweeps, of_start, of_all)

    def documents_of_pass(self, count: int, plan: Plan | None) -> int:
        """The documents of the start, and all documents later."""
        joined = self.complete_at >= 0 or self._start.joins(count, plan)
        return len(self.seen) if joined else self.start_size

    def prepare(self, documents: Int[np.ndarray, " D"]) -> None:
        """Find topics by a factorisation of some of the documents of the start."""
        seed = int(_streams.LDA_GIBBS_START.generator(self.seed, self.chain, 0).integers(2**31))
        factorised = self.source.corpus.rows(documents[: self.num_factorised])
        self.prepared = first_topics(factorised, self.settings.n_topics, seed)

    def begin(self, documents: Int[np.ndarray, " D"]) -> None:
        """Assign the documents of the start, given these topics."""
        if self.prepared is None:
            self.prepare(documents)
        topics, self.prepared = self.prepared, None
        documents = documents[: self.start_size]
        # The largest topic has the largest alpha.
        order = np.argsort(np.argsort(-self.alpha, kind="stable"))
        batch = self.source.minibatch(documents)
        self._assign(batch, topics[batch.vocabulary][:, order], 0)

    def topics(self, count: int) -> Float[np.ndarray, "K V"]:
        """A draw of the topics given the assignments of the documents seen so far."""
        words, settings = np.arange(self.source.num_words), self.settings
        streams = _streams.LDA_GIBBS_TOPICS.family(self.seed, self.chain, count)
        draw = draw_topics(self.counts.table(words), self._totals, words, settings.topic_word_prior, streams)
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
        prior, source = float(self.settings.topic_word_prior), self.source
        words = (self.counts.values, self._totals, source.num_words)
        return log_joint(*words, source.starts, self.seen, self.assignments, self.alpha, prior)

    def state(self) -> dict[str, np.ndarray]:
        """Assignments, their counts, and alpha."""
        kept = {name: getattr(self, name) for name in KEPT} | self.counts.state()
        copies = {name: array.copy() for name, array in kept.items()}
        return copies | {"in_parts": self.counts.in_parts.copy(), "complete_at": np.array(self.complete_at)}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`."""
        for name in KEPT:
            setattr(self, name, np.array(arrays[name]))
        self.counts.restore(arrays)
        self.counts.in_parts = np.array(arrays["in_parts"])
        self.complete_at = int(arrays["complete_at"])

    def step(self, batch: Minibatch, count: int, warming_up: bool) -> int:
        """One minibatch; returns its number of token draws."""
        del warming_up
        draws = self._join(batch, count) if self.complete_at < 0 else 0
        self.counts.sweep(
            batch,
            self.source.starts[batch.documents],
            self.assignments,
            self._masses(count),
            self.document_prior,
            self.settings.topic_word_prior,
            sweeps=self.settings.sweeps,
            streams=_streams.LDA_GIBBS_ASSIGNMENTS.family(self.seed, self.chain, count),
        )
        self._draw_document_prior(count)
        draws += batch.num_tokens * self.settings.sweeps
        self.token_draws += draws
        return draws

    def _join(self, batch: Minibatch, count: int) -> int:
        """Assign the documents of a minibatch that have no assignments; returns the number of token draws."""
        documents = batch.documents[~self.seen[batch.documents]]
        if len(documents):
            if len(documents) < len(batch.documents):
                batch = self.source.minibatch(documents)
            self._assign(batch, self._mean(batch.vocabulary), count)
        if self.seen.all():
            self.complete_at = count
        return batch.num_tokens * self.settings.first_sweeps if len(documents) else 0

    def _assign(self, batch: Minibatch, topics: Float[np.ndarray, "W K"], count: int) -> None:
        """Draw the first assignments of documents given topics, of the minibatch's vocabulary."""
        documents = batch.documents
        starts, ends = self.source.starts[documents], self.source.starts[documents + 1]
        gibbs_sweeps(
            batch,
            starts,
            self.assignments,
            topics,
            self.document_prior,
            sweeps=self.settings.first_sweeps,
            first=True,
            streams=_streams.LDA_GIBBS_FIRST_ASSIGNMENTS.family(self.seed, self.chain, count),
        )
        self.counts.add(batch, kernel.gather(starts, ends, self.assignments))
        self.seen[documents] = True

    def steps_within(self, seconds: float, pace: float, count: int) -> int:
        """How many more steps fit in a time; documents that join take sweeps of their own."""
        del count
        of_all = self._start.of_all
        of_sweep = pace * self.source.num_tokens
        seconds -= self.settings.first_sweeps * of_sweep * (1 - self.seen.mean())
        steps = int(seconds / (of_sweep * self.settings.sweeps) * of_all)
        return steps if self.complete_at >= 0 else max(of_all + 2, steps)

    def work(self, count: int) -> float:
        """Draws of tokens: a pass ends with a smaller minibatch, and documents differ in length."""
        del count
        return float(self.token_draws)

    def _compile(self) -> None:
        """Compile the kernels, which takes longer than many steps, before the steps are timed."""
        nothing, one = self.source.minibatch(np.zeros(0, np.int64)), np.zeros((1, len(self.alpha)))
        starts, streams = nothing.documents, Family(0, 0, 0)
        topics, prior = one[:0].astype(np.float32), self.document_prior
        gibbs_sweeps(nothing, starts, self.assignments, topics, prior, sweeps=1, first=True, streams=streams)
        self.counts.add(nothing, kernel.gather(starts, starts, self.assignments))
        masses = self._masses(0)
        self.counts.sweep(nothing, starts, self.assignments, masses, prior, 1.0, sweeps=1, streams=streams)
        draw_topics(self.counts.table(starts), self._totals, starts, 1.0, streams)
        self.log_joint()

    @property
    def _totals(self) -> Float[np.ndarray, " K"]:
        """N_k, the sums of N_kw over words."""
        return self.counts.in_parts.sum(axis=0)[: len(self.alpha)]

    def _draw_document_prior(self, count: int) -> None:
        """Draw alpha after the last minibatch of a pass over all documents."""
        learn = self.settings.learn_doc_topic_prior
        passed = self.complete_at >= 0 and (count - self.complete_at) % self._start.of_all == 0
        if learn == "no" or not passed:
            return
        rng = _streams.LDA_GIBBS_DOCUMENT_PRIOR.generator(self.seed, self.chain, count)
        starts, same = self.source.starts, learn == "symmetric"
        self.alpha = draw_document_prior(self.alpha, starts, self.assignments, same, rng)

    def _masses(self, count: int) -> Float[np.ndarray, "P K"]:
        """The parts' masses rho given all assignments."""
        rng = _streams.LDA_GIBBS_MASSES.generator(self.seed, self.chain, count)
        counts = self.counts.in_parts[:, : len(self.alpha)]
        return draw_masses(counts, self.counts.bounds, self.settings.topic_word_prior, rng)

    def _mean(self, words: Int[np.ndarray, " W"]) -> Float[np.ndarray, "W K"]:
        return expected_topics(
            self.counts.table(words), self._totals, self.settings.topic_word_prior, self.source.num_words
        )
