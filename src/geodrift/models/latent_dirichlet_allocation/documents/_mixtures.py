r"""Mixtures of documents given topic draws: posterior mean and interval.

Under each draw of the topics a document's assignments are sampled by collapsed Gibbs steps. Given them, its
mixture is Dirichlet(alpha + n_d): the mean is the average of those Dirichlets' means (Rao and Blackwell), the
interval's ends are quantiles of a draw from each.
"""

import math

import numba
import numpy as np
import scipy.sparse as sp
from jaxtyping import ArrayLike, Float

from geodrift.kernels._gamma import gamma
from geodrift.kernels._normal_exponential import exponential
from geodrift.kernels._random_streams import open_member
from geodrift.kernels._streams import LDA_TRANSFORM_ASSIGNMENTS, LDA_TRANSFORM_MIXTURES
from geodrift.kernels._two_forms import TwoForms
from geodrift.models.kit._counts import checked_counts
from geodrift.models.kit._next_draw import INTERVAL
from geodrift.models.latent_dirichlet_allocation.evaluation._fold_in import (
    DocumentSampler,
    checked_prior,
    checked_topics,
)
from geodrift.models.topics._content_hashes import content_hashes

FIRST_SWEEPS = 20  # before the first draw of a document's mixture
BURN_IN = 5  # sweeps under each later topic draw, from the assignments under the one before, that are dropped
DRAWS_PER_TOPIC_DRAW = 10
NUMBERS_AT_ONCE = 2**24  # mixture components that are held in memory at once


def document_mixtures(
    counts: sp.csr_matrix,
    topics: Float[np.ndarray, "N K V"],
    doc_topic_prior: ArrayLike,
    *,
    seed: int = 0,
    told: int | None = None,
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

    Returns:
        ``{"mean", "low", "high"}``, each [D, K] float32, or [D, told + 1].

    Raises:
        ValueError: Shapes disagree, or a value is outside what its line allows.
    """
    counts = checked_counts(counts)
    topics = checked_topics(topics, counts.shape[1])
    prior = checked_prior(doc_topic_prior, *topics.shape[:2])
    num_draws, num_topics = prior.shape
    block = max(1, NUMBERS_AT_ONCE // (num_draws * DRAWS_PER_TOPIC_DRAW * num_topics))
    columns = num_topics if told is None else told + 1
    out = {name: np.empty((counts.shape[0], columns), np.float32) for name in ("mean", "low", "high")}
    for start in range(0, counts.shape[0], block):
        rows = slice(start, start + block)
        mean, draws = (_summed(found, told) for found in _sampled(counts[rows], topics, prior, seed))
        out["mean"][rows] = mean
        out["low"][rows], out["high"][rows] = np.quantile(draws, INTERVAL, axis=0)
    return out


def _summed(mixtures: Float[np.ndarray, "*M D K"], told: int | None) -> Float[np.ndarray, "*M D columns"]:
    """The first components, and the sum of the others; all components where ``told`` is None."""
    if told is None:
        return mixtures
    others = mixtures[..., told:].sum(axis=-1, keepdims=True)
    return np.concatenate([mixtures[..., :told], others], axis=-1)


def _sampled(
    counts: sp.csr_matrix, topics: Float[np.ndarray, "N K V"], prior: Float[np.ndarray, "N K"], seed: int
) -> tuple[Float[np.ndarray, "D K"], Float[np.ndarray, "M D K"]]:
    """The mean of each document's mixture, and all draws of the mixtures."""
    num_draws, num_topics = prior.shape
    hashes = content_hashes(counts)
    sampler = DocumentSampler(counts, num_topics, hashes, LDA_TRANSFORM_ASSIGNMENTS, seed)
    mean = np.zeros((counts.shape[0], num_topics))
    draws = np.empty((num_draws * DRAWS_PER_TOPIC_DRAW, counts.shape[0], num_topics), np.float32)
    for number, draw in enumerate(topics):
        sampler.set_topics(draw, prior[number])
        sampler.sweep(number, 0, BURN_IN if number else FIRST_SWEEPS)
        for i in range(DRAWS_PER_TOPIC_DRAW):
            numbers = sampler.sweep(number, 1 + i)
            mean += sampler.mean_mixtures(numbers)
            at = number * DRAWS_PER_TOPIC_DRAW + i
            family = LDA_TRANSFORM_MIXTURES.family(seed, number, 1 + i).word
            _draw_dirichlets_forms(numbers.size, numbers, sampler.prior, hashes, family, draws[at])
    return mean / len(draws), draws


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
            total += math.exp(logs[topic] - largest)
        for topic in range(counts.shape[1]):
            out[row, topic] = math.exp(logs[topic] - largest) / total


_draw_dirichlets_forms = TwoForms(_draw_dirichlets, worth_threads=20_000)
