"""Draws of the tokens of one group of documents, as `_sweep_kernel` draws those of two."""

import numba
import numpy as np

from geodrift.kernels._random_streams import next_word
from geodrift.kernels._set_sums import sum_of_products, sum_of_triples
from geodrift.kernels._vector_draw import LANES, draw_place, last_place, scaled_row, set_entry
from geodrift.models.hierarchical_dirichlet_process.sampler._small_topics import (
    Real,
    Whole,
    draw_small,
    move_small,
)

_TO_UNIT, _ONE, _ONE_BIT = np.float32(2.0**-63), np.float32(1.0), np.uint64(1)


@numba.njit(cache=True, error_model="numpy")
def finish_group(
    row: Whole,
    i: Whole,
    end: Whole,
    last_row: Whole,
    part: Whole,
    places: np.ndarray,
    words: np.ndarray,
    topics: np.ndarray,
    numbers: np.ndarray,
    word_topic: np.ndarray,
    large: Whole,
    of_words: np.ndarray,
    of_documents: np.ndarray,
    in_small: np.ndarray,
    eta: np.float32,
    in_part: np.ndarray,
    masses: np.ndarray,
    prior: Real,
    scale: np.ndarray,
    next_scale: np.ndarray,
    weights: np.ndarray,
    sums: np.ndarray,
    shares: np.ndarray,
    rest: Real,
    of_small: tuple,
    stream: np.uint64,
) -> None:
    """Sweep the rest of one group, from token ``i`` of ``row`` on."""
    stride, size = in_part.shape[0], weights.shape[0]
    blocks = size // LANES
    sets, num_small, small = of_words.shape[1], in_small.shape[1], scale[large:]
    word_sets, row_sets, row_counts = of_words.reshape(-1), of_documents.reshape(-1), in_small.reshape(-1)
    while row < last_row:
        own = np.int64(row) * size
        for token in range(i, end):
            word, topic = np.int64(words[token]), np.int64(topics[token])
            at = word * stride
            if topic < large:
                numbers[own + topic] -= _ONE
                word_topic[at + topic] -= 1
                in_part[topic] -= 1.0
                next_scale[topic] = scale[topic]
                scale[topic] = masses[topic] / (prior + in_part[topic])
                set_entry(weights, topic, numbers[own + topic] * scale[topic])
            else:
                rest += move_small(
                    -1, topic - large, word, row, at + topic, of_words, of_documents, in_small, word_topic,
                    *of_small, small, shares,
                )  # fmt: skip
            whole = np.float32(eta * rest)
            whole += sum_of_products(word_sets, word * sets, sets, shares, word_topic, at + large)
            whole += sum_of_triples(
                row_sets, row * sets, sets, small, row_counts, row * num_small, word_topic, at + large, eta
            )
            set_entry(weights, large, whole / (eta + np.float32(word_topic[at + large])))
            bits, stream = next_word(stream)
            unit = np.float32(np.int64(bits >> _ONE_BIT)) * _TO_UNIT
            topic = np.int64(draw_place(weights, word_topic, at, eta, blocks, unit, sums))
            if not weights[topic] > 0.0:
                topic = np.int64(last_place(weights, word_topic, at, eta, unit, large + 1))
            if topic < large:
                numbers[own + topic] += _ONE
                word_topic[at + topic] += 1
                in_part[topic] += 1.0
                scale[topic] = next_scale[topic]
                set_entry(weights, topic, numbers[own + topic] * scale[topic])
                next_scale[topic] = masses[topic] / (prior + in_part[topic] + 1.0)
            else:
                bits, stream = next_word(stream)
                drawn = draw_small(
                    bits, whole, word, row, at + large, of_words, of_documents, in_small, word_topic, small,
                    shares, eta,
                )  # fmt: skip
                topic = large + drawn
                rest += move_small(
                    1, drawn, word, row, at + topic, of_words, of_documents, in_small, word_topic, *of_small,
                    small, shares,
                )  # fmt: skip
            topics[token] = topic
        row += 1
        while row < last_row and places[row, part] == places[row, part + 1]:
            row += 1
        if row < last_row:
            i, end = places[row, part], places[row, part + 1]
            scaled_row(weights, numbers, np.int64(row) * size, scale, blocks)
