r"""Documents under the topics of draws and one more, whose words are not known: those of all other topics.

A word that a document repeats, and that no stored topic has, is a topic of its own to the model. So all that
a draw does not store is one topic, Dirichlet(c m) in each document, of mean words m and c = V eta. That is
exact of topics without a token where a document has one; two of them, and small ones, are taken for one.
"""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float, Int

from geodrift.kernels._streams import LDA_COMPLETION_ASSIGNMENTS, LDA_TRANSFORM_ASSIGNMENTS
from geodrift.models.hierarchical_dirichlet_process._open_sampler import OpenSampler
from geodrift.models.kit._content_hashes import content_hashes
from geodrift.models.kit._counts import checked_counts
from geodrift.models.latent_dirichlet_allocation.documents._mixtures import Mixtures
from geodrift.models.latent_dirichlet_allocation.evaluation._completion import (
    CompletionScore,
    add_known,
    score_of,
    split_to_score,
)


class OpenMixtures(Mixtures):
    """`Mixtures` under topics of which the last is Dirichlet(c m), with m in its place."""

    spread: float

    def _sampler(self, counts: sp.csr_matrix) -> OpenSampler:
        names, num_topics = content_hashes(counts), self._prior.shape[1]
        sampler = OpenSampler(counts, num_topics, names, LDA_TRANSFORM_ASSIGNMENTS, self._seed)
        sampler.spread = self.spread
        return sampler


def open_mixtures(
    counts: sp.csr_matrix,
    topics: Float[np.ndarray, "N K V"],
    prior: Float[np.ndarray, "N K"],
    eta: float,
    *,
    seed: int = 0,
    told: int,
    found: Bool[np.ndarray, "N columns"],
) -> dict[str, Float[np.ndarray, "D columns"]]:
    """`document_mixtures` of LDA, where the last topic is m, the mean words of all that are not in a draw."""
    mixtures = OpenMixtures(list(topics), prior, seed, told, found)
    mixtures.spread = eta * topics.shape[2]
    return mixtures.of(checked_counts(counts), intervals=True)


def open_completion(
    counts: sp.csr_matrix,
    topics: Float[np.ndarray, "N K V"],
    prior: Float[np.ndarray, "N K"],
    eta: float,
    *,
    seed: int = 0,
    sweeps: int = 50,
    burn_in: int = 25,
) -> CompletionScore:
    """`completion_perplexity` of LDA, where the last topic is m, the mean words of all not in a draw."""
    counts = checked_counts(counts)
    split = split_to_score(counts, 0.1, seed)
    observed, held_out = split.observed, split.held_out
    rows = np.repeat(np.arange(len(held_out.indptr) - 1), np.diff(held_out.indptr))
    places, total = _places_in(observed, held_out, rows), np.zeros(held_out.nnz)
    for number, (draw, alpha) in enumerate(zip(topics, prior, strict=True)):
        names = np.arange(observed.shape[0])
        sampler = OpenSampler(observed, len(draw), names, LDA_COMPLETION_ASSIGNMENTS, seed)
        sampler.spread = eta * topics.shape[2]
        sampler.set_topics(draw, alpha)
        means, of_open = np.zeros((observed.shape[0], len(draw))), np.zeros(held_out.nnz)
        held = held_out.indptr.astype(np.int64), places, draw[-1][held_out.indices].astype(np.float64)
        nothing = np.zeros((0, 0, len(draw)), np.int32)
        sampler.fold(number, (1 + burn_in, sweeps - burn_in), means, nothing, held, of_open)
        add_known(held_out, means[:, :-1], draw[:-1], of_open)
        total += of_open / (sweeps - burn_in)
    return score_of(counts, split, total / len(topics), len(topics))


def _places_in(
    observed: sp.csr_matrix, held_out: sp.csr_matrix, rows: Int[np.ndarray, " nnz"]
) -> Int[np.ndarray, " nnz"]:
    """The place of each held-out entry's word among the observed entries of its document; -1: in none."""
    num_words, own = observed.shape[1], np.diff(observed.indptr)
    keys = np.repeat(np.arange(observed.shape[0]), own) * num_words + observed.indices
    wanted = rows * num_words + held_out.indices
    at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    there = keys[at] == wanted if len(keys) else np.zeros(len(wanted), bool)
    return np.where(there, at - observed.indptr[rows], -1)
