r"""Topics moved by the unbiased scaled counts of minibatches.

A step draws the assignments of a minibatch given the topics and estimates the counts of all documents by

.. math:: \hat N_{kw} = \frac{D}{B} \sum_{d \in \text{minibatch}} E[n_{dkw} \mid \pi],

the expectation being a mean over sweeps; then the topics take one step of the chosen sampler
(`UnnormalisedTopics`). Nothing but the topics has to be kept, which is what a stream needs. Where documents
come again their assignments are kept to start the next sweeps from: the mean over sweeps then has no bias of
its start that is left when the steps grow short.

Warm-up is faster and not exact: the assignments are drawn given the mean of the topics under a weighted mean
of the counts. A draw of a gamma of a small shape is nothing, and what has no token of a topic finds none.
"""

import math
import time

import numpy as np
from jaxtyping import Float, Int, UInt

from geodrift.driver import Plan
from geodrift.kernels._streams import LDA_GAMMAS_START, LDA_MEAN_COUNTS_START, LDA_MINIBATCH_ASSIGNMENTS
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.latent_dirichlet_allocation._topic_move import TopicMove
from geodrift.models.latent_dirichlet_allocation._topics import expected_topics
from geodrift.models.latent_dirichlet_allocation.documents._assignment_kernel import gather, scatter
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch
from geodrift.models.latent_dirichlet_allocation.scaled_counts._deferred_topics import (
    DeferredTopics,
    worth_deferring,
)
from geodrift.models.latent_dirichlet_allocation.scaled_counts._expected_counts import expected_counts
from geodrift.models.latent_dirichlet_allocation.scaled_counts._topic_steps import TopicSteps
from geodrift.models.latent_dirichlet_allocation.scaled_counts._unnormalised_topics import UnnormalisedTopics

BATCH_SHARE = 4  # a minibatch holds about K V / 4 tokens
_LEAST_START = 1e-30  # of a gamma: in logs there is no 0 to start from


class ScaledCounts(TopicMove):
    """Moves the topics by unbiased estimates of all counts from one minibatch.

    Args:
        num_documents: D; a stream changes the attribute before each step.
        num_words: V.
        num_tokens: About the number of tokens of D documents; for the start.
        settings: See `Settings`.
        seed: Seed of the run.
        chain: Number of the chain; (seed, chain, step) keys the random streams.
        starts: The place of each document's first token in one vector of all tokens, [D + 1]; None for a
            stream, whose documents do not come again.
    """

    def __init__(
        self,
        num_documents: int,
        num_words: int,
        num_tokens: int,
        settings: Settings,
        seed: int,
        chain: int,
        starts: Int[np.ndarray, " bound"] | None,
    ) -> None:
        self.num_documents, self.settings, self.seed, self.chain = num_documents, settings, seed, chain
        self.batch_size, self.starts = self._batch_size(num_words, num_tokens), starts
        self.small = np.uint8 if settings.n_topics <= 2**8 else np.uint16
        self.assignments = np.zeros(0 if starts is None else num_tokens, self.small)
        self.documents_seen = 0
        per_entry = num_tokens / (num_words * settings.n_topics)
        self.steps = TopicSteps(settings, num_words, num_tokens / settings.n_topics)
        rng = LDA_MEAN_COUNTS_START.generator(seed, chain)
        self.counts = rng.standard_exponential((num_words, settings.n_topics), np.float32)
        self.counts *= np.float32(per_entry)
        self.counts_factor = 1.0  # the mean is this times ``counts``: no step has to touch all of them
        self.totals = self.counts.sum(axis=0, dtype=np.float64)
        self.gammas: UnnormalisedTopics | None = None  # until warm-up ends
        self.last = (0.0, 0)  # of the last step: seconds in the documents' sweeps, distinct words
        self.shapes = np.zeros(settings.n_topics)

    def documents_of_pass(self, count: int, plan: Plan | None) -> int:
        """All of them."""
        return self.num_documents

    def step(self, batch: Minibatch, count: int, warming_up: bool) -> int:
        """One minibatch; returns its number of token draws."""
        settings, size, words = self.settings, len(batch.documents), batch.vocabulary
        held = warming_up or self.gammas is None
        topics = self._mean(words) if held else self.gammas.of_words(words)
        first = self.starts is None or self.documents_seen < self.num_documents
        sweeps = settings.first_sweeps if first else settings.sweeps
        # A mean over more sweeps than D / B would have less noise than the assignments themselves.
        averaged = max(1, min(-(-sweeps // 2), self.num_documents // max(1, size)))
        assignments, started = self._assignments_of(batch), time.perf_counter()
        begun = count * (settings.first_sweeps + settings.sweeps)  # no step before began more sweeps
        counts = expected_counts(
            batch,
            assignments,
            topics,
            settings.document_prior,
            sweeps=sweeps,
            averaged=averaged,
            first=first,
            streams=lambda sweep: LDA_MINIBATCH_ASSIGNMENTS.family(self.seed, self.chain, begun + sweep),
        )
        self.last = (time.perf_counter() - started, len(words))
        self._keep(batch, assignments)
        batches = self.num_documents / max(1, size)
        counts *= np.float32(batches)
        if self.starts is None:
            self.steps.follow(float(self.totals.mean()))
        share = self.steps.share(count, batches)
        self._follow(words, counts, share)
        if not warming_up:
            self._move(words, counts, share, count)
        self.documents_seen += size
        return batch.num_tokens * sweeps

    def topics(self, count: int) -> Float[np.ndarray, "K V"]:
        """The present topics, which are a draw; during warm-up their mean."""
        del count
        return self.expected_topics() if self.gammas is None else self.gammas.all_words()

    def expected_topics(self) -> Float[np.ndarray, "K V"]:
        """The topics' mean given a weighted mean of the minibatches' counts, recent ones weighted most."""
        return np.ascontiguousarray(self._mean(np.arange(len(self.counts))).T)

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to go on, bit for bit."""
        return (self.gammas.state() if self.gammas is not None else {}) | {
            "assignments": self.assignments.copy(),
            "counts": self.counts.copy(),
            "totals": self.totals.copy(),
            "shapes": self.shapes.copy(),
            "counts_factor": np.array(self.counts_factor),
            "documents": np.array([self.documents_seen, self.num_documents]),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take up what `state` put down."""
        self.counts_factor = float(arrays["counts_factor"])
        self.documents_seen, self.num_documents = (int(x) for x in arrays["documents"])
        self.gammas = None
        if "theta" in arrays:
            self.start_moves(0, deferred="since" in arrays).restore(arrays)
        self.assignments, self.counts, self.totals, self.shapes = (
            np.array(arrays[name]) for name in ("assignments", "counts", "totals", "shapes")
        )

    def start_moves(self, count: int, deferred: bool = False) -> UnnormalisedTopics:
        """Draw the unnormalised topics that are moved from now on, given the mean counts.

        Args:
            count: Steps taken; (seed, chain, count) keys the random numbers.
            deferred: Whether words wait to be moved; see `DeferredTopics`.
        """
        settings, num_words = self.settings, len(self.counts)
        prior = settings.topic_word_prior
        self.shapes = self.totals + prior * num_words
        rng = LDA_GAMMAS_START.generator(self.seed, self.chain, count)
        theta = rng.standard_gamma(self.counts * np.float32(self.counts_factor) + np.float32(prior))
        np.maximum(theta, _LEAST_START, out=theta)
        if settings.gammas_on == "prior":
            sums = rng.standard_gamma(np.full(settings.n_topics, prior * num_words))
            theta *= np.maximum(sums, _LEAST_START) / theta.sum(axis=0)
        if deferred:
            self.gammas = DeferredTopics(theta, prior, self.seed, self.chain)
        else:
            self.gammas = UnnormalisedTopics(
                settings.method, settings.gammas_on, theta, prior, self.seed, self.chain
            )
        return self.gammas

    def steps_within(self, seconds: float, pace: float, count: int) -> int:
        """How many more steps fit in a time.

        A step of the first pass takes more sweeps than the others, and one after warm-up moves the topics.
        """
        settings, sweeps = self.settings, self.last[0]
        first_left, later = 0, pace
        if self.starts is not None:
            first_left = -(-max(0, self.num_documents - self.documents_seen) // self.batch_size)
            later -= sweeps * (1.0 - settings.sweeps / max(settings.sweeps, settings.first_sweeps))
        if self.gammas is None:
            # Of all steps these are taken after warm-up; each of the steps left bears its part.
            moves = (1.0 - settings.warm_up_fraction) * self._seconds_of_a_move()
            pace, later, seconds = pace + moves, later + moves, seconds - count * moves
        if self.starts is None or seconds <= first_left * pace:
            return int(seconds / pace)
        return first_left + int((seconds - first_left * pace) / later)

    def _seconds_of_a_move(self) -> float:
        """Seconds that a move of the topics takes, from a trial that changes nothing of the chain."""
        words, settings, shapes = np.arange(self.last[1]), self.settings, self.shapes
        counts = np.zeros((len(words), settings.n_topics), np.float32)
        trial, seconds = self.start_moves(0, deferred=self._defers(len(words))), math.inf
        for number in range(2):  # the first may compile
            started = time.perf_counter()
            trial.move(words, counts, self.shapes, self.steps.size(0.1), self.steps.friction, number)
            seconds = min(seconds, time.perf_counter() - started)
        self.gammas, self.shapes = None, shapes
        return seconds

    def _defers(self, visited: int) -> bool:
        """Whether words wait to be moved, if a minibatch has ``visited`` distinct words."""
        prior = self.settings.topic_word_prior
        return self.settings.method == "scir" and worth_deferring(len(self.counts), prior, visited)

    def _mean(self, words: Int[np.ndarray, " W"]) -> Float[np.ndarray, "W K"]:
        counts = self.counts[words] * np.float32(self.counts_factor)
        return expected_topics(counts, self.totals, self.settings.topic_word_prior, len(self.counts))

    def _follow(self, words: Int[np.ndarray, " W"], counts: Float[np.ndarray, "W K"], share: float) -> None:
        """Move the weighted mean of the counts towards a minibatch's scaled counts."""
        weight = -math.expm1(-share)
        self.counts_factor *= 1.0 - weight
        if self.counts_factor < 1e-20:
            self.counts *= np.float32(self.counts_factor)
            self.counts_factor = 1.0
        self.counts[words] += counts * np.float32(weight / self.counts_factor)
        self.totals += weight * (counts.sum(axis=0, dtype=np.float64) - self.totals)

    def _move(
        self, words: Int[np.ndarray, " W"], counts: Float[np.ndarray, "W K"], share: float, count: int
    ) -> None:
        settings, num_words = self.settings, len(self.counts)
        if self.gammas is None:
            self.start_moves(count, deferred=self._defers(len(words)))
        if self.starts is None:
            # The documents that a stream stands for grow in number.
            self.shapes = self.totals + settings.topic_word_prior * num_words
        self.gammas.move(words, counts, self.shapes, self.steps.size(share), self.steps.friction, count)

    def _assignments_of(self, batch: Minibatch) -> UInt[np.ndarray, " n"]:
        if self.starts is None:
            return np.zeros(batch.num_tokens, self.small)
        rows = batch.documents
        return gather(self.starts[rows], self.starts[rows + 1], self.assignments)

    def _keep(self, batch: Minibatch, assignments: UInt[np.ndarray, " n"]) -> None:
        if self.starts is not None:
            rows = batch.documents
            scatter(self.starts[rows], self.starts[rows + 1], assignments, self.assignments)

    def _batch_size(self, num_words: int, num_tokens: int) -> int:
        wanted = self.settings.batch_size
        if wanted is None:
            tokens = self.settings.n_topics * num_words / BATCH_SHARE
            wanted = -(-int(tokens * self.num_documents) // max(1, num_tokens))
        return max(1, min(wanted, self.num_documents))
