"""Collapsed Gibbs sampling by minibatches: every token's assignment is kept between its visits."""

import itertools

import numpy as np
from jaxtyping import Float, Int

from geodrift.kernels import _streams
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.latent_dirichlet_allocation._topic_move import TopicMove
from geodrift.models.latent_dirichlet_allocation._topics import draw_topics, expected_topics
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._document_prior import draw_document_prior
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._log_joint import log_joint
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._merging import merged
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sweeps import collapsed_gibbs_sweeps
from geodrift.models.latent_dirichlet_allocation.documents._assignment_kernel import (
    add_counts,
    gather,
    scatter,
)
from geodrift.models.latent_dirichlet_allocation.documents._gibbs_sweeps import gibbs_sweeps
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch, TokenSource
from geodrift.models.latent_dirichlet_allocation.documents._vector_draw import LANES, padded

TOKENS_OF_A_STEP = 2**19
# The documents of the start: a quarter of the corpus, but between one and four steps' tokens.
START_SHARE = 4
MOST_START = 4
START_SWEEPS = 40
# The topics of the start: as many again as are asked for, but no more than so many. They are merged after so
# many passes over all documents, and `START_SWEEPS` sweeps in all.
MOST_TOPICS_MORE = 200
MERGE_PASSES = 20
DRAW_OVERHEAD = 16  # of `steps_within`, measured at 20 to 1,200 topics
PARTS = 8  # of the vocabulary: twice the number of threads that have work
WORTH_PARTS = 2**17  # tokens of a corpus


class CollapsedGibbs(TopicMove):
    """Redraws the assignments of a minibatch given all others, with topics and mixtures integrated out.

    That is a Gibbs sampler (see `_sweeps`), whose law is exact once every document has assignments.

    The chain starts with some of the documents, uniform assignments, and more topics than are asked for:
    topics form within a number of sweeps that does not depend on how many documents there are, if they are
    enough to tell topics apart. After `START_SWEEPS` sweeps over them, or a quarter of the warm-up, the other
    documents join, with assignments drawn given the topics found; after `MERGE_PASSES` passes over all of
    them, or half of the warm-up, topics are merged to the number asked for (see `_merging`). All of this is
    warm-up: what follows is the Gibbs sampler alone. Topics are drawn given all assignments, and only for a
    draw that is stored.

    Args:
        source: The corpus.
        settings: See `Settings`.
        seed: Seed of the run.
        chain: Number of the chain; (seed, chain, step) keys the random streams.
    """

    def __init__(self, source: TokenSource, settings: Settings, seed: int, chain: int) -> None:
        self.source, self.settings, self.seed, self.chain = source, settings, seed, chain
        self.batch_size = self._documents_with(settings.batch_size, TOKENS_OF_A_STEP)
        start = max(TOKENS_OF_A_STEP, min(source.num_tokens // START_SHARE, MOST_START * TOKENS_OF_A_STEP))
        batches = max(1, round(self._documents_with(None, start) / self.batch_size))
        self.start_size = min(batches * self.batch_size, source.num_documents)
        self.seen = np.zeros(source.num_documents, bool)  # whether a document has assignments
        self.complete_at = -1  # the count at which all had; -1 before
        self.num_topics = settings.n_topics + min(settings.n_topics, MOST_TOPICS_MORE)  # at present
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
        return self._prior[: self.settings.n_topics]

    @property
    def _prior(self) -> Float[np.ndarray, " K"]:
        return self.alpha.astype(np.float32)

    def begin_pass(self, count: int, warm_up: int | None) -> None:
        """Merge the topics of the start where it is time to."""
        if self.num_topics == self.settings.n_topics:
            return
        of_start, of_all = self._steps_of_passes()
        swept = count * self.settings.sweeps >= START_SWEEPS * of_start
        done = self.complete_at >= 0 and count - self.complete_at >= MERGE_PASSES * of_all and swept
        if done or (warm_up is not None and count >= (warm_up - of_all) / 2):
            self._merge()

    def _merge(self) -> None:
        settings = self.settings
        places = self._merged(len(self.seen))
        # The largest topic has the largest alpha.
        prior = settings.document_prior.astype(np.float64)
        places = np.argsort(-prior, kind="stable")[places]
        self.assignments = places.astype(self.assignments.dtype)[self.assignments]
        word_topic = np.zeros((self.source.num_words, padded(settings.n_topics)), np.int32)
        in_parts = np.zeros((len(self.in_parts), word_topic.shape[1]))
        for topic, place in enumerate(places):
            word_topic[:, place] += self.word_topic[:, topic]
            in_parts[:, place] += self.in_parts[:, topic]
        self.word_topic, self.in_parts = word_topic, in_parts
        self.num_topics, self.alpha = settings.n_topics, prior

    def _merged(self, num_documents: int) -> Int[np.ndarray, " K"]:
        """Where each topic goes, judged by the first documents."""
        return merged(
            self.word_topic[:, : self.num_topics],
            self.source.starts[: num_documents + 1],
            self.seen[:num_documents],
            self.assignments,
            self.settings.n_topics,
            doc_topic_prior=float(self.alpha[0]),
            topic_word_prior=float(self.settings.topic_word_prior),
        )

    def _steps_of_passes(self) -> tuple[int, int]:
        """Steps of a pass over the documents of the start, and over all."""
        of_start, of_all = (-(-size // self.batch_size) for size in (self.start_size, len(self.seen)))
        return of_start, of_all

    def documents_of_pass(self, count: int, warm_up: int | None) -> int:
        """The documents of the start, and all documents later."""
        of_start, of_all = self._steps_of_passes()
        done = self.complete_at >= 0 or count * self.settings.sweeps >= START_SWEEPS * of_start
        late = warm_up is not None and count >= (warm_up - of_all) / 2
        return len(self.seen) if done or late else self.start_size

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

    def log_joint(self) -> float:
        """Of the words and assignments of the documents seen so far; see `log_joint`."""
        prior = float(self.settings.topic_word_prior)
        return log_joint(self.word_topic, self.source.starts, self.seen, self.assignments, self.alpha, prior)

    def state(self) -> dict[str, np.ndarray]:
        """Assignments, their counts, and alpha."""
        return {
            "assignments": self.assignments.copy(),
            "word_topic": self.word_topic.copy(),
            "in_parts": self.in_parts.copy(),
            "seen": self.seen.copy(),
            "alpha": self.alpha.copy(),
            "complete_at": np.array(self.complete_at),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`."""
        names = ("assignments", "word_topic", "in_parts", "seen", "alpha")
        self.assignments, self.word_topic, self.in_parts, self.seen, self.alpha = (
            np.array(arrays[name]) for name in names
        )
        self.complete_at, self.num_topics = int(arrays["complete_at"]), len(self.alpha)

    def step(self, batch: Minibatch, count: int, warming_up: bool) -> int:
        """One minibatch; returns its number of token draws."""
        draws = 0
        if not warming_up and self.num_topics > self.settings.n_topics:
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
            self._prior,
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
            scatter(starts, ends, uniform, self.assignments)
        else:
            draws = batch.num_tokens * self.settings.first_sweeps
            gibbs_sweeps(
                batch,
                starts,
                self.assignments,
                self._mean(batch.vocabulary),
                self._prior,
                sweeps=self.settings.first_sweeps,
                first=True,
                streams=_streams.LDA_GIBBS_FIRST_ASSIGNMENTS.family(self.seed, self.chain, count),
            )
        counts = np.zeros((len(batch.vocabulary), self.word_topic.shape[1]), np.int32)
        add_counts(batch.words, batch.counts, gather(starts, ends, self.assignments), counts)
        self.word_topic[batch.vocabulary] += counts
        cuts = np.searchsorted(batch.vocabulary, self.bounds)
        for part, (begin, end) in enumerate(itertools.pairwise(cuts)):
            self.in_parts[part] += counts[begin:end].sum(axis=0)
        self.seen[documents] = True
        if self.seen.all():
            self.complete_at = count
        return draws

    def steps_within(self, seconds: float, pace: float, count: int) -> int:
        """How many more steps fit in a time.

        The first sweeps of the documents that join take longer, and steps with the topics of the start: the
        time of a draw is that of `DRAW_OVERHEAD` vectors of topics and of those there are.
        """
        settings, (of_start, of_all) = self.settings, self._steps_of_passes()
        joining = 0
        if self.complete_at < 0:
            joining = of_all
            seconds -= settings.first_sweeps * pace * (1 - self.seen.mean()) * joining
        vectors = np.array([padded(settings.n_topics), padded(self.num_topics)]) / LANES
        later = pace * np.divide(*(DRAW_OVERHEAD + vectors))
        share = settings.warm_up_fraction / 2  # of the steps, at most, with the topics of the start
        steps = seconds / (share * pace + (1 - share) * later)
        whole_start = -(-START_SWEEPS * of_start // settings.sweeps) + MERGE_PASSES * of_all - count
        if self.num_topics == settings.n_topics or whole_start < share * steps:
            steps = whole_start + (seconds - whole_start * pace) / later
        return max(joining + 2, int(steps))

    def _compile(self) -> None:
        """Compile the kernels, which takes longer than many steps, before the steps are timed."""
        nothing, one = self.source.minibatch(np.zeros(0, np.int64)), np.zeros((1, self.num_topics))
        starts, streams = nothing.documents, _streams.Family(0, 0, 0)
        topics, prior = one[:0].astype(np.float32), self._prior
        gibbs_sweeps(nothing, starts, self.assignments, topics, prior, sweeps=1, first=True, streams=streams)
        tokens = gather(starts, starts, self.assignments)
        add_counts(nothing.words, nothing.counts, tokens, self.word_topic)
        masses, bounds = self._masses(0), self.bounds
        counts = (self.word_topic, self.in_parts)
        collapsed_gibbs_sweeps(
            nothing, starts, bounds, self.assignments, *counts, masses, prior, 1.0, sweeps=1, streams=streams
        )
        draw_topics(*self._counts(), nothing.vocabulary, 1.0, streams)
        self.log_joint()
        self._merged(2)

    def _documents_with(self, wanted: int | None, tokens: int) -> int:
        """The number of documents wanted, or about as many as hold ``tokens``; at least 1, at most all."""
        if wanted is None:
            wanted = -(-tokens * self.source.num_documents // self.source.num_tokens)
        return max(1, min(wanted, self.source.num_documents))

    def _counts(self) -> tuple[Int[np.ndarray, "V K"], Float[np.ndarray, " K"]]:
        """N_kw, and N_k, its sums over words."""
        num_topics = self.num_topics
        return np.ascontiguousarray(self.word_topic[:, :num_topics]), self.in_parts.sum(axis=0)[:num_topics]

    def _draw_document_prior(self, count: int) -> None:
        """Draw alpha after the last minibatch of a pass over all documents."""
        learn, steps = self.settings.learn_doc_topic_prior, -(-len(self.seen) // self.batch_size)
        unfinished = self.complete_at < 0 or self.num_topics > self.settings.n_topics
        if learn == "no" or unfinished or (count - self.complete_at) % steps:
            return
        rng = _streams.LDA_GIBBS_DOCUMENT_PRIOR.generator(self.seed, self.chain, count)
        kept = (self.source.starts, self.assignments)
        self.alpha = draw_document_prior(self.alpha, *kept, learn == "symmetric", rng)

    def _masses(self, count: int) -> Float[np.ndarray, "P K"]:
        """The parts' masses rho given all assignments."""
        prior = self.settings.topic_word_prior * np.diff(self.bounds)[:, None]
        shapes = prior + self.in_parts[:, : self.num_topics]
        if len(shapes) == 1:
            return np.ones(shapes.shape)
        gammas = _streams.LDA_GIBBS_MASSES.generator(self.seed, self.chain, count).standard_gamma(shapes)
        return gammas / gammas.sum(axis=0)

    def _mean(self, words: Int[np.ndarray, " W"]) -> Float[np.ndarray, "W K"]:
        counts, totals = self._counts()
        return expected_topics(counts[words], totals, self.settings.topic_word_prior, self.source.num_words)
