r"""Mixtures of documents given topic draws: posterior mean and interval.

Under each draw of the topics a document's assignments are sampled by collapsed Gibbs steps. Given them, its
mixture is Dirichlet(alpha + n_d): the mean is the average of those Dirichlets' means (Rao and Blackwell), the
interval's ends are quantiles of a draw from each. They begin near the mode of a long document's mixture
(`_first_assignments`).

Of 60 words and 20 draws of 100 topics the mean has a Monte Carlo error of a twelfth of the posterior's
standard deviation (root mean squares over shares above 0.02). Sweeps for the interval alone are a branch that
ends with the topic draw, so that the means are the same with and without intervals.
"""

import math
from collections.abc import Iterable

import numba
import numpy as np
import scipy.sparse as sp
from jaxtyping import ArrayLike, Bool, Float

from geodrift.kernels._gamma import gamma
from geodrift.kernels._normal_exponential import exponential
from geodrift.kernels._random_streams import open_member
from geodrift.kernels._streams import LDA_TRANSFORM_ASSIGNMENTS, LDA_TRANSFORM_MIXTURES
from geodrift.kernels._two_forms import TwoForms
from geodrift.models.kit._content_hashes import content_hashes
from geodrift.models.kit._counts import checked_counts
from geodrift.models.kit._found_draws import ends_over
from geodrift.models.latent_dirichlet_allocation.evaluation._fold_in import (
    DocumentSampler,
    checked_prior,
    checked_topics,
)

FIRST_SWEEPS = 20  # before the first draw of a document's mixture
BURN_IN = 3  # sweeps under each later topic draw, from the assignments under the one before, that are dropped
SWEEPS_OF_MEAN = 3  # under each topic draw, after which the mean is taken
DRAWS_PER_TOPIC_DRAW = 10  # of the mixture, one after each of so many sweeps, for the interval
NUMBERS_AT_ONCE = 2**24  # mixture components that are held in memory at once


def document_mixtures(
    counts: sp.csr_matrix,
    topics: Float[np.ndarray, "N K V"],
    doc_topic_prior: ArrayLike,
    *,
    seed: int = 0,
    told: int | None = None,
    found: Bool[np.ndarray, "N columns"] | None = None,
    intervals: bool = True,
) -> dict[str, Float[np.ndarray, "D columns"]]:
    """Mixtures of documents given aligned topic draws: posterior mean and 90% interval.

    Both are over topics, assignments and mixtures. A document's numbers are a function of its words, the
    topics, the prior and the seed, whatever documents are beside it.

    Args:
        counts: Whole numbers, [D, V]; a row without a token has the prior's mixture.
        topics: Aligned draws; rows sum to 1.
        doc_topic_prior: alpha, each component's: one number, K numbers, or [N, K], one row a draw.
        seed: Seed of the assignments and the mixtures.
        told: Only so many topics, the first ones, are told of, and a last column has the sum of the others;
            they need not be aligned. None: all.
        found: Whether a draw says anything of each column that is returned; None: of all. A column's numbers
            are those of the draws that do.
        intervals: Whether the intervals' ends are told too. The means are the same without, and take a
            fraction of the time.

    Returns:
        ``{"mean", "low", "high"}``, or the mean alone, each [D, K] float32, or [D, told + 1].

    Raises:
        ValueError: Shapes disagree, or a value is outside what its line allows.
    """
    counts = checked_counts(counts)
    topics = checked_topics(topics, counts.shape[1])
    prior = checked_prior(doc_topic_prior, *topics.shape[:2])
    return Mixtures(list(topics), prior, seed, told, found).of(counts, intervals=intervals)


class Mixtures:
    """`document_mixtures` for one block of documents after the other.

    Args:
        topics: Draws, [topic, word] each, which are copied.
        prior: alpha, one row a draw.
        seed: See `document_mixtures`.
        told: See `document_mixtures`.
        found: See `document_mixtures`.
    """

    def __init__(
        self,
        topics: Iterable[np.ndarray],
        prior: Float[np.ndarray, "N K"],
        seed: int,
        told: int | None = None,
        found: Bool[np.ndarray, "N columns"] | None = None,
    ) -> None:
        # A word's probabilities lie side by side.
        self._topics: list[np.ndarray] = []
        before = None
        for draw in topics:
            same = before is not None and np.shares_memory(draw, before)
            self._topics.append(self._topics[-1] if same else np.ascontiguousarray(draw.T, dtype=np.float32))
            before = draw
        self._prior, self._seed, self._told = prior.astype(np.float32), int(seed), told
        columns = prior.shape[1] if told is None else told + 1
        self._found = np.ones((len(self._topics), columns), bool) if found is None else found

    def of(self, counts: sp.csr_matrix, *, intervals: bool) -> dict[str, Float[np.ndarray, "D columns"]]:
        """Of documents from `checked_counts`; see `document_mixtures`."""
        num_topics = self._prior.shape[1]
        numbers = num_topics * (len(self._topics) * DRAWS_PER_TOPIC_DRAW if intervals else 4)
        block = max(1, NUMBERS_AT_ONCE // numbers)
        columns = num_topics if self._told is None else self._told + 1
        names = ("mean", "low", "high") if intervals else ("mean",)
        out = {name: np.empty((counts.shape[0], columns), np.float32) for name in names}
        for start in range(0, counts.shape[0], block):
            rows = slice(start, start + block)
            mean, draws = self._sampled(counts[rows], intervals)
            out["mean"][rows] = mean
            if intervals:
                of_draws = np.repeat(self._found, DRAWS_PER_TOPIC_DRAW, axis=0)
                out["low"][rows], out["high"][rows] = ends_over(_summed(draws, self._told), of_draws)
        return out

    def _sampled(
        self, counts: sp.csr_matrix, intervals: bool
    ) -> tuple[Float[np.ndarray, "D columns"], Float[np.ndarray, "M told K"]]:
        """The mean of each document's mixture, and all draws of the mixtures, for intervals."""
        (documents, num_topics), number = (counts.shape[0], self._prior.shape[1]), len(self._topics)
        sampler = self._sampler(counts)
        totals = np.zeros((documents, self._found.shape[1]))
        told = documents if intervals else 0
        draws = np.empty((number * DRAWS_PER_TOPIC_DRAW, told, num_topics), np.float32)
        kept = np.empty((DRAWS_PER_TOPIC_DRAW, told, num_topics), np.int32)
        for draw, topics in enumerate(self._topics):
            sampler.set_words(topics, self._prior[draw])
            of_draw = np.zeros((documents, num_topics))
            sampler.add_mixtures(draw, BURN_IN if draw else FIRST_SWEEPS, SWEEPS_OF_MEAN, of_draw, kept)
            totals += _summed(of_draw, self._told) * self._found[draw]
            for i in range(DRAWS_PER_TOPIC_DRAW if intervals else 0):
                family = LDA_TRANSFORM_MIXTURES.family(self._seed, draw, 1 + i).word
                at = draws[draw * DRAWS_PER_TOPIC_DRAW + i]
                draw_dirichlets(at.size, kept[i], sampler.prior, sampler.items, family, at)
        return totals / (self._found.sum(axis=0) * SWEEPS_OF_MEAN), draws

    def _sampler(self, counts: sp.csr_matrix) -> DocumentSampler:
        """Of the assignments of these documents."""
        names, num_topics = content_hashes(counts), self._prior.shape[1]
        return DocumentSampler(counts, num_topics, names, LDA_TRANSFORM_ASSIGNMENTS, self._seed)


def _summed(mixtures: Float[np.ndarray, "*M D K"], told: int | None) -> Float[np.ndarray, "*M D columns"]:
    """The first components, and the sum of the others; all components where ``told`` is None."""
    if told is None:
        return mixtures
    others = mixtures[..., told:].sum(axis=-1, keepdims=True)
    return np.concatenate([mixtures[..., :told], others], axis=-1)


def _draw_dirichlets(
    counts: np.ndarray, prior: np.ndarray, items: np.ndarray, family: np.uint64, out: np.ndarray
) -> None:
    """A draw from Dirichlet(prior + counts) for every row."""
    for row in numba.prange(counts.shape[0]):
        stream = open_member(family, items[row])
        logs = np.empty(counts.shape[1])
        for topic in range(counts.shape[1]):
            # Gamma(s) = Gamma(s + 1) U^(1/s), in logarithms: of small shapes all draws may underflow.
            shape = prior[topic] + counts[row, topic]
            draw, stream = gamma(shape + 1.0, stream)
            fall, stream = exponential(stream)
            logs[topic] = math.log(draw) - fall / shape
        largest, total = logs.max(), 0.0
        for topic in range(counts.shape[1]):
            logs[topic] = math.exp(logs[topic] - largest)
            total += logs[topic]
        for topic in range(counts.shape[1]):
            out[row, topic] = logs[topic] / total


draw_dirichlets = TwoForms(_draw_dirichlets, worth_threads=20_000)
