"""The draws of `_sweeps` for many topics, each at a cost that does not grow with their number.

The law is that of `_sweeps`, and so is what threads have: a group of documents and a part of the words at a
time. Within it tokens are drawn word after word instead of document after document, so that what is made of a
word's list serves all its tokens of the group.
"""

import numba
import numpy as np
from jaxtyping import Float, Int, UInt

from geodrift.kernels._random_streams import open_member
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._two_forms import TwoForms
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sparse_kernel import sweep_group
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._token_lists import (
    empty_lists,
    lay_out_group,
)
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._word_rows import WordRows
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch


def _sweep_minibatch(
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    vocabulary: np.ndarray,
    starts: np.ndarray,
    first_tokens: np.ndarray,
    cuts: np.ndarray,
    assignments: np.ndarray,
    offsets: np.ndarray,
    rows: np.ndarray,
    entries: np.ndarray,
    places: np.ndarray,
    begins: np.ndarray,
    blocks: np.ndarray,
    topics: np.ndarray,
    numbers: np.ndarray,
    row_begins: np.ndarray,
    row_topics: np.ndarray,
    row_counts: np.ndarray,
    row_sizes: np.ndarray,
    in_parts: np.ndarray,
    masses: np.ndarray,
    part_priors: np.ndarray,
    alpha: np.ndarray,
    prior: float,
    num_sweeps: int,
    family: np.uint64,
) -> None:
    num_rows, num_parts, num_topics = starts.shape[0], masses.shape[0], masses.shape[1]
    for group in numba.prange(num_parts):
        lay_out_group(
            group * num_rows // num_parts, (group + 1) * num_rows // num_parts, first_tokens[group],
            indptr, words, counts, starts, assignments, num_topics,
            offsets[group], rows, entries, places, begins, blocks, topics, numbers,
        )  # fmt: skip
    for phase in range(num_sweeps * num_parts):
        for group in numba.prange(num_parts):
            part = (group + phase) % num_parts
            sweep_group(
                cuts[part], cuts[part + 1], offsets[group], rows, entries, begins, blocks, topics, numbers,
                vocabulary, row_begins, row_topics, row_counts, row_sizes,
                in_parts[part], masses[part], part_priors[part], alpha, prior,
                open_member(family, phase * num_parts + group),
            )  # fmt: skip
    for group in numba.prange(num_parts):
        for token in range(offsets[group, 0], offsets[group, -1]):
            assignments[places[token]] = topics[entries[token]]


_sweep_forms = TwoForms(_sweep_minibatch, worth_threads=50_000)


def sparse_gibbs_sweeps(
    batch: Minibatch,
    starts: Int[np.ndarray, " S"],
    bounds: Int[np.ndarray, " bound"],
    assignments: UInt[np.ndarray, " n"],
    word_rows: WordRows,
    in_parts: Float[np.ndarray, "P Kp"],
    masses: Float[np.ndarray, "P K"],
    doc_topic_prior: Float[np.ndarray, " K"],
    prior: float,
    *,
    sweeps: int,
    streams: Family,
) -> None:
    """Sweep over the tokens of a minibatch; assignments and counts are changed in place.

    Args:
        batch: See `collapsed_gibbs_sweeps`.
        starts: See there.
        bounds: See there.
        assignments: See there.
        word_rows: N_kw.
        in_parts: See there.
        masses: See there.
        doc_topic_prior: See there.
        prior: See there.
        sweeps: See there.
        streams: See there.
    """
    num_parts, num_topics = masses.shape
    ends = np.concatenate([[0], np.cumsum(batch.counts, dtype=np.int64)])[batch.indptr]
    groups = np.arange(num_parts + 1) * len(starts) // num_parts
    lists = empty_lists(np.diff(ends), num_topics, num_parts, len(batch.vocabulary))
    _sweep_forms(
        sweeps * batch.num_tokens,
        *(batch.indptr, batch.words, batch.counts, batch.vocabulary, starts),
        ends[groups],
        np.searchsorted(batch.vocabulary, bounds),
        assignments,
        *lists,
        *word_rows,
        in_parts,
        masses,
        prior * np.diff(bounds).astype(np.float64),
        doc_topic_prior.astype(np.float64),
        float(prior),
        sweeps,
        streams.word,
    )
