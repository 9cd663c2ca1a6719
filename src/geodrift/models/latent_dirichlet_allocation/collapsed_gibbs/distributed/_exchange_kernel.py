"""Tokens of a minibatch as they are swept by one process and told to the others, compiled."""

import numba
import numpy as np

from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._kernel import sweep_two_groups
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sweeps import lay_out


@numba.njit(cache=True)
def places_of(indptr: np.ndarray, counts: np.ndarray, num_parts: int) -> np.ndarray:
    """The place of each document's first token, [S, P + 1], the other columns 0."""
    num_rows = indptr.shape[0] - 1
    places = np.zeros((num_rows, num_parts + 1), np.int64)
    token = np.int64(0)
    for row in range(num_rows):
        places[row, 0] = token
        for entry in range(indptr[row], indptr[row + 1]):
            token += counts[entry]
    return places


def lay_out_all(
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    ends: np.ndarray,
    places: np.ndarray,
    token_words: np.ndarray,
) -> None:
    """Fill in the places at which each part of a document begins, and the word of each token."""
    for row in numba.prange(places.shape[0]):
        lay_out(indptr[row : row + 2], words, counts, ends, places[row], token_words)


def number_topics(
    first: int,
    last: int,
    places: np.ndarray,
    topics: np.ndarray,
    doc_topic_prior: np.ndarray,
    in_documents: np.ndarray,
) -> None:
    """alpha_k + n_dk of the documents from ``first`` on."""
    for row in numba.prange(first, last):
        in_documents[row, : doc_topic_prior.shape[0]] = doc_topic_prior
        for token in range(places[row, 0], places[row, places.shape[1] - 1]):
            in_documents[row, topics[token]] += np.float32(1.0)


def sweep_cells(
    cells: np.ndarray,
    places: np.ndarray,
    token_words: np.ndarray,
    topics: np.ndarray,
    in_documents: np.ndarray,
    word_topic: np.ndarray,
    in_parts: np.ndarray,
    masses: np.ndarray,
    part_priors: np.ndarray,
    prior: np.float32,
    power: np.float32,
    family: np.uint64,
) -> None:
    """Sweep pairs of groups in phases; ``cells`` [n, 2] do not depend on each other."""
    for cell in numba.prange(cells.shape[0]):
        sweep_two_groups(
            cells[cell, 0],
            cells[cell, 1],
            places,
            token_words,
            topics,
            in_documents,
            word_topic,
            in_parts,
            masses,
            part_priors,
            prior,
            power,
            family,
        )


@numba.njit(cache=True)
def group_of(pair: int, which: int, phase: int, places: np.ndarray) -> tuple[int, int, int]:
    """First and last documents of one of the two groups of a pair, and its part in a phase.

    The second group of the last pair has no documents where the number of parts is odd.
    """
    num_rows, num_parts = places.shape[0], places.shape[1] - 1
    group = 2 * pair + which
    if group >= num_parts:
        return 0, 0, 0
    part = (group + phase) % num_parts
    return group * num_rows // num_parts, (group + 1) * num_rows // num_parts, part


@numba.njit(cache=True)
def tokens_of(cells: np.ndarray, places: np.ndarray) -> int:
    """The number of tokens that are swept in some pairs and phases."""
    total = 0
    for cell in range(cells.shape[0]):
        for which in range(2):
            first, last, part = group_of(cells[cell, 0], which, cells[cell, 1], places)
            for row in range(first, last):
                total += places[row, part + 1] - places[row, part]
    return total


@numba.njit(cache=True)
def drawn_topics(cells: np.ndarray, places: np.ndarray, topics: np.ndarray, num_tokens: int) -> np.ndarray:
    """The topics of the tokens of some pairs and phases, one after the other."""
    out = np.empty(num_tokens, topics.dtype)
    at = 0
    for cell in range(cells.shape[0]):
        for which in range(2):
            first, last, part = group_of(cells[cell, 0], which, cells[cell, 1], places)
            for row in range(first, last):
                for token in range(places[row, part], places[row, part + 1]):
                    out[at] = topics[token]
                    at += 1
    return out


@numba.njit(cache=True)
def take_topics(
    cells: np.ndarray,
    places: np.ndarray,
    drawn: np.ndarray,
    token_words: np.ndarray,
    topics: np.ndarray,
    word_topic: np.ndarray,
    in_parts: np.ndarray,
) -> None:
    """Write topics in the order of `drawn_topics` to their tokens, and carry the counts along.

    Counts are whole numbers: it does not matter in which order they come. Those of words are changed at the
    end, without a branch between them, so that the processor asks memory for many of them at once.
    """
    at, number, size = 0, 0, np.int64(in_parts.shape[1])
    less, more = np.empty(drawn.shape[0] + 1, np.int64), np.empty(drawn.shape[0] + 1, np.int64)
    for cell in range(cells.shape[0]):
        for which in range(2):
            first, last, part = group_of(cells[cell, 0], which, cells[cell, 1], places)
            in_part = in_parts[part]
            for row in range(first, last):
                for token in range(places[row, part], places[row, part + 1]):
                    before, after = np.int64(topics[token]), np.int64(drawn[at])
                    at += 1
                    begin = np.int64(token_words[token]) * size
                    less[number], more[number] = begin + before, begin + after
                    number += np.int64(before != after)
                    in_part[before] -= 1.0
                    in_part[after] += 1.0
                    topics[token] = after
    for change in range(number):
        word_topic[less[change]] -= 1
        word_topic[more[change]] += 1
