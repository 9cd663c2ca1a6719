"""Collapsed Gibbs sampling by minibatches: every token's assignment is kept between its visits."""

import itertools

import numpy as np
from jaxtyping import Float, Int

from geodrift.driver import Plan
from geodrift.kernels import _streams
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.latent_dirichlet_allocation._topic_move import TopicMove
from geodrift.models.latent_dirichlet_allocation._topics import draw_topics, expected_topics
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._document_prior import draw_document_prior
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._log_joint import log_joint
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._merging import gathered, merged
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._start import (
    Start,
    documents_of,
    topics_of_start,
)
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sweeps import (
    collapsed_gibbs_sweeps,
    draw_masses,
)
from geodrift.models.latent_dirichlet_allocation.documents import _assignment_kernel as kernel
from geodrift.models.latent_dirichlet_allocation.documents._gibbs_sweeps import gibbs_sweeps
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch, TokenSource
from geodrift.models.latent_dirichlet_allocation.documents._vector_draw import padded

PARTS = 8  # of the vocabulary: twice the number of threads that have work
WORTH_PARTS = 2**17  # tokens of a corpus
KEPT = ("assignments", "word_topic", "in_parts", "seen", "alpha")  # arrays of the state


class CollapsedGibbs(TopicMove):
    """Redraws the assignments of a minibatch given all others, with topics and mixtures integrated out.

    That is a Gibbs sampler (see `_sweeps`), whose law is exact once every document has assignments.

    The chain starts with some of the documents, uniform assignments, and more topics than are asked for (see
    `_start`); the documents that join get assignments drawn given the topics found. All of that is warm-up:
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
        self.batch_size, self.start_size = documents_of(source, settings.batch_size)
        self.seen = np.zeros(source.num_documents, bool)  # whether a document has assignments
        self.complete_at = -1  # the count at which all had; -1 before
        self.num_topics = topics_of_start(settings.n_topics)  # at present
        small = np.uint8 if self.num_topics <= 2**8 else np.uint16
        self.assignments = np.zeros(source.num_tokens, small)
        self.bounds = source.word_bounds(PARTS if source.num_tokens >= WORTH_PARTS else 1)
        size = padded(self.num_topics)
        self.word_topic = np.zeros((source.num_words, size), np.int32)
        self.in_parts = np.zeros((len(self.bounds) - 1, size))
        self.alpha = np.full(self.num_topics, settings.document_prior.mean(dtype=np.float64))
        self._compile()

    @property
    def document_prior(self) -> Float[np.ndarray, " K"]:
        """The present alpha, of the topics asked for."""
        return self.alpha[: self.settings.n_topics].astype(np.float32)

    def begin_pass(self, count: int, plan: Plan | None) -> None:
        """Merge the topics of the start where it is time to."""
        if self._start.merges(count, self.complete_at, plan):
            self._merge()

    def _merge(self) -> None:
        """Leave the topics that are asked for, if there are more."""
        settings = self.settings
        if self.num_topics == settings.n_topics:
            return
        places = self._merged(len(self.seen))
        self.assignments = places.astype(self.assignments.dtype)[self.assignments]
        self.word_topic, self.in_parts = (
            gathered(counts, places, settings.n_topics) for counts in (self.word_topic, self.in_parts)
        )
        self.num_topics, self.alpha = settings.n_topics, settings.document_prior.astype(np.float64)

    def _merged(self, num_documents: int) -> Int[np.ndarray, " K"]:
        """Where each topic goes, judged by the first documents."""
        return merged(
            self.word_topic[:, : self.num_topics],
            self.source.starts[: num_documents + 1],
            self.seen[:num_documents],
            self.assignments,
            self.settings.document_prior,
            float(self.settings.topic_word_prior),
        )

    @property
    def _start(self) -> Start:
        of_start, of_all = (-(-size // self.batch_size) for size in (self.start_size, len(self.seen)))
        return Start(self.settings.n_topics, self.settings.sweeps, of_start, of_all)

    def documents_of_pass(self, count: int, plan: Plan | None) -> int:
        """The documents of the start, and all documents later."""
        return len(self.seen) if self._start.joins(count, self.complete_at, plan) else self.start_size

    def topics(self, count: int) -> Float[np.ndarray, "K V"]:
        """A draw of the topics given the assignments of the documents seen so far."""
        words, settings = np.arange(self.source.num_words), self.settings
        streams = _streams.LDA_GIBBS_TOPICS.family(self.seed, self.chain, count)
        draw = draw_topics(*self._counts(), words, settings.topic_word_prior, streams)
        return np.ascontiguousarray(draw.T[: settings.n_topics])

    def expected_topics(self) -> Float[np.ndarray, "K V"]:
        """The topics' mean given the assignments of the documents seen so far."""
        mean = self._mean(np.arange(self.source.num_words))
        return np.ascontiguousarray(mean.T[: self.settings.n_topics])

    def topic_sizes(self) -> Float[np.ndarray, " K"]:
        """The share of the words seen so far that each topic has."""
        sizes = self.in_parts.sum(axis=0)[: self.settings.n_topics]
        return (sizes / sizes.sum()).astype(np.float32)

    def log_joint(self) -> float:
        """Of the words and assignments of the documents seen so far; see `log_joint`."""
        prior = float(self.settings.topic_word_prior)
        return log_joint(self.word_topic, self.source.starts, self.seen, self.assignments, self.alpha, prior)

    def state(self) -> dict[str, np.ndarray]:
        """Assignments, their counts, and alpha."""
        kept = {name: getattr(self, name).copy() for name in KEPT}
        return kept | {"complete_at": np.array(self.complete_at)}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`."""
        for name in KEPT:
            setattr(self, name, np.array(arrays[name]))
        self.complete_at, self.num_topics = int(arrays["complete_at"]), len(self.alpha)

    def step(self, batch: Minibatch, count: int, warming_up: bool) -> int:
        """One minibatch; returns its number of token draws."""
        draws = 0
        if not warming_up:
            self._merge()
        if self.complete_at < 0:
            draws = self._initialise_assignments(batch, count)
        collapsed_gibbs_sweeps(
            batch,
            self.source.starts[batch.documents],
            self.bounds,
            self.assignments,
            self.word_topic,
            self.in_parts,
            self._masses(count),
            self.alpha.astype(np.float32),
            self.settings.topic_word_prior,
            sweeps=self.settings.sweeps,
            streams=_streams.LDA_GIBBS_ASSIGNMENTS.family(self.seed, self.chain, count),
        )
        self._draw_document_prior(count)
        return draws + batch.num_tokens * self.settings.sweeps

    def _initialise_assignments(self, batch: Minibatch, count: int) -> int:
        """Assign the documents of a minibatch that have no assignments; returns the number of token draws."""
        documents = batch.documents[~self.seen[batch.documents]]
        if not len(documents):
            return 0
        if len(documents) < len(batch.documents):
            batch = self.source.minibatch(documents)
        starts, ends, draws = self.source.starts[documents], self.source.starts[documents + 1], 0
        if self.seen.sum() < self.start_size:
            rng = _streams.LDA_GIBBS_START.generator(self.seed, self.chain, count)
            uniform = rng.integers(self.num_topics, size=batch.num_tokens, dtype=self.assignments.dtype)
            kernel.scatter(starts, ends, uniform, self.assignments)
        else:
            draws = batch.num_tokens * self.settings.first_sweeps
            gibbs_sweeps(
                batch,
                starts,
                self.assignments,
                self._mean(batch.vocabulary),
                self.alpha.astype(np.float32),
                sweeps=self.settings.first_sweeps,
                first=True,
                streams=_streams.LDA_GIBBS_FIRST_ASSIGNMENTS.family(self.seed, self.chain, count),
            )
        counts = np.zeros((len(batch.vocabulary), self.word_topic.shape[1]), np.int32)
        kernel.add_counts(batch.words, batch.counts, kernel.gather(starts, ends, self.assignments), counts)
        self.word_topic[batch.vocabulary] += counts
        cuts = np.searchsorted(batch.vocabulary, self.bounds)
        for part, (begin, end) in enumerate(itertools.pairwise(cuts)):
            self.in_parts[part] += counts[begin:end].sum(axis=0)
        self.seen[documents] = True
        if self.seen.all():
            self.complete_at = count
        return draws

    def steps_within(self, seconds: float, pace: float, count: int) -> int:
        """How many more steps fit in a time; the first sweeps of the documents that join take longer."""
        start, settings, joining = self._start, self.settings, 0
        if self.complete_at < 0:
            joining = start.of_all
            seconds -= settings.first_sweeps * pace * (1 - self.seen.mean()) * joining
        fit = start.steps_within(seconds, pace, count, self.num_topics, settings.warm_up_fraction)
        return max(joining + 2, fit)

    def _compile(self) -> None:
        """Compile the kernels, which takes longer than many steps, before the steps are timed."""
        nothing, one = self.source.minibatch(np.zeros(0, np.int64)), np.zeros((1, self.num_topics))
        starts, streams = nothing.documents, _streams.Family(0, 0, 0)
        topics, prior = one[:0].astype(np.float32), self.alpha.astype(np.float32)
        gibbs_sweeps(nothing, starts, self.assignments, topics, prior, sweeps=1, first=True, streams=streams)
        tokens = kernel.gather(starts, starts, self.assignments)
        kernel.add_counts(nothing.words, nothing.counts, tokens, self.word_topic)
        masses, bounds = self._masses(0), self.bounds
        counts = (self.word_topic, self.in_parts)
        collapsed_gibbs_sweeps(
            nothing, starts, bounds, self.assignments, *counts, masses, prior, 1.0, sweeps=1, streams=streams
        )
        draw_topics(*self._counts(), nothing.vocabulary, 1.0, streams)
        self.log_joint()
        self._merged(2)

    def _counts(self) -> tuple[Int[np.ndarray, "V K"], Float[np.ndarray, " K"]]:
        """N_kw, and N_k, its sums over words."""
        num_topics = self.num_topics
        return np.ascontiguousarray(self.word_topic[:, :num_topics]), self.in_parts.sum(axis=0)[:num_topics]

    def _draw_document_prior(self, count: int) -> None:
        """Draw alpha after the last minibatch of a pass over all documents."""
        learn, unmerged = self.settings.learn_doc_topic_prior, self.num_topics > self.settings.n_topics
        passed = self.complete_at >= 0 and (count - self.complete_at) % self._start.of_all == 0
        if learn == "no" or unmerged or not passed:
            return
        rng = _streams.LDA_GIBBS_DOCUMENT_PRIOR.generator(self.seed, self.chain, count)
        starts, same = self.source.starts, learn == "symmetric"
        self.alpha = draw_document_prior(self.alpha, starts, self.assignments, same, rng)

    def _masses(self, count: int) -> Float[np.ndarray, "P K"]:
        """The parts' masses rho given all assignments."""
        rng = _streams.LDA_GIBBS_MASSES.generator(self.seed, self.chain, count)
        counts = self.in_parts[:, : self.num_topics]
        return draw_masses(counts, self.bounds, self.settings.topic_word_prior, rng)

    def _mean(self, words: Int[np.ndarray, " W"]) -> Float[np.ndarray, "W K"]:
        counts, totals = self._counts()
        return expected_topics(counts[words], totals, self.settings.topic_word_prior, self.source.num_words)
