"""Draws of the tokens of two groups of documents, the large topics by vectors and the small ones by sets.

As LDA's kernel of two groups, which says why there are two, and of which the draws of large topics are. The
place after the large topics stands for all small ones together (see `_small_topics`, for ``tables`` and
``small`` too); where it is drawn, one of them is.
"""

import numba
import numpy as np

from geodrift.kernels._random_streams import next_word, open_member
from geodrift.kernels._set_sums import sum_of_products, sum_of_triples
from geodrift.kernels._uncounted import uncounted
from geodrift.kernels._vector_draw import set_entry
from geodrift.models.hierarchical_dirichlet_process.sampler._small_topics import (
    Real,
    Whole,
    draw_small,
    move_small,
    small_shares,
)
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._kernel import (
    add,
    draw_topic,
    next_row,
    remove,
    scales,
)


@numba.njit(cache=True, error_model="numpy", inline="always")
def _take(
    token: tuple, topic: Whole, large: Whole, own: np.ndarray, tables: tuple, of_part: tuple, prior: Real
) -> float:
    """Take a token out of the counts; returns what the sum of the small topics' shares gains."""
    word, row, at = token
    group, small = of_part
    gain = 0.0
    if topic < large:
        remove(topic, at, own, tables[0], group, prior)
    else:
        # The number as a literal would compile the function for -1 and for 1.
        gain = move_small(np.int64(-1), topic - large, word, row, at + topic, tables, small, prior)
    return gain


@numba.njit(cache=True, error_model="numpy", inline="always")
def _weigh_small(
    token: tuple, large: Whole, rest: Real, tables: tuple, flat: tuple, of_part: tuple, eta: np.float32
) -> np.float32:
    """The small topics' weight times (eta + N_kw); over eta and the count of its place it is set there."""
    word, row, at = token
    (_, _, _, _, weights, _), (_, _, _, scale, shares) = of_part
    word_topic, of_words, _, in_small = tables
    word_sets, row_sets, row_counts = flat
    sets, number = of_words.shape[1], in_small.shape[1]
    whole = np.float32(eta * rest)
    whole += sum_of_products(word_sets, word * sets, sets, shares, word_topic, at + large)
    whole += sum_of_triples(
        row_sets, row * sets, sets, scale, row_counts, row * number, word_topic, at + large, eta
    )
    set_entry(weights, large, whole / (eta + np.float32(word_topic[at + large])))
    return whole


@numba.njit(cache=True, error_model="numpy", inline="always")
def _put(
    token: tuple,
    topic: Whole,
    whole: np.float32,
    large: Whole,
    own: np.ndarray,
    tables: tuple,
    of_part: tuple,
    prior: Real,
    eta: np.float32,
    stream: np.uint64,
) -> tuple[Whole, Real, np.uint64]:
    """Add a token to the counts; where ``topic`` is the place after the large ones, of a small one.

    Returns:
        Its topic, what the sum of the small topics' shares gains, and the stream.
    """
    word, row, at = token
    group, small = of_part
    gain = 0.0
    if topic < large:
        add(topic, at, own, tables[0], group, prior)
    else:
        bits, stream = next_word(stream)
        drawn = draw_small(bits, whole, word, row, at + large, tables, small, eta)
        topic = large + drawn
        gain = move_small(np.int64(1), drawn, word, row, at + topic, tables, small, prior)
    return topic, gain, stream


@numba.njit(cache=True, error_model="numpy")
def _finish_group(
    row: Whole,
    i: Whole,
    end: Whole,
    last_row: Whole,
    part: Whole,
    large: Whole,
    of_tokens: tuple,
    tables: tuple,
    flat: tuple,
    of_part: tuple,
    rest: Real,
    prior: Real,
    eta: np.float32,
    stream: np.uint64,
) -> None:
    """Sweep the rest of one group, from token ``i`` of ``row`` on."""
    places, words, topics, in_documents = uncounted(of_tokens)
    tables, flat, of_part = uncounted(tables), uncounted(flat), (uncounted(of_part[0]), uncounted(of_part[1]))
    group, _ = of_part
    in_part, _, scale, _, weights, _ = group
    stride = in_part.shape[0]
    while row < last_row:
        own = in_documents[row]
        for place in range(i, end):
            word, topic = np.int64(words[place]), np.int64(topics[place])
            token = (word, row, word * stride)
            rest += _take(token, topic, large, own, tables, of_part, prior)
            whole = _weigh_small(token, large, rest, tables, flat, of_part, eta)
            bits, stream = next_word(stream)
            topic = draw_topic(word * stride, bits, tables[0], group, eta, large + 1, None)
            topic, gain, stream = _put(token, topic, whole, large, own, tables, of_part, prior, eta, stream)
            rest += gain
            topics[place] = topic
        row, i, end = next_row(row + 1, last_row, part, places, in_documents, scale, weights)


@numba.njit(cache=True, error_model="numpy")
def _sweep_in_turn(
    rows_a: tuple,
    rows_b: tuple,
    large: Whole,
    of_tokens: tuple,
    tables: tuple,
    flat: tuple,
    of_part_a: tuple,
    of_part_b: tuple,
    rests: tuple,
    priors: tuple,
    eta: np.float32,
    streams: tuple,
) -> None:
    """A token of the one group and one of the other, as long as both have any; then the rest of one.

    ``rows_a`` and ``rows_b`` are a group's first row, the one after its last, and its part.
    """
    places, words, topics, in_documents = uncounted(of_tokens)
    counts, bits_of = uncounted(tables), uncounted(flat)
    a = (uncounted(of_part_a[0]), uncounted(of_part_a[1]))
    b = (uncounted(of_part_b[0]), uncounted(of_part_b[1]))
    (in_part, _, scale_a, _, weights_a, _), (_, _, scale_b, _, weights_b, _) = a[0], b[0]
    (first_a, last_a, part_a), (first_b, last_b, part_b) = rows_a, rows_b
    (prior_a, prior_b), (rest_a, rest_b), (stream_a, stream_b) = priors, rests, streams
    stride = in_part.shape[0]
    row_a, i, end_a = next_row(first_a, last_a, part_a, places, in_documents, scale_a, weights_a)
    row_b, j, end_b = next_row(first_b, last_b, part_b, places, in_documents, scale_b, weights_b)
    while row_a < last_a and row_b < last_b:
        own_a, own_b = in_documents[row_a], in_documents[row_b]
        for _ in range(min(end_a - i, end_b - j)):
            word_a, word_b = np.int64(words[i]), np.int64(words[j])
            at_a, at_b = word_a * stride, word_b * stride
            token_a, token_b = (word_a, row_a, at_a), (word_b, row_b, at_b)
            rest_a += _take(token_a, np.int64(topics[i]), large, own_a, counts, a, prior_a)
            rest_b += _take(token_b, np.int64(topics[j]), large, own_b, counts, b, prior_b)
            whole_a = _weigh_small(token_a, large, rest_a, counts, bits_of, a, eta)
            whole_b = _weigh_small(token_b, large, rest_b, counts, bits_of, b, eta)
            bits_a, stream_a = next_word(stream_a)
            bits_b, stream_b = next_word(stream_b)
            topic_a = draw_topic(at_a, bits_a, counts[0], a[0], eta, large + 1, None)
            topic_b = draw_topic(at_b, bits_b, counts[0], b[0], eta, large + 1, None)
            topic_a, gain_a, stream_a = _put(
                token_a, topic_a, whole_a, large, own_a, counts, a, prior_a, eta, stream_a
            )
            topic_b, gain_b, stream_b = _put(
                token_b, topic_b, whole_b, large, own_b, counts, b, prior_b, eta, stream_b
            )
            rest_a, rest_b = rest_a + gain_a, rest_b + gain_b
            topics[i], topics[j] = topic_a, topic_b
            i, j = i + 1, j + 1
        if i == end_a:
            row_a, i, end_a = next_row(row_a + 1, last_a, part_a, places, in_documents, scale_a, weights_a)
        if j == end_b:
            row_b, j, end_b = next_row(row_b + 1, last_b, part_b, places, in_documents, scale_b, weights_b)
    common = (large, of_tokens, tables, flat)
    _finish_group(row_a, i, end_a, last_a, part_a, *common, of_part_a, rest_a, prior_a, eta, stream_a)
    _finish_group(row_b, j, end_b, last_b, part_b, *common, of_part_b, rest_b, prior_b, eta, stream_b)


@numba.njit(cache=True, error_model="numpy")
def _of_part(
    in_part: np.ndarray, masses: np.ndarray, prior: Real, alpha: np.ndarray, large: Whole, size: Whole
) -> tuple:
    """A group's arrays as LDA's, those of the small topics, and the sum of these topics' shares."""
    scale, next_scale = scales(masses, in_part, prior, in_part.shape[0])
    shares = small_shares(large, scale, alpha)
    small = (in_part[large:], masses[large:], alpha[large:], scale[large:], shares)
    total, weights = np.float64(0.0), np.zeros(size, np.float32)
    for topic in range(shares.shape[0]):
        total += np.float64(shares[topic])
    return (in_part, masses, scale, next_scale, weights, np.empty(size, np.float32)), small, total


@numba.njit(cache=True, error_model="numpy")
def sweep_two_groups(
    pair: Whole,
    phase: Whole,
    of_tokens: tuple,
    large: Whole,
    tables: tuple,
    alpha: np.ndarray,
    eta: np.float32,
    of_parts: tuple,
    family: np.uint64,
) -> None:
    """One phase of two groups, a and b.

    Args:
        pair: Number of the pair of groups.
        phase: Number of the phase.
        of_tokens: Places of each document's tokens of each part, their words and topics, and alpha_k + n_dk
            of the large topics and zeros up to whole vectors.
        large: The number of large topics.
        tables: Those of `move_small`; N_kw is of all topics, in rows as long as those of N_kb.
        alpha: Of all topics.
        eta: Each word's Dirichlet parameter.
        of_parts: N_kb, rho and V_b eta of all parts.
        family: Of the random streams of the sweeps.
    """
    places, in_documents, (in_parts, all_masses, part_priors) = of_tokens[0], of_tokens[3], of_parts
    num_rows, num_parts, size = places.shape[0], places.shape[1] - 1, in_documents.shape[1]
    a, b = 2 * pair, min(2 * pair + 1, num_parts)  # the latter may have no documents
    part_a, part_b = (a + phase) % num_parts, (b + phase) % num_parts
    rows_a = (a * num_rows // num_parts, (a + 1) * num_rows // num_parts, part_a)
    rows_b = (b * num_rows // num_parts, min(b + 1, num_parts) * num_rows // num_parts, part_b)
    prior_a, prior_b = part_priors[part_a], part_priors[part_b]
    of_part_a = _of_part(in_parts[part_a], all_masses[part_a], prior_a, alpha, large, size)
    of_part_b = _of_part(in_parts[part_b], all_masses[part_b], prior_b, alpha, large, size)
    rests = (of_part_a[2], of_part_b[2])
    streams = open_member(family, phase * num_parts + a), open_member(family, phase * num_parts + b)
    flat = (tables[1].reshape(-1), tables[2].reshape(-1), tables[3].reshape(-1))
    common = (large, of_tokens, tables, flat, of_part_a[:2], of_part_b[:2])
    _sweep_in_turn(rows_a, rows_b, *common, rests, (prior_a, prior_b), eta, streams)
