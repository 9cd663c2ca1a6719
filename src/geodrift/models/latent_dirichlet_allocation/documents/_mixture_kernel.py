"""All sweeps over a document under one draw of the topics, while its words are in the cache."""

import numba
import numpy as np

from geodrift.kernels._random_streams import open_member
from geodrift.kernels._two_forms import TwoForms
from geodrift.models.latent_dirichlet_allocation.documents._assignment_kernel import sweeps_of_document
from geodrift.models.latent_dirichlet_allocation.documents._first_assignments import begin_near_mode


@numba.njit(cache=True)
def _rows(table: np.ndarray, words: np.ndarray) -> np.ndarray:
    rows = np.empty((words.shape[0], table.shape[1]), np.float32)
    for entry in range(words.shape[0]):
        for topic in range(table.shape[1]):
            rows[entry, topic] = table[words[entry], topic]
    return rows


@numba.njit(cache=True, error_model="numpy")
def _of_document(
    row: int,
    documents: tuple,
    assignments: np.ndarray,
    topics: np.ndarray,
    tables: np.ndarray,
    prior: np.ndarray,
    prior_sum: float,
    burn_in: int,
    first: bool,
    calls: tuple,
    totals: np.ndarray,
    kept: np.ndarray,
) -> None:
    """`_add_mixtures` of one document; compiled once for both forms of the loop over documents."""
    items, indptr, words, counts, bounds = documents
    families, of_mean = calls
    entries = slice(indptr[row], indptr[row + 1])
    own = assignments[bounds[row] : bounds[row + 1]]
    num_topics = topics.shape[1]
    numbers = np.empty(num_topics, np.int32)
    present = np.empty(num_topics, np.int32)
    place = np.empty(num_topics, np.int32)
    sums = np.empty(num_topics, np.float32)
    norm = np.float64(own.shape[0]) + prior_sum
    # Its words' rows side by side: memory is asked for many at once, where sweeps would wait for each.
    places = np.arange(indptr[row + 1] - indptr[row]).astype(np.int32)
    of_words, of_tables = _rows(topics, words[entries]), _rows(tables, words[entries])
    first = first and not begin_near_mode(counts[entries], of_words, prior, prior_sum, own)
    before = own
    for call in range(families.shape[0]):
        sweeps_of_document(
            places,
            counts[entries],
            own,
            of_words,
            of_tables,
            1 if call > 0 else burn_in,
            first and call == 0,
            open_member(families[call], items[row]),
            numbers,
            present,
            place,
            sums,
        )
        if 0 < call <= of_mean:
            for topic in range(num_topics):
                totals[row, topic] += (np.float64(numbers[topic]) + prior[topic]) / norm
        if call == of_mean and call < families.shape[0] - 1:
            before = own.copy()
        if call > 0 and kept.size > 0:
            for topic in range(num_topics):
                kept[call - 1, row, topic] = numbers[topic]
    for token in range(own.shape[0] if families.shape[0] - 1 > of_mean else 0):
        own[token] = before[token]


def _add_mixtures(
    documents: tuple,
    assignments: np.ndarray,
    topics: np.ndarray,
    tables: np.ndarray,
    prior: np.ndarray,
    prior_sum: float,
    burn_in: int,
    first: bool,
    families: np.ndarray,
    of_mean: int,
    totals: np.ndarray,
    kept: np.ndarray,
) -> None:
    """Add the mean mixture after each of some sweeps, (n_dk + alpha_k) / (n_d + sum alpha), to ``totals``.

    The first of the ``families`` is of the sweeps that are dropped, each of the others of one sweep. Those
    behind the ``of_mean`` first leave no trace but in ``kept`` [sweep, document, topic], which gets n_dk of
    all, if it has any entries: the assignments are those after the last one of the mean. ``documents`` are
    the items of their streams, the ends of their entries, these entries' words and counts, and the ends of
    their tokens.
    """
    for row in numba.prange(documents[0].shape[0]):
        _of_document(
            row,
            documents,
            assignments,
            topics,
            tables,
            prior,
            prior_sum,
            burn_in,
            first,
            (families, of_mean),
            totals,
            kept,
        )


add_mixtures = TwoForms(_add_mixtures, worth_threads=10_000)
