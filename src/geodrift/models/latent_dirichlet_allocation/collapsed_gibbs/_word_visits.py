"""A word's list of topics while its tokens are drawn: tables made of it, tokens taken out and put back."""

import numba
import numpy as np

from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._word_rows import prune


@numba.njit(cache=True, error_model="numpy")
def word_sums(
    row: int, size: int, row_topics: np.ndarray, row_counts: np.ndarray, bound: np.ndarray, upto: np.ndarray
) -> float:
    """Cumulative sums of alpha_k c_k N'_k over a word's list; returns the last."""
    total = 0.0
    for entry in range(size):
        total += bound[row_topics[row + entry]] * row_counts[row + entry]
        upto[entry] = total
    return total


@numba.njit(cache=True, error_model="numpy")
def open_word(
    row: int,
    size: int,
    row_topics: np.ndarray,
    row_counts: np.ndarray,
    place: np.ndarray,
    numbers: np.ndarray,
    products: np.ndarray,
    scale: np.ndarray,
    prior: np.float32,
) -> None:
    """Spread a word's counts, their products with s, and their places over vectors of all topics."""
    for entry in range(row, row + size):
        topic = row_topics[entry]
        place[topic], numbers[topic] = entry, np.float32(row_counts[entry])
        products[topic] = scale[topic] * (prior + numbers[topic])


@numba.njit(cache=True, error_model="numpy")
def close_word(
    row: int,
    size: int,
    row_topics: np.ndarray,
    numbers: np.ndarray,
    products: np.ndarray,
    scale: np.ndarray,
    prior: np.float32,
) -> None:
    """The vectors of all topics for a word without a token."""
    for entry in range(row, row + size):
        topic = row_topics[entry]
        numbers[topic] = np.float32(0.0)
        products[topic] = scale[topic] * prior


@numba.njit(cache=True, error_model="numpy")
def take_out(
    first: int,
    last: int,
    entries: np.ndarray,
    topics: np.ndarray,
    row: int,
    size: int,
    row_topics: np.ndarray,
    row_counts: np.ndarray,
    place: np.ndarray,
    alpha: np.ndarray,
    visit_topics: np.ndarray,
    visit_priors: np.ndarray,
) -> int:
    """Take a visit's tokens out of the word's list and put them down; returns the list's size."""
    visit_priors[:] = np.float32(0.0)
    for token in range(first, last):
        topic = topics[entries[token]]
        visit_topics[token - first], visit_priors[token - first] = topic, np.float32(alpha[topic])
        entry = place[topic]
        row_counts[entry] -= 1
        if row_counts[entry] == 0:
            size = prune(row, size, entry, row_topics, row_counts, place)
    return size


@numba.njit(cache=True, error_model="numpy")
def put_back(
    number: int,
    visit_topics: np.ndarray,
    row: int,
    size: int,
    row_topics: np.ndarray,
    row_counts: np.ndarray,
    place: np.ndarray,
) -> int:
    """Put a visit's tokens into the word's list; returns the list's size."""
    for token in range(number):
        topic = visit_topics[token]
        entry = place[topic]
        # What stands there may be of a word before, or no longer in the list.
        if not (row <= entry < row + size and row_topics[entry] == topic):
            entry = row + size
            place[topic], row_topics[entry], row_counts[entry] = entry, topic, 0
            size += 1
        row_counts[entry] += 1
    return size
