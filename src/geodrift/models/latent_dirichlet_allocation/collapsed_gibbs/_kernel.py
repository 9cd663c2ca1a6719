"""Collapsed Gibbs draws of the tokens of two groups of documents, compiled; see `_sweeps` for what is drawn.

Each draw needs the result of the one before it in its group, so a thread that sweeps one group mostly waits.
Each thread therefore sweeps two groups, a token of the one and a token of the other in turn: the processor
works on one draw while it waits for the other (about 1.5 times as many draws a second, the same draws).

Where a row is taken out of an array, or an array is given to a function with a loop, numba counts references,
each by an instruction for which the processor stops. So what happens at every token, or at every document,
has whole arrays and places in them.
"""

import numba
import numpy as np

from geodrift.kernels._random_streams import next_word, open_member
from geodrift.kernels._vector_draw import (
    LANES,
    draw_place,
    last_place,
    scaled_row,
    set_entry,
)

_TO_UNIT, _ONE_BIT = np.float32(2.0**-63), np.uint64(1)
_ONE = np.float32(1.0)


@numba.njit(cache=True, error_model="numpy")
def scales(
    masses: np.ndarray, in_part: np.ndarray, part_prior: float, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """rho_kb / (V_b eta + N_kb) of each topic, at the present counts and with one token more."""
    scale, next_scale = np.zeros(size, np.float32), np.zeros(size, np.float32)
    for topic in range(masses.shape[0]):
        scale[topic] = masses[topic] / (part_prior + in_part[topic])
        next_scale[topic] = masses[topic] / (part_prior + in_part[topic] + 1.0)
    return scale, next_scale


@numba.njit(cache=True, error_model="numpy", inline="always")
def remove(
    topic: np.int64,
    begin: np.int64,
    place: np.int64,
    numbers: np.ndarray,
    word_topic: np.ndarray,
    in_part: np.ndarray,
    masses: np.ndarray,
    part_prior: float,
    scale: np.ndarray,
    next_scale: np.ndarray,
    weights: np.ndarray,
) -> None:
    """Take a token that is to be drawn out of the counts."""
    numbers[place + topic] -= _ONE
    word_topic[begin + topic] -= 1
    in_part[topic] -= 1.0
    next_scale[topic] = scale[topic]
    scale[topic] = masses[topic] / (part_prior + in_part[topic])
    set_entry(weights, topic, numbers[place + topic] * scale[topic])


@numba.njit(cache=True, error_model="numpy", inline="always")
def add(
    topic: np.int64,
    begin: np.int64,
    place: np.int64,
    numbers: np.ndarray,
    word_topic: np.ndarray,
    in_part: np.ndarray,
    masses: np.ndarray,
    part_prior: float,
    scale: np.ndarray,
    next_scale: np.ndarray,
    weights: np.ndarray,
) -> None:
    """Add a token that has been drawn to the counts."""
    numbers[place + topic] += _ONE
    word_topic[begin + topic] += 1
    in_part[topic] += 1.0
    scale[topic] = next_scale[topic]
    set_entry(weights, topic, numbers[place + topic] * scale[topic])
    next_scale[topic] = masses[topic] / (part_prior + in_part[topic] + 1.0)


@numba.njit(cache=True, error_model="numpy")
def _finish_group(
    row: int | np.integer,
    i: int | np.integer,
    end: int | np.integer,
    last_row: int,
    part: int,
    places: np.ndarray,
    words: np.ndarray,
    topics: np.ndarray,
    numbers: np.ndarray,
    word_topic: np.ndarray,
    in_part: np.ndarray,
    masses: np.ndarray,
    part_prior: float,
    scale: np.ndarray,
    next_scale: np.ndarray,
    weights: np.ndarray,
    sums: np.ndarray,
    prior: np.float32,
    stream: np.uint64,
) -> None:
    """Sweep the rest of one group, from token ``i`` of ``row`` on."""
    size, num_topics = weights.shape[0], masses.shape[0]
    blocks = size // LANES
    while row < last_row:
        own = np.int64(row) * size
        for token in range(i, end):
            begin, topic = np.int64(words[token]) * size, np.int64(topics[token])
            remove(
                topic, begin, own, numbers, word_topic, in_part, masses, part_prior, scale, next_scale,
                weights,
            )  # fmt: skip
            bits, stream = next_word(stream)
            unit = np.float32(np.int64(bits >> _ONE_BIT)) * _TO_UNIT
            topic = draw_place(weights, word_topic, begin, prior, blocks, unit, sums)
            if not weights[topic] > 0.0:
                topic = last_place(weights, word_topic, begin, prior, unit, num_topics)
            add(
                topic,
                begin,
                own,
                numbers,
                word_topic,
                in_part,
                masses,
                part_prior,
                scale,
                next_scale,
                weights,
            )
            topics[token] = topic
        row += 1
        while row < last_row and places[row, part] == places[row, part + 1]:
            row += 1
        if row < last_row:
            i, end = places[row, part], places[row, part + 1]
            scaled_row(weights, numbers, np.int64(row) * size, scale, blocks)


@numba.njit(cache=True, error_model="numpy")
def sweep_two_groups(
    pair: int,
    phase: int,
    places: np.ndarray,
    words: np.ndarray,
    topics: np.ndarray,
    in_documents: np.ndarray,
    word_topic: np.ndarray,
    in_parts: np.ndarray,
    all_masses: np.ndarray,
    part_priors: np.ndarray,
    prior: np.float32,
    family: np.uint64,
) -> None:
    """One phase of two groups, a token of the one (a) and a token of the other (b) in turn."""
    # Each array has a variable of its own: where the loop takes an array out of a tuple or of a larger array,
    # numba counts its references at every token.
    num_rows, num_parts = places.shape[0], places.shape[1] - 1
    size, num_topics = in_parts.shape[1], all_masses.shape[1]
    blocks = size // LANES
    group_a, group_b = 2 * pair, min(2 * pair + 1, num_parts)  # the latter may have no documents
    part_a, part_b = (group_a + phase) % num_parts, (group_b + phase) % num_parts
    last_a = (group_a + 1) * num_rows // num_parts
    last_b = min(group_b + 1, num_parts) * num_rows // num_parts
    in_a, masses_a, prior_a = in_parts[part_a], all_masses[part_a], part_priors[part_a]
    in_b, masses_b, prior_b = in_parts[part_b], all_masses[part_b], part_priors[part_b]
    scale_a, next_a = scales(masses_a, in_a, prior_a, size)
    scale_b, next_b = scales(masses_b, in_b, prior_b, size)
    weights_a, sums_a = np.empty(size, np.float32), np.empty(size, np.float32)
    weights_b, sums_b = np.empty(size, np.float32), np.empty(size, np.float32)
    stream_a = open_member(family, phase * num_parts + group_a)
    stream_b = open_member(family, phase * num_parts + group_b)
    first_a, first_b = group_a * num_rows // num_parts, group_b * num_rows // num_parts
    numbers = in_documents.reshape(-1)
    row_a, i, end_a, own_a = first_a - 1, np.int64(0), np.int64(0), np.int64(0)
    row_b, j, end_b, own_b = first_b - 1, np.int64(0), np.int64(0), np.int64(0)
    while True:
        # The next document that has tokens of the part, and its topics' weights (alpha_k + n_dk) s_kb.
        if i == end_a:
            row_a += 1
            while row_a < last_a and places[row_a, part_a] == places[row_a, part_a + 1]:
                row_a += 1
            if row_a < last_a:
                i, end_a, own_a = places[row_a, part_a], places[row_a, part_a + 1], np.int64(row_a) * size
                scaled_row(weights_a, numbers, own_a, scale_a, blocks)
        if j == end_b:
            row_b += 1
            while row_b < last_b and places[row_b, part_b] == places[row_b, part_b + 1]:
                row_b += 1
            if row_b < last_b:
                j, end_b, own_b = places[row_b, part_b], places[row_b, part_b + 1], np.int64(row_b) * size
                scaled_row(weights_b, numbers, own_b, scale_b, blocks)
        if row_a >= last_a or row_b >= last_b:
            break
        for _ in range(min(end_a - i, end_b - j)):
            at_a, at_b = np.int64(words[i]) * size, np.int64(words[j]) * size
            topic_a, topic_b = np.int64(topics[i]), np.int64(topics[j])
            remove(
                topic_a, at_a, own_a, numbers, word_topic, in_a, masses_a, prior_a, scale_a, next_a,
                weights_a,
            )  # fmt: skip
            remove(
                topic_b, at_b, own_b, numbers, word_topic, in_b, masses_b, prior_b, scale_b, next_b,
                weights_b,
            )  # fmt: skip
            bits_a, stream_a = next_word(stream_a)
            bits_b, stream_b = next_word(stream_b)
            unit_a = np.float32(np.int64(bits_a >> _ONE_BIT)) * _TO_UNIT
            topic_a = draw_place(weights_a, word_topic, at_a, prior, blocks, unit_a, sums_a)
            if not weights_a[topic_a] > 0.0:
                topic_a = last_place(weights_a, word_topic, at_a, prior, unit_a, num_topics)
            unit_b = np.float32(np.int64(bits_b >> _ONE_BIT)) * _TO_UNIT
            topic_b = draw_place(weights_b, word_topic, at_b, prior, blocks, unit_b, sums_b)
            if not weights_b[topic_b] > 0.0:
                topic_b = last_place(weights_b, word_topic, at_b, prior, unit_b, num_topics)
            add(
                topic_a, at_a, own_a, numbers, word_topic, in_a, masses_a, prior_a, scale_a, next_a,
                weights_a,
            )  # fmt: skip
            add(
                topic_b, at_b, own_b, numbers, word_topic, in_b, masses_b, prior_b, scale_b, next_b,
                weights_b,
            )  # fmt: skip
            topics[i], topics[j] = topic_a, topic_b
            i, j = i + 1, j + 1
    common = (places, words, topics, numbers, word_topic)
    rest_a: tuple = (in_a, masses_a, prior_a, scale_a, next_a, weights_a, sums_a, prior, stream_a)
    rest_b: tuple = (in_b, masses_b, prior_b, scale_b, next_b, weights_b, sums_b, prior, stream_b)
    _finish_group(row_a, i, end_a, last_a, part_a, *common, *rest_a)
    _finish_group(row_b, j, end_b, last_b, part_b, *common, *rest_b)
