"""Collapsed Gibbs draws of one group's tokens of one part of the words, word after word, compiled.

See `_sweeps` for what is drawn and `_sparse_draw` for how. Four vectors of K numbers stay in the processor's
cache; of a word its own topics are read, at each visit, and of a document its own.
"""

import numba
import numpy as np

from geodrift.kernels._gathered_draw import list_entry
from geodrift.kernels._lanes import add_in_vector, prefetch, read_lanes, with_lane, write_lanes
from geodrift.kernels._uncounted import uncounted
from geodrift.kernels._vector_draw import LANES
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sparse_draw import VISIT, draw
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._word_visits import (
    close_word,
    open_word,
    put_back,
    take_out,
    word_sums,
)

_ONE = np.float32(1.0)
# A bound holds until a topic has lost so many tokens, and this share of those that it had; but no bound is
# above s by more than a third.
SLACK, SHARE, MOST = 8.0, 1 / 32, 1 / 4
AHEAD, NEAR = 4, 3  # tokens ahead whose documents are asked for, and how many vectors of their lists
RENEWED = 4096  # tokens after which bounds are made anew, or as many as there are topics


@numba.njit(cache=True, error_model="numpy")
def set_bounds(
    in_part: np.ndarray,
    masses: np.ndarray,
    part_prior: float,
    alpha: np.ndarray,
    prior: float,
    least: np.ndarray,
    bound: np.ndarray,
    smooth: np.ndarray,
) -> None:
    """Bounds alpha_k c_k of all topics, the counts down to which they hold, and the sums of the last part."""
    total = 0.0
    for topic in range(masses.shape[0]):
        tokens = in_part[topic]
        least[topic] = max(0.0, tokens - np.floor(min(SLACK + SHARE * tokens, MOST * (part_prior + tokens))))
        bound[topic] = alpha[topic] * masses[topic] / (part_prior + least[topic])
        total += prior * bound[topic]
        smooth[topic] = total


@numba.njit(cache=True, error_model="numpy", inline="always")
def _change(
    topic: np.int64,
    by: np.float32,
    numbers: np.ndarray,
    products: np.ndarray,
    scale: np.ndarray,
    in_part: np.ndarray,
    masses: np.ndarray,
    part_prior: float,
    prior: np.float32,
) -> None:
    """Take a token out of a topic's counts, or add one."""
    numbers[topic] += by
    in_part[topic] += by
    scale[topic] = np.float32(masses[topic] / (part_prior + in_part[topic]))
    products[topic] = scale[topic] * (prior + numbers[topic])


@numba.njit(cache=True, error_model="numpy", inline="always")
def _ask_for(begin: np.int64, topics: np.ndarray, numbers: np.ndarray) -> None:
    """Have the processor fetch the first vectors of a document's list."""
    for block in range(NEAR):
        prefetch(topics, begin + block * LANES)
        prefetch(numbers, begin + block * LANES)


@numba.njit(cache=True, error_model="numpy", inline="always")
def _sweep_visit(
    first: int,
    last: int,
    rows: np.ndarray,
    entries: np.ndarray,
    begins: np.ndarray,
    blocks: np.ndarray,
    topics: np.ndarray,
    numbers: np.ndarray,
    row: int,
    size: int,
    row_topics: np.ndarray,
    row_counts: np.ndarray,
    visit_topics: np.ndarray,
    visit_priors: np.ndarray,
    word_numbers: np.ndarray,
    products: np.ndarray,
    scale: np.ndarray,
    sums: np.ndarray,
    upto: np.ndarray,
    in_part: np.ndarray,
    masses: np.ndarray,
    part_prior: float,
    alpha: np.ndarray,
    prior: float,
    least: np.ndarray,
    bound: np.ndarray,
    smooth: np.ndarray,
    stream: np.uint64,
) -> np.uint64:
    """Draw the tokens of a visit, which were taken out of the word's list; returns the stream after it."""
    small = np.float32(prior)
    of_word = word_sums(row, size, row_topics, row_counts, bound, upto)
    held, priors = read_lanes(visit_topics), read_lanes(visit_priors)
    for token in range(first, last):
        _ask_for(begins[rows[min(token + AHEAD, rows.shape[0] - 1)]], topics, numbers)
        document, own, at = rows[token], entries[token], token - first
        topic = np.int64(topics[own])
        priors = with_lane(priors, at, np.float32(0.0))
        _change(topic, -_ONE, word_numbers, products, scale, in_part, masses, part_prior, small)
        begin, drawn, renew = begins[document], np.int64(-1), in_part[topic] < least[topic]
        while drawn < 0:
            if renew:
                set_bounds(in_part, masses, part_prior, alpha, prior, least, bound, smooth)
                of_word = word_sums(row, size, row_topics, row_counts, bound, upto)
            drawn, stream = draw(
                begin, blocks[document], topics, numbers, own, products, sums, held, priors, scale,
                of_word, upto, row_topics, row, size, smooth, alpha, bound, stream,
            )  # fmt: skip
            renew = True  # if it goes on
        entry = list_entry(topics, numbers, begin, blocks[document], np.int32(drawn), own - begin)
        blocks[document] = max(blocks[document], entry // LANES + 1)
        entry += begin
        topics[entry], entries[token] = drawn, entry
        add_in_vector(numbers, own, -_ONE)
        add_in_vector(numbers, entry, _ONE)
        held, priors = with_lane(held, at, np.int32(drawn)), with_lane(priors, at, np.float32(alpha[drawn]))
        _change(drawn, _ONE, word_numbers, products, scale, in_part, masses, part_prior, small)
    write_lanes(visit_topics, held)
    return stream


@numba.njit(cache=True, error_model="numpy")
def _sweep_words(
    first_word: int,
    last_word: int,
    of_tokens: tuple,
    of_words: tuple,
    of_part: tuple,
    work: tuple,
    part_prior: float,
    prior: float,
    stream: np.uint64,
) -> None:
    """As `sweep_group`, with its work space."""
    offsets, rows, entries, begins, blocks, topics, numbers = uncounted(of_tokens)
    vocabulary, row_begins, row_topics, row_counts, row_sizes = uncounted(of_words)
    in_part, masses, alpha = uncounted(of_part)
    (
        least, bound, smooth, scale, products, word_numbers, place, upto, sums, visit_topics, visit_priors
    ) = uncounted(work)  # fmt: skip
    num_topics, small, renewed = masses.shape[0], np.float32(prior), -(2**62)
    for item in range(first_word, last_word):
        word = vocabulary[item]
        row, size, end = row_begins[word], int(row_sizes[word]), offsets[item + 1]
        if offsets[item] == end:
            continue
        open_word(row, size, row_topics, row_counts, place, word_numbers, products, scale, small)
        for first in range(offsets[item], end, VISIT):
            last = min(first + VISIT, end)
            if first - renewed > max(RENEWED, num_topics):
                set_bounds(in_part, masses, part_prior, alpha, prior, least, bound, smooth)
                renewed = first
            visit: tuple = (row_topics, row_counts, place)
            of_visit: tuple = (alpha, visit_topics, visit_priors)
            size = take_out(first, last, entries, topics, row, size, *visit, *of_visit)
            stream = _sweep_visit(
                first, last, rows, entries, begins, blocks, topics, numbers, row, size, row_topics,
                row_counts, visit_topics, visit_priors, word_numbers, products, scale, sums, upto, in_part,
                masses, part_prior, alpha, prior, least, bound, smooth, stream,
            )  # fmt: skip
            size = put_back(last - first, visit_topics, row, size, *visit)
        row_sizes[word] = size
        close_word(row, size, row_topics, word_numbers, products, scale, small)


@numba.njit(cache=True, error_model="numpy")
def sweep_group(
    first_word: int,
    last_word: int,
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
    in_part: np.ndarray,
    masses: np.ndarray,
    part_prior: float,
    alpha: np.ndarray,
    prior: float,
    stream: np.uint64,
) -> None:
    """Sweep over a group's tokens of the words from ``first_word`` to ``last_word`` of the vocabulary."""
    num_topics, small = masses.shape[0], np.float32(prior)
    least, bound, smooth = np.empty(num_topics), np.empty(num_topics), np.empty(num_topics)
    scale = (masses / (part_prior + in_part[:num_topics])).astype(np.float32)
    products, word_numbers = scale * small, np.zeros(num_topics, np.float32)
    place, upto = np.zeros(num_topics, np.int64), np.empty(num_topics)
    sums = np.empty(num_topics + 2 * LANES, np.float32)
    of_visit: tuple = (np.zeros(VISIT, np.int32), np.zeros(VISIT, np.float32))
    of_tokens: tuple = (offsets, rows, entries, begins, blocks, topics, numbers)
    of_words: tuple = (vocabulary, row_begins, row_topics, row_counts, row_sizes)
    work: tuple = (least, bound, smooth, scale, products, word_numbers, place, upto, sums, *of_visit)
    of_part: tuple = (in_part, masses, alpha)
    _sweep_words(first_word, last_word, of_tokens, of_words, of_part, work, part_prior, prior, stream)
