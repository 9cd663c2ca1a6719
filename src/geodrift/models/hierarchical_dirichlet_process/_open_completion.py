"""Held-out words of documents under topics of which the last is not known; see `_open_mixtures`."""

from functools import partial

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from geodrift.kernels._streams import LDA_COMPLETION_ASSIGNMENTS
from geodrift.models.hierarchical_dirichlet_process._open_sampler import OpenSampler
from geodrift.models.kit._counts import checked_counts
from geodrift.models.latent_dirichlet_allocation.evaluation._completion import (
    CompletionScore,
    add_known,
    held_out_probabilities,
    score_of,
)
from geodrift.models.latent_dirichlet_allocation.evaluation._token_split import Split, split_to_score


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
    add, plan = partial(_add_probabilities, eta * topics.shape[2]), (seed, sweeps, burn_in)
    found = held_out_probabilities(split, topics, prior, plan, add=add)
    return score_of(counts, split, found, len(topics))


def _add_probabilities(
    spread: float,
    split: Split,
    topics: Float[np.ndarray, "N K V"],
    prior: Float[np.ndarray, "N K"],
    first: tuple[int, int],
    plan: tuple[int, int, int],
    out: Float[np.ndarray, " nnz"],
) -> None:
    (observed, held_out), (seed, sweeps, burn_in), number = split, plan, split.observed.shape[0]
    places = _places_in(observed, held_out)
    for place, (stored, alpha) in enumerate(zip(topics, prior, strict=True), first[1]):
        draw = stored / stored.sum(axis=1, keepdims=True, dtype=np.float64)
        names = first[0] + np.arange(number)
        sampler = OpenSampler(spread, observed, len(draw), names, LDA_COMPLETION_ASSIGNMENTS, seed)
        sampler.set_topics(draw, alpha)
        sums, of_open = np.zeros((number, len(draw))), np.zeros(held_out.nnz)
        held = held_out.indptr.astype(np.int64), places, draw[-1][held_out.indices]
        nothing = np.zeros((0, 0, len(draw)), np.int32)
        sampler.fold(place, (1 + burn_in, sweeps - burn_in), sums, nothing, held, of_open)
        add_known(held_out, sums[:, :-1], draw[:-1], of_open)
        out += of_open / (sweeps - burn_in)


def _places_in(observed: sp.csr_matrix, held_out: sp.csr_matrix) -> Int[np.ndarray, " nnz"]:
    """The place of each held-out entry's word among the observed entries of its document; -1: in none."""
    rows = np.repeat(np.arange(observed.shape[0]), np.diff(held_out.indptr))
    own = np.repeat(np.arange(observed.shape[0]), np.diff(observed.indptr))
    keys, wanted = (r * observed.shape[1] + m.indices for r, m in ((own, observed), (rows, held_out)))
    at = np.searchsorted(keys, wanted)
    there = np.append(keys, -1)[at] == wanted
    return np.where(there, at - observed.indptr[rows], -1)
