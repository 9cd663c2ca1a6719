"""Exact Gibbs sampling with partial updates: every token's assignment is kept between visits."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from geodrift.models.latent_dirichlet_allocation._assignment_kernel import (
    add_counts,
    gather,
)
from geodrift.models.latent_dirichlet_allocation._collapsed_kernel import redraw_collapsed
from geodrift.models.latent_dirichlet_allocation._document_prior import draw_document_prior
from geodrift.models.latent_dirichlet_allocation._document_sampler import redraw
from geodrift.models.latent_dirichlet_allocation._minibatch import Minibatch, TokenSource
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.latent_dirichlet_allocation._topic_move import TopicMove
from geodrift.models.latent_dirichlet_allocation._topics import draw_topics, expected_topics
from geodrift.models.latent_dirichlet_allocation._vector_draw import padded

TOKENS_OF_A_STEP = 2**19
EARLY_SHARE = 4  # K V / 4 tokens make a minibatch until every document has been seen
# Weight of the minibatch numbered t = 1, 2, ...: (1 + t / 5)^-0.6
EARLY_DELAY = 5.0
EARLY_DECAY = 0.6
BATCHES_AT_FIRST = (3, 50)  # the least and the largest number of them, unless the minibatches are smaller
PARTS = 8  # of the vocabulary: as many threads have work
WORTH_PARTS = 2**17  # tokens of a corpus
PILOT_SHARE = 0.15  # of the time given, at most


class KeptAssignments(TopicMove):
    """Redraws the assignments of a minibatch given all others, the topics integrated out.

    Exact and without gradient noise once every document has been seen (see `redraw_collapsed`). Until then,
    which is faster and not exact, the minibatch's assignments are drawn given topics that follow the
    minibatches' counts scaled to the corpus, with falling weight. Topics are drawn, given all assignments,
    where they are asked for.

    Args:
        source: The corpus.
        settings: See `Settings`.
        seed: Of the random streams, with ``chain``.
        chain: Number of the chain.
    """

    def __init__(self, source: TokenSource, settings: Settings, seed: int, chain: int) -> None:
        self.source, self.settings, self.seed, self.chain = source, settings, seed, chain
        self.batch_size = self._documents_with(settings.batch_size, TOKENS_OF_A_STEP)
        early = self._documents_with(None, settings.n_topics * source.num_words // EARLY_SHARE)
        fewest, most = (-(-source.num_documents // number) for number in BATCHES_AT_FIRST[::-1])
        self.early_size = min(self.batch_size, max(fewest, min(early, most)))
        self.early_steps = -(-source.num_documents // self.early_size)
        self.complete = False  # whether every document has assignments
        small = np.uint8 if settings.n_topics <= 2**8 else np.uint16
        self.assignments = np.zeros(source.num_tokens, small)
        self.bounds = source.word_bounds(PARTS if source.num_tokens >= WORTH_PARTS else 1)
        size = padded(settings.n_topics)
        self.word_topic = np.zeros((source.num_words, size), np.int32)
        self.in_parts = np.zeros((len(self.bounds) - 1, size))
        self.scaled = self._initial_counts()
        self.alpha = settings.document_prior.astype(np.float64)
        self._compile()

    @property
    def document_prior(self) -> Float[np.ndarray, " K"]:
        """The present alpha."""
        return self.alpha.astype(np.float32)

    def documents_at(self, count: int) -> int:
        """Others while documents are seen for the first time."""
        return self.early_size if count < self.early_steps else self.batch_size

    def topics(self, count: int) -> Float[np.ndarray, "K V"]:
        """A draw of the topics given all assignments; their mean until all documents have been seen."""
        if not self.complete:
            return self.expected_topics()
        words, settings = np.arange(self.source.num_words), self.settings
        counts, totals = self._counts()
        # Streams of topics and of assignments have different names.
        names = {"seed": self.seed, "chain": self.chain, "step": 2 * count + 1}
        return np.ascontiguousarray(draw_topics(counts, totals, words, settings.topic_word_prior, **names).T)

    def expected_topics(self) -> Float[np.ndarray, "K V"]:
        """The topics' mean given all assignments; given the scaled counts until all have been seen."""
        return np.ascontiguousarray(self._mean(np.arange(self.source.num_words)).T)

    def state(self) -> dict[str, np.ndarray]:
        """Assignments, their counts, and the counts that the early steps follow."""
        return {
            "assignments": self.assignments.copy(),
            "word_topic": self.word_topic.copy(),
            "in_parts": self.in_parts.copy(),
            "scaled": self.scaled.copy(),
            "alpha": self.alpha.copy(),
            "complete": np.array(self.complete),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take up what `state` put down."""
        names = ("assignments", "word_topic", "in_parts", "scaled", "alpha")
        self.assignments, self.word_topic, self.in_parts, self.scaled, self.alpha = (
            np.array(arrays[name]) for name in names
        )
        self.complete = bool(arrays["complete"])

    def step(self, batch: Minibatch, count: int, warming_up: bool) -> int:
        """One minibatch; returns its number of token draws."""
        del warming_up
        if count < self.early_steps:
            return self._early_step(batch, count)
        redraw_collapsed(
            batch,
            self.source.starts[batch.documents],
            self.bounds,
            self.assignments,
            self.word_topic,
            self.in_parts,
            self._masses(count),
            self.document_prior,
            self.settings.topic_word_prior,
            sweeps=self.settings.sweeps,
            seed=self.seed,
            chain=self.chain,
            step=2 * count,
        )
        self._learn(count)
        return batch.num_tokens * self.settings.sweeps

    def _early_step(self, batch: Minibatch, count: int) -> int:
        settings, rows = self.settings, batch.documents
        starts, ends = self.source.starts[rows], self.source.starts[rows + 1]
        redraw(
            batch,
            starts,
            self.assignments,
            self._mean(batch.vocabulary),
            settings.document_prior,
            sweeps=settings.early_sweeps,
            first=True,
            seed=self.seed,
            chain=self.chain,
            step=2 * count,
        )
        after = gather(starts, ends, self.assignments)
        counts = np.zeros((len(batch.vocabulary), self.word_topic.shape[1]), np.int32)
        add_counts(batch.words, batch.counts, after, counts)
        self.word_topic[batch.vocabulary] += counts
        self._follow(batch, counts[:, : settings.n_topics], count)
        self.complete = count + 1 >= self.early_steps
        if self.complete:
            self.in_parts[:] = np.add.reduceat(self.word_topic, self.bounds[:-1], axis=0)
        return batch.num_tokens * settings.early_sweeps

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
        early_left = max(0, self.early_steps - count)
        remaining = seconds - spent - early_left * ((paces[True] or pace) - pace)
        return max(2 * count, self.early_steps + 2, count + int(remaining / pace))

    def _compile(self) -> None:
        """Compile the kernels, which takes longer than many steps, before anybody looks at a clock."""
        nothing, one = self.source.minibatch(np.zeros(0, np.int64)), np.zeros((1, self.settings.n_topics))
        starts, names = nothing.documents, {"seed": 0, "chain": 0, "step": 0}
        topics, prior = one[:0].astype(np.float32), self.settings.document_prior
        redraw(nothing, starts, self.assignments, topics, prior, sweeps=1, first=True, **names)
        tokens = gather(starts, starts, self.assignments)
        add_counts(nothing.words, nothing.counts, tokens, self.word_topic)
        masses, bounds = self._masses(0), self.bounds
        counts = (self.word_topic, self.in_parts)
        redraw_collapsed(
            nothing, starts, bounds, self.assignments, *counts, masses, prior, 1.0, sweeps=1, **names
        )
        draw_topics(*self._counts(), nothing.vocabulary, 1.0, **names)

    def _documents_with(self, wanted: int | None, tokens: int) -> int:
        """About as many documents as hold some tokens, unless told; at least one and at most all."""
        if wanted is None:
            wanted = -(-tokens * self.source.num_documents // self.source.num_tokens)
        return max(1, min(wanted, self.source.num_documents))

    def _initial_counts(self) -> Float[np.ndarray, "V K"]:
        """Counts of the size that all tokens give, each times an Exponential draw."""
        rng = np.random.Generator(np.random.Philox(key=[self.seed, self.chain]))
        shape = (self.source.num_words, self.settings.n_topics)
        return rng.standard_exponential(shape, np.float32) * np.float32(
            self.source.num_tokens / (shape[0] * shape[1])
        )

    def _counts(self) -> tuple[Int[np.ndarray, "V K"], Float[np.ndarray, " K"]]:
        """N and its sums over words."""
        num_topics = self.settings.n_topics
        return np.ascontiguousarray(self.word_topic[:, :num_topics]), self.in_parts.sum(axis=0)[:num_topics]

    def _learn(self, count: int) -> None:
        """Draw alpha after the last minibatch of a pass."""
        learn, steps = self.settings.learn_doc_topic_prior, -(-self.source.num_documents // self.batch_size)
        if learn == "no" or (count + 1 - self.early_steps) % steps:
            return
        rng, kept = self._generator(3, count), (self.source.starts, self.assignments)
        self.alpha = draw_document_prior(self.alpha, *kept, learn == "symmetric", rng)

    def _generator(self, purpose: int, count: int) -> np.random.Generator:
        return np.random.Generator(
            np.random.Philox(key=[self.seed, self.chain], counter=[0, 0, purpose, count])
        )

    def _masses(self, count: int) -> Float[np.ndarray, "P K"]:
        """The parts' masses rho given all assignments."""
        prior = self.settings.topic_word_prior * np.diff(self.bounds)[:, None]
        shapes = prior + self.in_parts[:, : self.settings.n_topics]
        if len(shapes) == 1:
            return np.ones(shapes.shape)
        gammas = self._generator(2, count).standard_gamma(shapes)
        return gammas / gammas.sum(axis=0)

    def _mean(self, words: Int[np.ndarray, " W"]) -> Float[np.ndarray, "W K"]:
        counts, totals = self._counts() if self.complete else (self.scaled, self.scaled.sum(axis=0))
        return expected_topics(counts[words], totals, self.settings.topic_word_prior, self.source.num_words)

    def _follow(self, batch: Minibatch, counts: Int[np.ndarray, "W K"], count: int) -> None:
        """Topics of the next early step: a weighted mean of the minibatches' scaled counts."""
        weight = np.float32((1.0 + (count + 1) / EARLY_DELAY) ** -EARLY_DECAY)
        self.scaled *= 1 - weight
        self.scaled[batch.vocabulary] += (
            weight * np.float32(self.source.num_tokens / max(1, batch.num_tokens)) * counts
        )
