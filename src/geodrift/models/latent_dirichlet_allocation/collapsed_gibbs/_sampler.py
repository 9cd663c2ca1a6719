"""Collapsed Gibbs sampling by minibatches: every token's assignment is kept between its visits."""

import math
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt

from geodrift.driver import Plan
from geodrift.kernels import _streams
from geodrift.models.kit._settings import ModelSettings
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._annealing import Annealing
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._compiling import compile_kernels
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._counts import TopicCounts, empty_counts
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._kept_assignments import KeptAssignments
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._priors import draw_priors
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._start import Start, first_topics, sizes_of
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sweeps import draw_masses
from geodrift.models.latent_dirichlet_allocation.documents import _assignment_kernel as kernel
from geodrift.models.latent_dirichlet_allocation.documents._gibbs_sweeps import gibbs_sweeps
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch, TokenSource

PARTS = 8  # of the vocabulary: twice the number of threads that have work
WORTH_PARTS = 2**17  # tokens of a corpus


class CollapsedGibbs(KeptAssignments):
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

    Attributes:
        given: Topics that take the place of as many of the factorisation's, [J, V]; None: none.
    """

    given: Float[np.ndarray, "J V"] | None = None

    def __init__(self, source: TokenSource, settings: ModelSettings, seed: int, chain: int) -> None:
        self.source, self.settings, self.seed, self.chain = source, settings, seed, chain
        sizes = sizes_of(source, self.settings.batch_size, self._least_tokens_of_a_step())
        self.batch_size, self.start_size, self.num_factorised = sizes
        self.seen = np.zeros(source.num_documents, bool)  # whether a document has assignments
        self.complete_at = -1  # the count at which all had; -1 before
        self.token_draws = 0  # in this process
        self.prepared: Float[np.ndarray, "V K"] | None = None  # topics of the start, until it begins
        self.bounds = source.word_bounds(PARTS if source.num_tokens >= WORTH_PARTS else 1)
        self.alpha, most = self._first_prior()
        self._keep_none(np.uint8 if most <= 2**8 else np.uint16)
        self.eta = float(self.settings.topic_word_prior)
        self.annealing = self._annealing()
        self.annealed = Annealing()  # of the present step

    @property
    def threads_of_a_step(self) -> int:
        """Half as many as the vocabulary has parts: a thread sweeps two groups of documents."""
        return max(1, (len(self.bounds) - 1) // 2)

    def _least_tokens_of_a_step(self) -> int:
        """Where the user asks for no number of documents."""
        return 0

    def _keep_none(self, dtype: type) -> None:
        """Assignments and counts while no document has any."""
        self.assignments = np.zeros(self.source.num_tokens, dtype)
        self.counts = self._empty_counts()

    def _empty_counts(self) -> TopicCounts:
        return empty_counts(self.source, len(self.alpha), self.bounds)

    def _first_prior(self) -> tuple[Float[np.ndarray, " K"], int]:
        """Alpha at the start, and the most topics that there will ever be."""
        return self.settings.document_prior.astype(np.float64), self.settings.n_topics

    def _annealing(self) -> Annealing:
        return Annealing.of(self.source, self.settings)

    def anneal(self, count: int, plan: Plan | None) -> None:
        """Take the priors of a step; topics that are given are to stay what they are."""
        of_pass = self._start.of_all / self.settings.sweeps
        self.annealed = Annealing() if self.given is not None else self.annealing.at(count, plan, of_pass)

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
        counts = self.source.corpus.rows(documents[: self.num_factorised])
        self.prepared = first_topics(counts, len(self.alpha), seed, self.given)

    def begin(self, documents: Int[np.ndarray, " D"]) -> None:
        """Assign the documents of the start, given these topics."""
        topics = self._topics_of_start(documents)
        documents = documents[: self.start_size]
        # The largest topic has the largest alpha.
        order = np.argsort(np.argsort(-self.alpha, kind="stable"))
        batch = self.minibatch(self.source, documents)
        self._assign(batch, self._topics_for(batch, topics[:, order]), 0)

    def step(self, batch: Any, count: int, warming_up: bool) -> int:
        """One minibatch; returns its number of token draws."""
        del warming_up
        draws = self._join(batch, count) if self.complete_at < 0 else 0
        self._redraw(batch, count)
        return self._swept(draws + batch.num_tokens * self.settings.sweeps, count)

    def _swept(self, draws: int, count: int) -> int:
        """What follows the sweeps of a step; returns its number of token draws."""
        self._draw_priors(count)
        self.token_draws += draws
        return draws

    def _redraw(self, batch: Any, count: int) -> None:
        """Redraw the assignments of a minibatch."""
        self._sweep(batch, self.source.starts[batch.documents], self.assignments, count)

    def _sweep(
        self, batch: Minibatch, starts: Int[np.ndarray, " S"], assignments: UInt[np.ndarray, " n"], count: int
    ) -> None:
        """Redraw the assignments of a minibatch, whose tokens begin at ``starts`` in ``assignments``."""
        streams = _streams.LDA_GIBBS_ASSIGNMENTS.family(self.seed, self.chain, count)
        given = batch, starts, assignments, self._masses(count), *self._priors_of_step
        self.counts.power = self.annealed.power
        self.counts.sweep(*given, sweeps=self.settings.sweeps, streams=streams)

    @property
    def _priors_of_step(self) -> tuple[Float[np.ndarray, " K"], float]:
        """Alpha and eta, times what the annealing says."""
        return self.document_prior * np.float32(self.annealed.documents), self.eta * self.annealed.words

    def _topics_of_start(self, documents: Int[np.ndarray, " D"]) -> Float[np.ndarray, "V K"]:
        """The topics that `prepare` has found."""
        if self.prepared is None:
            self.prepare(documents)
        topics, self.prepared = self.prepared, None
        return topics

    def _passed(self, count: int) -> bool:
        """Whether the step after ``count`` steps was the last of a pass over all documents."""
        return self.complete_at >= 0 and (count - self.complete_at) % self._start.of_all == 0

    def _join(self, batch: Any, count: int) -> int:
        """Assign the documents of a minibatch that have no assignments; returns the number of token draws."""
        documents = batch.documents[~self.seen[batch.documents]]
        if len(documents):
            if len(documents) < len(batch.documents):
                batch = self.minibatch(self.source, documents)
            self._assign(batch, self._topics_for(batch), count)
        if self.seen.all():
            self.complete_at = count
        return batch.num_tokens * self.settings.first_sweeps if len(documents) else 0

    def _topics_for(self, batch: Any, topics: Float[np.ndarray, "V K"] | None = None) -> Any:
        """These topics, or their mean given the assignments, of the minibatch's vocabulary."""
        return self._mean(batch.vocabulary) if topics is None else topics[batch.vocabulary]

    def _assign(self, batch: Any, topics: Any, count: int) -> None:
        """Draw the first assignments of documents given topics, as `_topics_for` returns them."""
        self.counts.add(batch, self._draw_first(batch, topics, count))
        self.seen[batch.documents] = True

    def _draw_first(
        self, batch: Minibatch, topics: Float[np.ndarray, "W K"], count: int
    ) -> UInt[np.ndarray, " n"]:
        """Draw and keep a minibatch's first assignments; they are returned, one document after the other."""
        starts, ends = self.source.starts[batch.documents], self.source.starts[batch.documents + 1]
        streams = _streams.LDA_GIBBS_FIRST_ASSIGNMENTS.family(self.seed, self.chain, count)
        how = {"sweeps": self.settings.first_sweeps, "first": True, "streams": streams}
        gibbs_sweeps(batch, starts, self.assignments, topics, self.document_prior, **how)
        return kernel.gather(starts, ends, self.assignments)

    def steps_within(self, seconds: float, pace: float, count: int) -> int:
        """How many more steps fit in a time: all documents join, which takes sweeps of their own."""
        del count
        of_all, absent = self._start.of_all, len(self.seen) - int(self.seen.sum())
        of_sweep = pace * self.source.num_tokens
        seconds -= self.settings.first_sweeps * of_sweep * absent / len(self.seen)
        steps = int(seconds / (of_sweep * self.settings.sweeps) * of_all)
        if self.complete_at >= 0:
            return steps
        # They join in the course of a pass over all documents.
        of_pass = min(1.0, absent / max(1, len(self.seen) - self.start_size))
        return max(math.ceil(of_pass * of_all) + 2, steps)

    def work(self, count: int) -> float:
        """Draws of tokens: a pass ends with a smaller minibatch, and documents differ in length."""
        del count
        return float(self.token_draws)

    def compile(self) -> None:
        """Go through a step of no documents: to compile takes longer than many steps."""
        nothing = self.source.minibatch(np.zeros(0, np.int64))
        compile_kernels(nothing, self.assignments, self.counts, self._masses(0), self.document_prior)
        CollapsedGibbs.log_joint(self)  # that of a subclass may need other processes

    def _draw_priors(self, count: int) -> None:
        """Draw what is learnt of alpha and eta after the last minibatch of a pass over all documents."""
        if self.settings.learns_priors and self._passed(count):
            self.alpha, self.eta = self._new_priors(count)

    def _new_priors(self, count: int) -> tuple[Float[np.ndarray, " K"], float]:
        of_documents = self.source.starts, self.assignments
        of_words = self.counts.values, self._totals, self.source.num_words
        given = self.settings, self.alpha, self.eta, of_documents, of_words
        return draw_priors(*given, (self.seed, self.chain, count))

    def _masses(self, count: int) -> Float[np.ndarray, "P K"]:
        """The parts' masses rho given all assignments."""
        rng = _streams.LDA_GIBBS_MASSES.generator(self.seed, self.chain, count)
        eta = self._priors_of_step[1]
        return draw_masses(self.counts.in_parts[:, : len(self.alpha)], self.bounds, eta, rng)
