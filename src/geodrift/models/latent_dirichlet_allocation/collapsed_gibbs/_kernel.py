"""Collapsed Gibbs draws of the tokens of two groups of documents, compiled; see `_sweeps` for what is drawn.

Each draw needs the result of the one before it in its group, so a thread that sweeps one group mostly waits.
Each thread therefore sweeps two groups, a token of the one and a token of the other in turn: the processor
works on one draw while it waits for the other (about 1.5 times as many draws a second, the same draws).

A ``group`` of these functions is a tuple of arrays of one number for each topic: N_kb and rho_kb of the part
that it has at present, ``scale`` rho_kb / (V_b eta + N_kb) and ``next_scale`` with one token more,
``weights`` (alpha_k + n_dk) scale of the present document, and work space.
"""

import numba
import numpy as np

from geodrift.kernels._random_streams import next_word, open_member
from geodrift.kernels._uncounted import uncounted
from geodrift.kernels._vector_draw import LANES, draw_place, last_place, set_entry

Whole = int | np.integer
Real = float | np.floating
_TO_UNIT, _ONE_BIT = np.float32(2.0**-63), np.uint64(1)
_ONE = np.float32(1.0)


@numba.njit(cache=True, error_model="numpy")
def scales(
    masses: np.ndarray, in_part: np.ndarray, part_prior: Real, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """rho_kb / (V_b eta + N_kb) of each topic, at the present counts and with one token more."""
    scale, next_scale = np.zeros(size, np.float32), np.zeros(size, np.float32)
    for topic in range(masses.shape[0]):
        scale[topic] = masses[topic] / (part_prior + in_part[topic])
        next_scale[topic] = masses[topic] / (part_prior + in_part[topic] + 1.0)
    return scale, next_scale


@numba.njit(cache=True, error_model="numpy")
def next_row(
    row: int,
    last_row: int,
    part: int,
    places: np.ndarray,
    in_documents: np.ndarray,
    scale: np.ndarray,
    weights: np.ndarray,
) -> tuple[int, int, int]:
    """The next document from ``row`` on that has tokens of the part; its weights are written to ``weights``.

    Returns:
        Its row, and the places of its first token of the part and of the token after the last.
    """
    while row < last_row:
        if places[row, part] < places[row, part + 1]:
            for topic in range(weights.shape[0]):
                weights[topic] = in_documents[row, topic] * scale[topic]
            return row, places[row, part], places[row, part + 1]
        row += 1
    return row, 0, 0


@numba.njit(cache=True, error_model="numpy", inline="always")
def remove(
    topic: Whole, begin: Whole, numbers: np.ndarray, word_topic: np.ndarray, group: tuple, prior: Real
) -> None:
    """Take a token that is to be drawn out of the counts; ``prior`` is V_b eta."""
    in_part, masses, scale, next_scale, weights, _ = group
    numbers[topic] -= _ONE
    word_topic[begin + topic] -= 1
    in_part[topic] -= 1.0
    next_scale[topic] = scale[topic]
    scale[topic] = masses[topic] / (prior + in_part[topic])
    set_entry(weights, topic, numbers[topic] * scale[topic])


@numba.njit(cache=True, error_model="numpy", inline="always")
def draw_topic(
    begin: Whole,
    bits: np.uint64,
    word_topic: np.ndarray,
    group: tuple,
    eta: np.float32,
    last: Whole,
    power: np.float32 | None,
) -> np.int64:
    """Draw one of ``last`` topics: its probability is as its weight times (eta + N_kw), to a power."""
    _, _, _, _, weights, sums = group
    unit = np.float32(np.int64(bits >> _ONE_BIT)) * _TO_UNIT
    blocks = weights.shape[0] // LANES
    topic = np.int64(draw_place(weights, word_topic, begin, eta, blocks, unit, sums, power))
    if not weights[topic] > 0.0:
        topic = np.int64(last_place(weights, word_topic, begin, eta, unit, last))
    return topic


@numba.njit(cache=True, error_model="numpy", inline="always")
def add(
    topic: Whole, begin: Whole, numbers: np.ndarray, word_topic: np.ndarray, group: tuple, prior: Real
) -> None:
    """Add a token that has been drawn to the counts; ``prior`` is V_b eta."""
    in_part, masses, scale, next_scale, weights, _ = group
    numbers[topic] += _ONE
    word_topic[begin + topic] += 1
    in_part[topic] += 1.0
    scale[topic] = next_scale[topic]
    set_entry(weights, topic, numbers[topic] * scale[topic])
    next_scale[topic] = masses[topic] / (prior + in_part[topic] + 1.0)


@numba.njit(cache=True, error_model="numpy")
def _finish_group(
    row: int,
    i: int,
    end: int,
    last_row: int,
    part: int,
    of_tokens: tuple,
    group: tuple,
    prior: float,
    eta: np.float32,
    power: np.float32,
    stream: np.uint64,
) -> None:
    """Sweep the rest of one group, from token ``i`` of ``row`` on."""
    places, words, topics, in_documents, word_topic = uncounted(of_tokens)
    group = uncounted(group)
    _, masses, scale, _, weights, _ = group
    size, num_topics = weights.shape[0], masses.shape[0]
    while row < last_row:
        numbers = in_documents[row]
        for token in range(i, end):
            begin, topic = np.int64(words[token]) * size, np.int64(topics[token])
            remove(topic, begin, numbers, word_topic, group, prior)
            bits, stream = next_word(stream)
            topic = draw_topic(begin, bits, word_topic, group, eta, num_topics, power)
            add(topic, begin, numbers, word_topic, group, prior)
            topics[token] = topic
        row, i, end = next_row(row + 1, last_row, part, places, in_documents, scale, weights)


@numba.njit(cache=True, error_model="numpy")
def _sweep_in_turn(
    rows_a: tuple,
    rows_b: tuple,
    of_tokens: tuple,
    group_a: tuple,
    group_b: tuple,
    priors: tuple,
    eta: np.float32,
    power: np.float32,
    streams: tuple,
) -> None:
    """A token of the one group and one of the other, as long as both have any; then the rest of one.

    ``rows_a`` and ``rows_b`` are a group's first row, the one after its last, and its part.
    """
    places, words, topics, in_documents, word_topic = uncounted(of_tokens)
    a, b = uncounted(group_a), uncounted(group_b)
    _, masses_a, scale_a, _, weights_a, _ = a
    _, _, scale_b, _, weights_b, _ = b
    (first_a, last_a, part_a), (first_b, last_b, part_b) = rows_a, rows_b
    (prior_a, prior_b), (stream_a, stream_b) = priors, streams
    size, num_topics = weights_a.shape[0], masses_a.shape[0]
    row_a, i, end_a = next_row(first_a, last_a, part_a, places, in_documents, scale_a, weights_a)
    row_b, j, end_b = next_row(first_b, last_b, part_b, places, in_documents, scale_b, weights_b)
    while row_a < last_a and row_b < last_b:
        of_a, of_b = in_documents[row_a], in_documents[row_b]
        for _ in range(min(end_a - i, end_b - j)):
            at_a, at_b = np.int64(words[i]) * size, np.int64(words[j]) * size
            topic_a, topic_b = np.int64(topics[i]), np.int64(topics[j])
            remove(topic_a, at_a, of_a, word_topic, a, prior_a)
            remove(topic_b, at_b, of_b, word_topic, b, prior_b)
            bits_a, stream_a = next_word(stream_a)
            bits_b, stream_b = next_word(stream_b)
            topic_a = draw_topic(at_a, bits_a, word_topic, a, eta, num_topics, power)
            topic_b = draw_topic(at_b, bits_b, word_topic, b, eta, num_topics, power)
            add(topic_a, at_a, of_a, word_topic, a, prior_a)
            add(topic_b, at_b, of_b, word_topic, b, prior_b)
            topics[i], topics[j] = topic_a, topic_b
            i, j = i + 1, j + 1
        if i == end_a:
            row_a, i, end_a = next_row(row_a + 1, last_a, part_a, places, in_documents, scale_a, weights_a)
        if j == end_b:
            row_b, j, end_b = next_row(row_b + 1, last_b, part_b, places, in_documents, scale_b, weights_b)
    _finish_group(row_a, i, end_a, last_a, part_a, of_tokens, group_a, prior_a, eta, power, stream_a)
    _finish_group(row_b, j, end_b, last_b, part_b, of_tokens, group_b, prior_b, eta, power, stream_b)


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
    eta: np.float32,
    power: np.float32,
    family: np.uint64,
) -> None:
    """One phase of two groups, a and b."""
    num_rows, num_parts, size = places.shape[0], places.shape[1] - 1, in_parts.shape[1]
    a, b = 2 * pair, min(2 * pair + 1, num_parts)  # the latter may have no documents
    part_a, part_b = (a + phase) % num_parts, (b + phase) % num_parts
    rows_a = (a * num_rows // num_parts, (a + 1) * num_rows // num_parts, part_a)
    rows_b = (b * num_rows // num_parts, min(b + 1, num_parts) * num_rows // num_parts, part_b)
    in_a, masses_a, prior_a = in_parts[part_a], all_masses[part_a], part_priors[part_a]
    in_b, masses_b, prior_b = in_parts[part_b], all_masses[part_b], part_priors[part_b]
    work = np.empty((4, size), np.float32)
    group_a: tuple = (in_a, masses_a, *scales(masses_a, in_a, prior_a, size), work[0], work[1])
    group_b: tuple = (in_b, masses_b, *scales(masses_b, in_b, prior_b, size), work[2], work[3])
    streams = open_member(family, phase * num_parts + a), open_member(family, phase * num_parts + b)
    of_tokens: tuple = (places, words, topics, in_documents, word_topic)
    _sweep_in_turn(rows_a, rows_b, of_tokens, group_a, group_b, (prior_a, prior_b), eta, power, streams)
