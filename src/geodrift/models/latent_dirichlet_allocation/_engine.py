"""One chain of latent Dirichlet allocation: warm-up, stored draws, and its state."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from geodrift.models._planned_chain import PlannedChain
from geodrift.models.latent_dirichlet_allocation._assignment_kernel import (
    add_counts,
    gather,
    move_counts,
    prior_tables,
    redraw,
)
from geodrift.models.latent_dirichlet_allocation._minibatch import Minibatch, TokenSource
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.latent_dirichlet_allocation._topics import draw_topics, expected_topics

EARLY_SHARE = 4  # minibatches are S / 4 until every document has been seen
# Weight of the minibatch numbered t = 1, 2, ...: (1 + t / 5)^-0.6
EARLY_DELAY = 5.0
EARLY_DECAY = 0.6
PILOT_SHARE = 0.15  # of the time given, at most
BATCHES_AT_FIRST = 3  # the least number of early minibatches of a corpus


class Engine(PlannedChain):
    """Samples topics and assignments of one corpus.

    Every token's assignment is kept. A step redraws those of a minibatch given the topics, and the topics given all assignments: an
    exact Gibbs sampler with partial updates, without gradient noise. Warm-up is faster and not exact: until every document has been
    seen, the topics follow the minibatches' counts scaled to the corpus, with falling weight; after that they are held at their mean
    given all assignments. The topics are drawn at every step that is not warm-up.

    Args:
        corpus: Anything with ``num_documents``, ``num_words`` and ``rows(numbers) -> csr_matrix`` of counts.
        settings: See `Settings`.
        seed: Whole number; the same seed gives the same draws on the same machine.
        chain: Number of the chain: chains of one seed are independent.

    Raises:
        ValueError: The corpus has no words, a count that is not whole, or fewer documents than topics.
    """

    def __init__(self, corpus: Any, settings: Settings, *, seed: int = 0, chain: int = 0) -> None:
        if settings.n_topics > corpus.num_documents:
            raise ValueError(
                f"n_topics is {settings.n_topics} but the corpus has {corpus.num_documents} documents; ask for fewer topics"
            )
        self.source, self.settings, self.seed, self.chain = TokenSource(corpus), settings, seed, chain
        self.batch_size = self._batch_size()
        self.early_size = max(
            1, min(self.batch_size // EARLY_SHARE, -(-self.source.num_documents // BATCHES_AT_FIRST))
        )
        self.early_steps = -(-self.source.num_documents // self.early_size)
        small = np.uint8 if settings.n_topics <= 2**8 else np.uint16
        self.assignments = np.zeros(self.source.num_tokens, small)
        self.word_topic = np.zeros((self.source.num_words, settings.n_topics), np.int32)
        self.topic_totals = np.zeros(settings.n_topics, np.int64)
        self.scaled = self._initial_counts()
        self.order: tuple[int, np.ndarray] = (-1, np.zeros(0, np.int64))
        self._compile()
        self.start_plan()

    @property
    def config(self) -> dict:
        """Settings, seed and sizes, for JSON."""
        sizes = {
            "documents": self.source.num_documents,
            "words": self.source.num_words,
            "tokens": self.source.num_tokens,
        }
        return {
            "model": "lda",
            "settings": self.settings.to_dict(),
            "seed": self.seed,
            "chain": self.chain,
            **sizes,
        }

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to go on, bit for bit."""
        return {
            "assignments": self.assignments.copy(),
            "word_topic": self.word_topic.copy(),
            "topic_totals": self.topic_totals.copy(),
            "scaled": self.scaled.copy(),
            "count": np.array(self.count),
            "plan": np.array(self.plan_made),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take up what `state` put down."""
        names = ("assignments", "word_topic", "topic_totals", "scaled")
        self.assignments, self.word_topic, self.topic_totals, self.scaled = (
            np.array(arrays[n]) for n in names
        )
        self.count = int(arrays["count"])
        self.plan_made = type(self.plan_made)(*(int(x) for x in arrays["plan"]))

    def expected_topics(self) -> Float[np.ndarray, "K V"]:
        """The topics' mean given all assignments, rows that sum to 1."""
        return np.ascontiguousarray(self._mean(np.arange(self.source.num_words)).T)

    def topics(self) -> Float[np.ndarray, "K V"]:
        """A draw of the topics given all assignments, rows that sum to 1."""
        return np.ascontiguousarray(self._topics(np.arange(self.source.num_words)).T)

    def _compile(self) -> None:
        """Compile the kernels, which takes longer than many steps, before anybody looks at a clock."""
        words, tokens = np.zeros(1, np.int32), self.assignments[:1].copy()
        table, span = np.ones((1, self.settings.n_topics), np.float32), np.array([0, 1])
        indptr = self.source.minibatch(np.zeros(1, np.int64)).indptr[:1]
        indptr = np.append(indptr, indptr + 1)
        redraw(
            span[:1],
            indptr,
            words,
            words + 1,
            span[:1],
            tokens,
            table,
            prior_tables(table, table[0]),
            1,
            True,
            0,
            0,
            0,
        )
        tokens = gather(span[:1], span[1:], tokens)
        counts, totals = np.zeros_like(self.word_topic[:1]), np.zeros_like(self.topic_totals)
        for target, sums in ((counts, totals), (counts.astype(np.float32), totals.astype(np.float64))):
            add_counts(words, words + 1, tokens, target, sums)
        add_counts(np.zeros(1, np.int64), words + 1, tokens, counts, totals)
        move_counts(np.zeros(1, np.int64), words + 1, tokens, tokens, counts, totals)
        draw_topics(counts, totals, np.zeros(1, np.int64), 1.0, seed=0, chain=0, step=0)

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

    def _documents(self) -> Int[np.ndarray, " S"]:
        """The step's documents: blocks of a permutation, a new one for each pass; a function of the count."""
        early = self.count < self.early_steps
        size = self.early_size if early else self.batch_size
        block = self.count if early else self.count - self.early_steps
        blocks = -(-self.source.num_documents // size)
        number = 0 if early else 1 + block // blocks
        if self.order[0] != number:
            rng = np.random.Generator(
                np.random.Philox(key=[self.seed, self.chain], counter=[0, 0, 1, number])
            )
            self.order = (number, rng.permutation(self.source.num_documents))
        at = block % blocks * size
        return self.order[1][at : at + size]

    def _mean(self, words: Int[np.ndarray, " W"]) -> Float[np.ndarray, "W K"]:
        early = self.count < self.early_steps
        counts = self.scaled if early else self.word_topic
        totals = self.scaled.sum(axis=0) if early else self.topic_totals
        return expected_topics(counts[words], totals, self.settings.topic_word_prior, self.source.num_words)

    def _topics(self, words: Int[np.ndarray, " W"]) -> Float[np.ndarray, "W K"]:
        """The topics of the next step."""
        if self.count < self.early_steps or self.warming_up:
            return self._mean(words)
        return self._drawn(words)

    def _drawn(self, words: Int[np.ndarray, " W"]) -> Float[np.ndarray, "W K"]:
        # Streams of topics and of assignments have different names.
        return draw_topics(
            self.word_topic,
            self.topic_totals,
            words,
            self.settings.topic_word_prior,
            seed=self.seed,
            chain=self.chain,
            step=2 * self.count + 1,
        )

    def _step(self) -> int:
        """One minibatch; returns its number of token draws."""
        early, batch = self.count < self.early_steps, self.source.minibatch(self._documents())
        settings, topics = self.settings, self._topics(batch.vocabulary)
        starts, ends = self.source.starts[batch.documents], self.source.starts[batch.documents + 1]
        words, sweeps = batch.vocabulary[batch.words], settings.early_sweeps if early else settings.sweeps
        before = gather(starts, ends, self.assignments)
        redraw(
            batch.documents,
            batch.indptr,
            batch.words,
            batch.counts,
            starts,
            self.assignments,
            topics,
            prior_tables(topics, settings.document_prior),
            sweeps,
            early,
            self.seed,
            self.chain,
            2 * self.count,
        )
        after = gather(starts, ends, self.assignments)
        if early:
            add_counts(words, batch.counts, after, self.word_topic, self.topic_totals)
            self._follow(batch, after)
        else:
            move_counts(words, batch.counts, before, after, self.word_topic, self.topic_totals)
        self.count += 1
        return batch.num_tokens * sweeps

    def _follow(self, batch: Minibatch, after: np.ndarray) -> None:
        """Topics of the next early step: a weighted mean of the minibatches' scaled counts."""
        weight = np.float32((1.0 + (self.count + 1) / EARLY_DELAY) ** -EARLY_DECAY)
        counts = np.zeros((len(batch.vocabulary), self.settings.n_topics), np.float32)
        add_counts(batch.words, batch.counts, after, counts, np.zeros(self.settings.n_topics))
        self.scaled *= 1 - weight
        self.scaled[batch.vocabulary] += (
            weight * np.float32(self.source.num_tokens / max(1, batch.num_tokens)) * counts
        )

    def _count_after(self, seconds: float) -> int:
        """Paces are those of the pilot's last steps; the draws of topics, which it does not make, are timed beside it."""
        started, paces = time.perf_counter(), {True: 0.0, False: 0.0}
        while (early := self.count < self.early_steps) or not paces[False]:
            paces[early] = self._timed(self._step)
            if time.perf_counter() - started > PILOT_SHARE * seconds and paces[True]:
                break
        while time.perf_counter() - started < PILOT_SHARE * seconds:
            paces[False] = 0.5 * (paces[False] + self._timed(self._step))
        # An early step makes about twice the draws of a later one.
        pace = paces[False] or 0.5 * paces[True]
        words = self.source.minibatch(self._documents()).vocabulary
        self._drawn(words)
        drawing = max(0.0, self._timed(lambda: self._drawn(words)) - self._timed(lambda: self._mean(words)))
        early_left = max(0, self.early_steps - self.count)
        remaining = seconds - (time.perf_counter() - started) - early_left * (paces[True] - pace)
        per_step = pace + (1.0 - self.settings.warm_up_fraction) * drawing
        return max(2 * self.count, self.early_steps + 2, int((remaining + self.count * pace) / per_step))

    @staticmethod
    def _timed(work: Callable[[], Any]) -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    def _draw(self) -> dict[str, np.ndarray]:
        return {"topics": self.topics()}

    def _metrics(self, outcomes: list[int]) -> dict[str, float]:
        return {"documents": float(self._seen()), "token_draws": float(sum(outcomes))}

    def _seen(self) -> int:
        early = min(self.count, self.early_steps) * self.early_size
        return early + max(0, self.count - self.early_steps) * self.batch_size
