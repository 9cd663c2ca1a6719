"""Exact Gibbs sampling with partial updates: every token's assignment is kept between visits."""

import time
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from geodrift.models.latent_dirichlet_allocation._assignment_kernel import (
    add_counts,
    gather,
    move_counts,
)
from geodrift.models.latent_dirichlet_allocation._document_sampler import redraw
from geodrift.models.latent_dirichlet_allocation._minibatch import Minibatch, TokenSource
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.latent_dirichlet_allocation._topic_move import TopicMove
from geodrift.models.latent_dirichlet_allocation._topics import draw_topics, expected_topics

EARLY_SHARE = 4  # minibatches are S / 4 until every document has been seen
# Weight of the minibatch numbered t = 1, 2, ...: (1 + t / 5)^-0.6
EARLY_DELAY = 5.0
EARLY_DECAY = 0.6
BATCHES_AT_FIRST = 3  # the least number of early minibatches of a corpus
PILOT_SHARE = 0.15  # of the time given, at most


class KeptAssignments(TopicMove):
    """Redraws the assignments of a minibatch given the topics, and the topics given all assignments.

    Exact and without gradient noise. Warm-up is faster and not exact: until every document has been seen, the
    topics follow the minibatches' counts scaled to the corpus, with falling weight; after that they are held
    at their mean given all assignments. The topics are drawn at every step that is not warm-up.

    Args:
        source: The corpus.
        settings: See `Settings`.
        seed: Of the random streams, with ``chain``.
        chain: Number of the chain.
    """

    def __init__(self, source: TokenSource, settings: Settings, seed: int, chain: int) -> None:
        self.source, self.settings, self.seed, self.chain = source, settings, seed, chain
        self.batch_size = self._batch_size()
        self.early_size = max(
            1, min(self.batch_size // EARLY_SHARE, -(-source.num_documents // BATCHES_AT_FIRST))
        )
        self.early_steps = -(-source.num_documents // self.early_size)
        self.complete = False  # whether every document has assignments
        small = np.uint8 if settings.n_topics <= 2**8 else np.uint16
        self.assignments = np.zeros(source.num_tokens, small)
        self.word_topic = np.zeros((source.num_words, settings.n_topics), np.int32)
        self.topic_totals = np.zeros(settings.n_topics, np.int64)
        self.scaled = self._initial_counts()
        self._compile()

    def documents_at(self, count: int) -> int:
        """A quarter of the minibatch while documents are seen for the first time."""
        return self.early_size if count < self.early_steps else self.batch_size

    def topics(self, count: int) -> Float[np.ndarray, "K V"]:
        """A draw of the topics given all assignments; their mean until all documents have been seen."""
        words = np.arange(self.source.num_words)
        topics = self._drawn(words, count) if self.complete else self._mean(words)
        return np.ascontiguousarray(topics.T)

    def expected_topics(self) -> Float[np.ndarray, "K V"]:
        """The topics' mean given all assignments."""
        return np.ascontiguousarray(self._mean(np.arange(self.source.num_words)).T)

    def state(self) -> dict[str, np.ndarray]:
        """Assignments, their counts, and the counts that the early steps follow."""
        return {
            "assignments": self.assignments.copy(),
            "word_topic": self.word_topic.copy(),
            "topic_totals": self.topic_totals.copy(),
            "scaled": self.scaled.copy(),
            "complete": np.array(self.complete),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take up what `state` put down."""
        names = ("assignments", "word_topic", "topic_totals", "scaled")
        self.assignments, self.word_topic, self.topic_totals, self.scaled = (
            np.array(arrays[name]) for name in names
        )
        self.complete = bool(arrays["complete"])

    def step(self, batch: Minibatch, count: int, warming_up: bool) -> int:
        """One minibatch; returns its number of token draws."""
        early, settings = count < self.early_steps, self.settings
        words = batch.vocabulary
        topics = self._mean(words) if early or warming_up else self._drawn(words, count)
        starts, ends = self.source.starts[batch.documents], self.source.starts[batch.documents + 1]
        words, sweeps = words[batch.words], settings.early_sweeps if early else settings.sweeps
        before = gather(starts, ends, self.assignments)
        redraw(
            batch,
            starts,
            self.assignments,
            topics,
            settings.document_prior,
            sweeps=sweeps,
            first=early,
            seed=self.seed,
            chain=self.chain,
            step=2 * count,
        )
        after = gather(starts, ends, self.assignments)
        if early:
            add_counts(words, batch.counts, after, self.word_topic, self.topic_totals)
            self._follow(batch, after, count)
            self.complete = count + 1 >= self.early_steps
        else:
            move_counts(words, batch.counts, before, after, self.word_topic, self.topic_totals)
        return batch.num_tokens * sweeps

    def count_after(self, seconds: float, step: Callable[[], float], count: int) -> int:
        """See `TopicMove.count_after`.

        Paces are those of the last steps taken; the draws of topics, which warm-up does not make, are timed
        beside them.
        """
        spent, paces = 0.0, {True: 0.0, False: 0.0}
        while spent < PILOT_SHARE * seconds or not any(paces.values()):
            early = count < self.early_steps
            pace = step()
            paces[early] = 0.5 * (paces[early] + pace) if paces[early] else pace
            spent += pace
            count += 1
        # An early step makes about twice the draws of a later one.
        pace = paces[False] or 0.5 * paces[True]
        drawing = self._seconds_of_drawing()
        early_left = max(0, self.early_steps - count)
        remaining = seconds - spent - drawing - early_left * ((paces[True] or pace) - pace)
        per_step = pace + (1.0 - self.settings.warm_up_fraction) * drawing
        return max(2 * count, self.early_steps + 2, int((remaining + count * pace) / per_step))

    def _seconds_of_drawing(self) -> float:
        words = np.arange(self.source.num_words)
        started = time.perf_counter()
        self._drawn(words, 0)
        drawn = time.perf_counter()
        self._mean(words)
        return max(0.0, 2 * drawn - started - time.perf_counter())

    def _compile(self) -> None:
        """Compile the kernels, which takes longer than many steps, before anybody looks at a clock."""
        nothing = self.source.minibatch(np.zeros(0, np.int64))
        counts, totals = self.word_topic[:0], self.topic_totals.copy()
        topics, starts = np.zeros(counts.shape, np.float32), nothing.documents
        tokens = gather(starts, starts, self.assignments)
        redraw(
            nothing,
            starts,
            tokens,
            topics,
            self.settings.document_prior,
            sweeps=1,
            first=True,
            seed=0,
            chain=0,
            step=0,
        )
        add_counts(nothing.words, nothing.counts, tokens, topics, totals.astype(np.float64))
        words = nothing.vocabulary[nothing.words]
        add_counts(words, nothing.counts, tokens, counts, totals)
        move_counts(words, nothing.counts, tokens, tokens, counts, totals)
        draw_topics(self.word_topic, totals, nothing.vocabulary, 1.0, seed=0, chain=0, step=0)

    def _batch_size(self) -> int:
        wanted = self.settings.batch_size
        if wanted is None:
            tokens = self.settings.n_topics * self.source.num_words
            wanted = -(-tokens * self.source.num_documents // self.source.num_tokens)
        return min(wanted, self.source.num_documents)

    def _initial_counts(self) -> Float[np.ndarray, "V K"]:
        """Counts of the size that all tokens give, each times an Exponential draw."""
        rng = np.random.Generator(np.random.Philox(key=[self.seed, self.chain]))
        shape = self.word_topic.shape
        return rng.standard_exponential(shape, np.float32) * np.float32(
            self.source.num_tokens / self.word_topic.size
        )

    def _mean(self, words: Int[np.ndarray, " W"]) -> Float[np.ndarray, "W K"]:
        counts = self.word_topic if self.complete else self.scaled
        totals = self.topic_totals if self.complete else self.scaled.sum(axis=0)
        return expected_topics(counts[words], totals, self.settings.topic_word_prior, self.source.num_words)

    def _drawn(self, words: Int[np.ndarray, " W"], count: int) -> Float[np.ndarray, "W K"]:
        # Streams of topics and of assignments have different names.
        return draw_topics(
            self.word_topic,
            self.topic_totals,
            words,
            self.settings.topic_word_prior,
            seed=self.seed,
            chain=self.chain,
            step=2 * count + 1,
        )

    def _follow(self, batch: Minibatch, after: np.ndarray, count: int) -> None:
        """Topics of the next early step: a weighted mean of the minibatches' scaled counts."""
        weight = np.float32((1.0 + (count + 1) / EARLY_DELAY) ** -EARLY_DECAY)
        counts = np.zeros((len(batch.vocabulary), self.settings.n_topics), np.float32)
        add_counts(batch.words, batch.counts, after, counts, np.zeros(self.settings.n_topics))
        self.scaled *= 1 - weight
        self.scaled[batch.vocabulary] += (
            weight * np.float32(self.source.num_tokens / max(1, batch.num_tokens)) * counts
        )
