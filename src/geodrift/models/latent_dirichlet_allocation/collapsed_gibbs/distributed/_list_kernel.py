"""The part of `_exchange_kernel` for counts that are kept as a list for each word, compiled.

A list's order is part of the chain, and is that in which visits took tokens out of it and put them back. Who
is told the topics of a group's tokens therefore makes the same visits, without the draws.
"""

import numba
import numpy as np

from geodrift.kernels._random_streams import open_member
from geodrift.kernels._two_forms import TwoForms
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sparse_draw import VISIT
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sparse_kernel import sweep_group
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._token_lists import (
    lay_out_group,
    place_tokens,
)
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._word_visits import put_back, take_out


def _lay_out_lists(
    first_group: int,
    last_group: int,
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    starts: np.ndarray,
    first_tokens: np.ndarray,
    assignments: np.ndarray,
    num_topics: int,
    offsets: np.ndarray,
    rows: np.ndarray,
    entries: np.ndarray,
    places: np.ndarray,
    begins: np.ndarray,
    blocks: np.ndarray,
    topics: np.ndarray,
    numbers: np.ndarray,
) -> None:
    """Lay out the groups from ``first_group`` on that this process sweeps; of others only the places."""
    num_rows, num_parts = starts.shape[0], offsets.shape[0]
    for group in numba.prange(num_parts):
        first, last = group * num_rows // num_parts, (group + 1) * num_rows // num_parts
        if first_group <= group < last_group:
            lay_out_group(
                first, last, first_tokens[group], indptr, words, counts, starts, assignments, num_topics,
                offsets[group], rows, entries, places, begins, blocks, topics, numbers,
            )  # fmt: skip
        else:
            place_tokens(
                first, last, first_tokens[group], indptr, words, counts, starts, offsets[group], rows, places
            )


def _sweep_list_cells(
    cells: np.ndarray,
    cuts: np.ndarray,
    offsets: np.ndarray,
    rows: np.ndarray,
    entries: np.ndarray,
    begins: np.ndarray,
    blocks: np.ndarray,
    topics: np.ndarray,
    numbers: np.ndarray,
    vocabulary: np.ndarray,
    row_begins: np.ndarray,
    row_topics: np.ndarray,
    row_counts: np.ndarray,
    row_sizes: np.ndarray,
    in_parts: np.ndarray,
    masses: np.ndarray,
    part_priors: np.ndarray,
    alpha: np.ndarray,
    prior: float,
    family: np.uint64,
) -> None:
    """Sweep pairs of groups in phases; ``cells`` [n, 2] do not depend on each other."""
    num_parts = offsets.shape[0]
    for cell in numba.prange(cells.shape[0]):
        for group in range(2 * cells[cell, 0], min(2 * cells[cell, 0] + 2, num_parts)):
            phase = cells[cell, 1]
            part = (group + phase) % num_parts
            sweep_group(
                cuts[part], cuts[part + 1], offsets[group], rows, entries, begins, blocks, topics, numbers,
                vocabulary, row_begins, row_topics, row_counts, row_sizes,
                in_parts[part], masses[part], part_priors[part], alpha, prior,
                open_member(family, phase * num_parts + group),
            )  # fmt: skip


WORTH_THREADS = 50_000
lay_out_lists = TwoForms(_lay_out_lists, WORTH_THREADS)
sweep_list_cells = TwoForms(_sweep_list_cells, WORTH_THREADS)


@numba.njit(cache=True)
def tokens_of_lists(cells: np.ndarray, cuts: np.ndarray, offsets: np.ndarray) -> int:
    """The number of tokens that are swept in some pairs and phases."""
    total, num_parts = 0, offsets.shape[0]
    for cell in range(cells.shape[0]):
        for group in range(2 * cells[cell, 0], min(2 * cells[cell, 0] + 2, num_parts)):
            part = (group + cells[cell, 1]) % num_parts
            total += offsets[group, cuts[part + 1]] - offsets[group, cuts[part]]
    return total


@numba.njit(cache=True)
def topics_drawn_in_lists(
    cells: np.ndarray,
    num_tokens: int,
    cuts: np.ndarray,
    offsets: np.ndarray,
    entries: np.ndarray,
    places: np.ndarray,
    topics: np.ndarray,
    assignments: np.ndarray,
) -> np.ndarray:
    """The topics of the tokens of some pairs and phases, one after the other, which become assignments."""
    out, at, num_parts = np.empty(num_tokens, assignments.dtype), 0, offsets.shape[0]
    for cell in range(cells.shape[0]):
        for group in range(2 * cells[cell, 0], min(2 * cells[cell, 0] + 2, num_parts)):
            part = (group + cells[cell, 1]) % num_parts
            for token in range(offsets[group, cuts[part]], offsets[group, cuts[part + 1]]):
                assignments[places[token]] = out[at] = topics[entries[token]]
                at += 1
    return out


@numba.njit(cache=True)
def take_topics_to_lists(
    cells: np.ndarray,
    drawn: np.ndarray,
    cuts: np.ndarray,
    offsets: np.ndarray,
    places: np.ndarray,
    assignments: np.ndarray,
    vocabulary: np.ndarray,
    row_begins: np.ndarray,
    row_topics: np.ndarray,
    row_counts: np.ndarray,
    row_sizes: np.ndarray,
    in_parts: np.ndarray,
) -> None:
    """Write topics in the order of `topics_drawn_in_lists` to their tokens, by the visits that drew them."""
    at, num_parts, num_topics = 0, offsets.shape[0], in_parts.shape[1]
    place, unread = np.zeros(num_topics, np.int64), np.zeros(num_topics)
    visit_topics, visit_priors = np.zeros(VISIT, np.int32), np.zeros(VISIT, np.float32)
    for cell in range(cells.shape[0]):
        for group in range(2 * cells[cell, 0], min(2 * cells[cell, 0] + 2, num_parts)):
            part = (group + cells[cell, 1]) % num_parts
            for item in range(cuts[part], cuts[part + 1]):
                word, end = vocabulary[item], offsets[group, item + 1]
                row, size = row_begins[word], int(row_sizes[word])
                for entry in range(row, row + size if offsets[group, item] < end else row):
                    place[row_topics[entry]] = entry
                for first in range(offsets[group, item], end, VISIT):
                    last = min(first + VISIT, end)
                    size = take_out(
                        first, last, places, assignments, row, size, row_topics, row_counts, place, unread,
                        visit_topics, visit_priors,
                    )  # fmt: skip
                    for token in range(first, last):
                        in_parts[part, visit_topics[token - first]] -= 1.0
                        in_parts[part, drawn[at]] += 1.0
                        visit_topics[token - first] = assignments[places[token]] = drawn[at]
                        at += 1
                    size = put_back(last - first, visit_topics, row, size, row_topics, row_counts, place)
                row_sizes[word] = size
