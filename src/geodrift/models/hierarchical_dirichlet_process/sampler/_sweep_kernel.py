"""Draws of the tokens of two groups of documents, the large topics by vectors and the small ones by sets.

As LDA's kernel of two groups, which says why there are two. The place after
the large topics stands for all small ones together (see `_small_topics`); where it is drawn, one of them is.
What a token needs of these is written out where it is used: a function that is inlined with its arrays counts
their references at every token.
"""

import numba
import numpy as np

from geodrift.kernels._random_streams import next_word, open_member
from geodrift.kernels._set_sums import sum_of_products, sum_of_triples
from geodrift.kernels._vector_draw import LANES, draw_place, last_place, scaled_row, set_entry
from geodrift.models.hierarchical_dirichlet_process.sampler._finish_kernel import finish_group
from geodrift.models.hierarchical_dirichlet_process.sampler._small_topics import (
    Whole,
    draw_small,
    move_small,
    small_shares,
)
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._kernel import scales

_TO_UNIT, _ONE, _ONE_BIT = np.float32(2.0**-63), np.float32(1.0), np.uint64(1)


@numba.njit(cache=True, error_model="numpy")
def sweep_two_groups(
    pair: Whole,
    phase: Whole,
    places: np.ndarray,
    words: np.ndarray,
    topics: np.ndarray,
    in_documents: np.ndarray,
    word_topic: np.ndarray,
    large: Whole,
    of_words: np.ndarray,
    of_documents: np.ndarray,
    in_small: np.ndarray,
    alpha: np.ndarray,
    eta: np.float32,
    in_parts: np.ndarray,
    all_masses: np.ndarray,
    part_priors: np.ndarray,
    family: np.uint64,
) -> None:
    """One phase of two groups, a token of the one (a) and a token of the other (b) in turn.

    ``in_documents`` has alpha_k + n_dk of the large topics and zeros up to whole vectors, ``word_topic`` N_kw
    of all, in rows as long as those of ``in_parts``.
    """
    num_rows, num_parts = places.shape[0], places.shape[1] - 1
    stride, size = in_parts.shape[1], in_documents.shape[1]
    blocks, sets, num_small = size // LANES, of_words.shape[1], in_small.shape[1]
    word_sets, row_sets, row_counts = of_words.reshape(-1), of_documents.reshape(-1), in_small.reshape(-1)
    group_a, group_b = 2 * pair, min(2 * pair + 1, num_parts)  # the latter may have no documents
    part_a, part_b = (group_a + phase) % num_parts, (group_b + phase) % num_parts
    last_a = (group_a + 1) * num_rows // num_parts
    last_b = min(group_b + 1, num_parts) * num_rows // num_parts
    in_a, masses_a, prior_a = in_parts[part_a], all_masses[part_a], part_priors[part_a]
    in_b, masses_b, prior_b = in_parts[part_b], all_masses[part_b], part_priors[part_b]
    scale_a, next_a = scales(masses_a, in_a, prior_a, stride)
    scale_b, next_b = scales(masses_b, in_b, prior_b, stride)
    small_a, shares_a = scale_a[large:], small_shares(large, scale_a, alpha)
    small_b, shares_b = scale_b[large:], small_shares(large, scale_b, alpha)
    rest_a, rest_b = np.float64(0.0), np.float64(0.0)
    for place in range(shares_a.shape[0]):
        rest_a += np.float64(shares_a[place])
        rest_b += np.float64(shares_b[place])
    of_small_a = (in_a[large:], masses_a[large:], prior_a, alpha[large:])
    of_small_b = (in_b[large:], masses_b[large:], prior_b, alpha[large:])
    weights_a, sums_a = np.zeros(size, np.float32), np.empty(size, np.float32)
    weights_b, sums_b = np.zeros(size, np.float32), np.empty(size, np.float32)
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
            word_a, word_b = np.int64(words[i]), np.int64(words[j])
            at_a, at_b = word_a * stride, word_b * stride
            topic_a, topic_b = np.int64(topics[i]), np.int64(topics[j])
            if topic_a < large:
                numbers[own_a + topic_a] -= _ONE
                word_topic[at_a + topic_a] -= 1
                in_a[topic_a] -= 1.0
                next_a[topic_a] = scale_a[topic_a]
                scale_a[topic_a] = masses_a[topic_a] / (prior_a + in_a[topic_a])
                set_entry(weights_a, topic_a, numbers[own_a + topic_a] * scale_a[topic_a])
            else:
                rest_a += move_small(
                    -1, topic_a - large, word_a, row_a, at_a + topic_a, of_words, of_documents, in_small,
                    word_topic, *of_small_a, small_a, shares_a,
                )  # fmt: skip
            if topic_b < large:
                numbers[own_b + topic_b] -= _ONE
                word_topic[at_b + topic_b] -= 1
                in_b[topic_b] -= 1.0
                next_b[topic_b] = scale_b[topic_b]
                scale_b[topic_b] = masses_b[topic_b] / (prior_b + in_b[topic_b])
                set_entry(weights_b, topic_b, numbers[own_b + topic_b] * scale_b[topic_b])
            else:
                rest_b += move_small(
                    -1, topic_b - large, word_b, row_b, at_b + topic_b, of_words, of_documents, in_small,
                    word_topic, *of_small_b, small_b, shares_b,
                )  # fmt: skip
            whole_a, whole_b = np.float32(eta * rest_a), np.float32(eta * rest_b)
            whole_a += sum_of_products(word_sets, word_a * sets, sets, shares_a, word_topic, at_a + large)
            whole_b += sum_of_products(word_sets, word_b * sets, sets, shares_b, word_topic, at_b + large)
            whole_a += sum_of_triples(
                row_sets, row_a * sets, sets, small_a, row_counts, row_a * num_small, word_topic,
                at_a + large, eta,
            )  # fmt: skip
            whole_b += sum_of_triples(
                row_sets, row_b * sets, sets, small_b, row_counts, row_b * num_small, word_topic,
                at_b + large, eta,
            )  # fmt: skip
            set_entry(weights_a, large, whole_a / (eta + np.float32(word_topic[at_a + large])))
            set_entry(weights_b, large, whole_b / (eta + np.float32(word_topic[at_b + large])))
            bits_a, stream_a = next_word(stream_a)
            bits_b, stream_b = next_word(stream_b)
            unit_a = np.float32(np.int64(bits_a >> _ONE_BIT)) * _TO_UNIT
            topic_a = np.int64(draw_place(weights_a, word_topic, at_a, eta, blocks, unit_a, sums_a))
            if not weights_a[topic_a] > 0.0:
                topic_a = np.int64(last_place(weights_a, word_topic, at_a, eta, unit_a, large + 1))
            unit_b = np.float32(np.int64(bits_b >> _ONE_BIT)) * _TO_UNIT
            topic_b = np.int64(draw_place(weights_b, word_topic, at_b, eta, blocks, unit_b, sums_b))
            if not weights_b[topic_b] > 0.0:
                topic_b = np.int64(last_place(weights_b, word_topic, at_b, eta, unit_b, large + 1))
            if topic_a < large:
                numbers[own_a + topic_a] += _ONE
                word_topic[at_a + topic_a] += 1
                in_a[topic_a] += 1.0
                scale_a[topic_a] = next_a[topic_a]
                set_entry(weights_a, topic_a, numbers[own_a + topic_a] * scale_a[topic_a])
                next_a[topic_a] = masses_a[topic_a] / (prior_a + in_a[topic_a] + 1.0)
            else:
                bits_a, stream_a = next_word(stream_a)
                drawn = draw_small(
                    bits_a, whole_a, word_a, row_a, at_a + large, of_words, of_documents, in_small,
                    word_topic, small_a, shares_a, eta,
                )  # fmt: skip
                topic_a = large + drawn
                rest_a += move_small(
                    1, drawn, word_a, row_a, at_a + topic_a, of_words, of_documents, in_small, word_topic,
                    *of_small_a, small_a, shares_a,
                )  # fmt: skip
            if topic_b < large:
                numbers[own_b + topic_b] += _ONE
                word_topic[at_b + topic_b] += 1
                in_b[topic_b] += 1.0
                scale_b[topic_b] = next_b[topic_b]
                set_entry(weights_b, topic_b, numbers[own_b + topic_b] * scale_b[topic_b])
                next_b[topic_b] = masses_b[topic_b] / (prior_b + in_b[topic_b] + 1.0)
            else:
                bits_b, stream_b = next_word(stream_b)
                drawn = draw_small(
                    bits_b, whole_b, word_b, row_b, at_b + large, of_words, of_documents, in_small,
                    word_topic, small_b, shares_b, eta,
                )  # fmt: skip
                topic_b = large + drawn
                rest_b += move_small(
                    1, drawn, word_b, row_b, at_b + topic_b, of_words, of_documents, in_small, word_topic,
                    *of_small_b, small_b, shares_b,
                )  # fmt: skip
            topics[i], topics[j] = topic_a, topic_b
            i, j = i + 1, j + 1
    common = (places, words, topics, numbers, word_topic, large, of_words, of_documents, in_small, eta)
    rest_of_a: tuple = (in_a, masses_a, prior_a, scale_a, next_a, weights_a, sums_a, shares_a, rest_a)
    rest_of_b: tuple = (in_b, masses_b, prior_b, scale_b, next_b, weights_b, sums_b, shares_b, rest_b)
    finish_group(row_a, i, end_a, last_a, part_a, *common, *rest_of_a, of_small_a, stream_a)
    finish_group(row_b, j, end_b, last_b, part_b, *common, *rest_of_b, of_small_b, stream_b)
