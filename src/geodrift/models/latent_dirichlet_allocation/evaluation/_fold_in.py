"""Folding in: Gibbs sampling of documents' assignments given fixed topics, and their mixtures."""

import numba
import numpy as np
import scipy.sparse as sp
from jaxtyping import ArrayLike, Float, Int, Real, UInt64

from geodrift.kernels._stream_kinds import KernelStreams
from geodrift.models.latent_dirichlet_allocation.documents._assignment_kernel import (
    gibbs_sweeps,
    prior_tables,
)
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch
from geodrift.models.latent_dirichlet_allocation.documents._mixture_kernel import add_mixtures

ROW_SUM_TOLERANCE = 1e-3


class DocumentSampler:
    """Collapsed Gibbs sampling of some documents' assignments; the topics may change between sweeps.

    A word of probability 0 under all topics says nothing of a mixture: it is assigned as if all topics gave
    it the same probability.

    Args:
        counts: From `checked_counts`, [D, V].
        num_topics: K.
        items: Item of each document's random stream, [D].
        use: Random streams of the sweeps; (seed, topic draw, sweep) keys them.
        seed: Seed of the random numbers.
    """

    def __init__(
        self,
        counts: sp.csr_matrix,
        num_topics: int,
        items: Int[np.ndarray, " D"],
        use: KernelStreams,
        seed: int,
    ) -> None:
        self.use, self.seed, self.num_topics = use, int(seed), num_topics
        occurs = np.zeros(counts.shape[1], bool)
        occurs[counts.indices] = True
        vocabulary, places = np.flatnonzero(occurs), np.cumsum(occurs, dtype=np.int32) - 1
        self.items = np.asarray(items, np.int64)
        self.batch = Minibatch(
            self.items,
            counts.indptr.astype(np.int32),
            places[counts.indices].astype(np.int32),
            counts.data.astype(np.int32),
            vocabulary,
        )
        self.bounds = np.concatenate([[0], np.cumsum(counts.data, dtype=np.int64)])[counts.indptr]
        self.lengths = np.diff(self.bounds)
        self.assignments = np.zeros(self.bounds[-1], np.uint8 if num_topics <= 2**8 else np.uint16)
        self._first = True

    def set_topics(self, topics: Float[np.ndarray, "K V"], prior: Float[np.ndarray, " K"]) -> None:
        """Use these topics and this document prior for the sweeps from now on."""
        self._words = np.ascontiguousarray(topics[:, self.batch.vocabulary].T, dtype=np.float32)
        self.set_prior(prior)

    def set_words(self, words: Float[np.ndarray, "V K"], prior: Float[np.ndarray, " K"]) -> None:
        """The same, of topics that are stored a word after the other, as float32."""
        self._words = words[self.batch.vocabulary]
        self.set_prior(prior)

    def set_prior(self, prior: Float[np.ndarray, " K"]) -> None:
        """Use this document prior, and the topics as they are."""
        self.prior, self._topics = prior.astype(np.float32), self._words
        self._tables = prior_tables(self._topics, self.prior)
        silent = self._tables[:, -1] == 0.0
        if silent.any():
            self._topics = np.where(silent[:, None], np.float32(1.0), self._words)
            self._tables = prior_tables(self._topics, self.prior)

    def sweep(self, draw: int, step: int, times: int = 1) -> Int[np.ndarray, "D K"]:
        """Sweep over all documents, and return n_dk after the last sweep.

        The first sweep of all gives each token a topic given those before it.

        Args:
            draw: Number of the draw of the topics; (seed, draw, step) keys the random streams.
            step: Number of the call under this draw.
            times: Sweeps.
        """
        gibbs_sweeps(
            self.batch,
            self.bounds[:-1],
            self.assignments,
            self._topics,
            self.prior,
            sweeps=times,
            first=self._first,
            streams=self.use.family(self.seed, draw, step),
            tables=self._tables,
        )
        self._first = False
        return _topic_counts(self.bounds, self.assignments, self.num_topics)

    def add_mixtures(
        self,
        draw: int,
        burn_in: int,
        of_mean: int,
        totals: Float[np.ndarray, "D K"],
        kept: Int[np.ndarray, "M documents K"],
    ) -> None:
        """Sweep over all documents, and add their mean mixtures after some of the sweeps.

        Args:
            draw: Number of the draw of the topics.
            burn_in: Sweeps that are dropped, by the streams of step 0; the others have those from 1 on.
            of_mean: Number of sweeps after which the mean is added.
            totals: To which it is added.
            kept: Gets n_dk after M sweeps, the ``of_mean`` first ones among them. The others leave no trace
                beside that: the next call goes on from where this would be without them. Of no document, none
                is kept.
        """
        number = len(kept) if kept.size else of_mean
        add_mixtures(
            # With no work both forms would run, and add twice.
            1 + (burn_in + number) * self.batch.num_tokens,
            (self.items, self.batch.indptr, self.batch.words, self.batch.counts, self.bounds),
            self.assignments,
            self._topics,
            self._tables,
            self.prior.astype(np.float64),
            self.prior.sum(dtype=np.float64),
            burn_in,
            self._first,
            self._families(draw, number),
            of_mean,
            totals,
            kept,
        )
        self._first = False

    def _families(self, draw: int, number: int) -> UInt64[np.ndarray, " calls"]:
        """Random streams of the sweeps that are dropped, and of so many that follow."""
        words = [self.use.family(self.seed, draw, step).word for step in range(1 + number)]
        return np.array(words, np.uint64)

    def mean_mixtures(self, counts: Real[np.ndarray, "D K"]) -> Float[np.ndarray, "D K"]:
        """Mean of each mixture given the topic counts n_dk: (n_dk + alpha_k) / (n_d + sum_j alpha_j)."""
        prior = self.prior.astype(np.float64)
        return (counts + prior) / (self.lengths + prior.sum())[:, None]


@numba.njit(cache=True)
def _topic_counts(bounds: np.ndarray, assignments: np.ndarray, num_topics: int) -> np.ndarray:
    counts = np.zeros((bounds.shape[0] - 1, num_topics), np.int32)
    for row in range(counts.shape[0]):
        for token in range(bounds[row], bounds[row + 1]):
            counts[row, assignments[token]] += 1
    return counts


def checked_topics(topics: Float[np.ndarray, "*N K V"], num_words: int) -> Float[np.ndarray, "N K V"]:
    """Topics as [draw, topic, word].

    Raises:
        ValueError: The shape does not fit the words, or a row is not a probability vector.
    """
    topics = np.asarray(topics)
    topics = topics[None] if topics.ndim == 2 else topics
    if topics.ndim != 3 or topics.shape[2] != num_words or topics.size == 0:
        raise ValueError(
            f"topics must be [topic, word] or [draw, topic, word] with {num_words} words, "
            f"got shape {topics.shape}"
        )
    for number, draw in enumerate(topics):
        off = np.abs(draw.sum(axis=1, dtype=np.float64) - 1.0).max()
        if not (off <= ROW_SUM_TOLERANCE and draw.min() >= 0.0):
            raise ValueError(
                f"each topic must be probabilities that sum to 1; in draw {number} the worst sum is off by "
                f"{off:.3g} and the least entry is {draw.min():.3g}"
            )
    return topics


def checked_prior(doc_topic_prior: ArrayLike, num_draws: int, num_topics: int) -> Float[np.ndarray, "N K"]:
    """Alpha of each draw, [N, K], from one number, K numbers or [N, K].

    Raises:
        ValueError: The shape fits neither, or a value is not positive and finite.
    """
    prior = np.asarray(doc_topic_prior, np.float64)
    if prior.shape not in ((), (num_topics,), (num_draws, num_topics)):
        raise ValueError(
            f"doc_topic_prior must be one number, {num_topics} numbers or [{num_draws}, {num_topics}], "
            f"got shape {prior.shape}"
        )
    if not (np.isfinite(prior).all() and (prior > 0).all()):
        raise ValueError(f"doc_topic_prior must be positive and finite, got {doc_topic_prior!r}")
    return np.broadcast_to(prior, (num_draws, num_topics))
