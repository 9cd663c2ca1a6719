r"""Exact draws of topic assignments with the topics integrated out, on threads.

The vocabulary is cut into parts, and a topic is :math:`\pi_{kw} = \rho_{kb}\, \psi_{kw}` for a word w of part
b: by the aggregation of a Dirichlet, the parts' masses are :math:`\rho_k \sim \mathrm{Dirichlet}(V_b \eta)`,
independent of :math:`\psi_{k,b} \sim \mathrm{Dirichlet}(\eta)` of the part's :math:`V_b` words. Given the
masses, with the mixtures and the psi integrated out, a token of document d and word w has

.. math:: p(z = k \mid \text{rest}) \propto
    (\alpha_k + n_{dk})\, \rho_{kb}\, \frac{\eta + N_{kw}}{V_b \eta + N_{kb}},

without the token itself in the counts (Griffiths and Steyvers 2004, eq. 5, within a part), and the masses
given all assignments are :math:`\mathrm{Dirichlet}(V_b \eta + N_{kb})`.

Groups of documents and parts of words that differ in both have no count in common: given the masses their
tokens are independent, and a minibatch of as many groups as parts is gone through in as many phases, all
groups of a phase at once, each with another part (a Latin square: Yan, Xu and Qi 2009). Theirs is
approximate, since all parts share :math:`N_k`; with the masses drawn it is an exact Gibbs sampler.

A draw is a chain of dependent operations and the next one of its group needs its result, so a thread that
sweeps one group mostly waits. Each thread sweeps two groups at once, token by token: the processor works on
one draw while it waits for the other (about 1.5 times as many draws a second; not a bit of them differs).
"""

import numba
import numpy as np
from jaxtyping import Float, Int

from geodrift.kernels._random_streams import next_word, open_member
from geodrift.kernels._streams import Family
from geodrift.kernels._two_forms import TwoForms
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch
from geodrift.models.latent_dirichlet_allocation.documents._vector_draw import (
    LANES,
    draw_place,
    last_place,
    set_entry,
)

_TO_UNIT = np.float32(2.0**-63)
_ONE = np.float32(1.0)


@numba.njit(cache=True, error_model="numpy")
def _scales(
    masses: np.ndarray, in_part: np.ndarray, part_prior: float, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """The scale rho / (V_b eta + N_kb), now and with one token more."""
    scale, next_scale = np.zeros(size, np.float32), np.zeros(size, np.float32)
    for topic in range(masses.shape[0]):
        scale[topic] = masses[topic] / (part_prior + in_part[topic])
        next_scale[topic] = masses[topic] / (part_prior + in_part[topic] + 1.0)
    return scale, next_scale


@numba.njit(cache=True, error_model="numpy")
def _next_row(
    row: int,
    last_row: int,
    part: int,
    places: np.ndarray,
    in_documents: np.ndarray,
    scale: np.ndarray,
    weights: np.ndarray,
) -> tuple[int, int, int]:
    """The first row from ``row`` on with tokens of the part, and their places; its weights are set."""
    while row < last_row:
        if places[row, part] < places[row, part + 1]:
            for topic in range(weights.shape[0]):
                weights[topic] = in_documents[row, topic] * scale[topic]
            return row, places[row, part], places[row, part + 1]
        row += 1
    return row, 0, 0


@numba.njit(cache=True, error_model="numpy", inline="always")
def _take_away(
    topic: int,
    begin: int,
    numbers: np.ndarray,
    word_topic: np.ndarray,
    in_part: np.ndarray,
    masses: np.ndarray,
    part_prior: float,
    scale: np.ndarray,
    next_scale: np.ndarray,
    weights: np.ndarray,
) -> None:
    """A token that is to be drawn, from the counts."""
    numbers[topic] -= _ONE
    word_topic[begin + topic] -= 1
    in_part[topic] -= 1.0
    next_scale[topic] = scale[topic]
    scale[topic] = masses[topic] / (part_prior + in_part[topic])
    set_entry(weights, topic, numbers[topic] * scale[topic])


@numba.njit(cache=True, error_model="numpy", inline="always")
def _draw(
    begin: int,
    bits: np.uint64,
    word_topic: np.ndarray,
    prior: np.float32,
    num_topics: int,
    blocks: int,
    weights: np.ndarray,
    sums: np.ndarray,
) -> int:
    """A topic with probability proportional to its weight times (eta + N_kw)."""
    unit = np.float32(np.int64(bits >> np.uint64(1))) * _TO_UNIT
    topic = draw_place(weights, word_topic, begin, prior, blocks, unit, sums)
    if not weights[topic] > 0.0:
        topic = last_place(weights, word_topic, begin, prior, unit, num_topics)
    return topic


@numba.njit(cache=True, error_model="numpy", inline="always")
def _add(
    topic: int,
    begin: int,
    numbers: np.ndarray,
    word_topic: np.ndarray,
    in_part: np.ndarray,
    masses: np.ndarray,
    part_prior: float,
    scale: np.ndarray,
    next_scale: np.ndarray,
    weights: np.ndarray,
) -> None:
    """A token that has been drawn, to the counts."""
    numbers[topic] += _ONE
    word_topic[begin + topic] += 1
    in_part[topic] += 1.0
    scale[topic] = next_scale[topic]
    set_entry(weights, topic, numbers[topic] * scale[topic])
    next_scale[topic] = masses[topic] / (part_prior + in_part[topic] + 1.0)


@numba.njit(cache=True, error_model="numpy")
def _sweep_rest(
    row: int,
    i: int,
    end: int,
    last_row: int,
    part: int,
    places: np.ndarray,
    words: np.ndarray,
    topics: np.ndarray,
    in_documents: np.ndarray,
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
    """What is left of a group's sweep, from token ``i`` of ``row`` on."""
    size, num_topics = weights.shape[0], masses.shape[0]
    blocks = size // LANES
    while row < last_row:
        numbers = in_documents[row]
        for token in range(i, end):
            begin, topic = np.int64(words[token]) * size, np.int64(topics[token])
            _take_away(
                topic, begin, numbers, word_topic, in_part, masses, part_prior, scale, next_scale, weights
            )
            bits, stream = next_word(stream)
            topic = _draw(begin, bits, word_topic, prior, num_topics, blocks, weights, sums)
            _add(topic, begin, numbers, word_topic, in_part, masses, part_prior, scale, next_scale, weights)
            topics[token] = topic
        row, i, end = _next_row(row + 1, last_row, part, places, in_documents, scale, weights)


@numba.njit(cache=True, error_model="numpy")
def _sweep_two(
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
    """One phase of two groups, a token of the one (a) and a token of the other (b) in turn.

    Everything that is used in the loop has a name of its own: taken out of a tuple or of a larger array
    there, its references are counted at every token.
    """
    num_rows, num_parts = places.shape[0], places.shape[1] - 1
    size, num_topics = in_parts.shape[1], all_masses.shape[1]
    blocks = size // LANES
    group_a, group_b = 2 * pair, min(2 * pair + 1, num_parts)  # the latter may have no documents
    part_a, part_b = (group_a + phase) % num_parts, (group_b + phase) % num_parts
    last_a = (group_a + 1) * num_rows // num_parts
    last_b = min(group_b + 1, num_parts) * num_rows // num_parts
    in_a, masses_a, prior_a = in_parts[part_a], all_masses[part_a], part_priors[part_a]
    in_b, masses_b, prior_b = in_parts[part_b], all_masses[part_b], part_priors[part_b]
    scale_a, next_a = _scales(masses_a, in_a, prior_a, size)
    scale_b, next_b = _scales(masses_b, in_b, prior_b, size)
    weights_a, sums_a = np.empty(size, np.float32), np.empty(size, np.float32)
    weights_b, sums_b = np.empty(size, np.float32), np.empty(size, np.float32)
    stream_a = open_member(family, phase * num_parts + group_a)
    stream_b = open_member(family, phase * num_parts + group_b)
    first_a, first_b = group_a * num_rows // num_parts, group_b * num_rows // num_parts
    row_a, i, end_a = _next_row(first_a, last_a, part_a, places, in_documents, scale_a, weights_a)
    row_b, j, end_b = _next_row(first_b, last_b, part_b, places, in_documents, scale_b, weights_b)
    while row_a < last_a and row_b < last_b:
        of_a, of_b = in_documents[row_a], in_documents[row_b]
        for _ in range(min(end_a - i, end_b - j)):
            at_a, at_b = np.int64(words[i]) * size, np.int64(words[j]) * size
            topic_a, topic_b = np.int64(topics[i]), np.int64(topics[j])
            _take_away(topic_a, at_a, of_a, word_topic, in_a, masses_a, prior_a, scale_a, next_a, weights_a)
            _take_away(topic_b, at_b, of_b, word_topic, in_b, masses_b, prior_b, scale_b, next_b, weights_b)
            bits_a, stream_a = next_word(stream_a)
            bits_b, stream_b = next_word(stream_b)
            topic_a = _draw(at_a, bits_a, word_topic, prior, num_topics, blocks, weights_a, sums_a)
            topic_b = _draw(at_b, bits_b, word_topic, prior, num_topics, blocks, weights_b, sums_b)
            _add(topic_a, at_a, of_a, word_topic, in_a, masses_a, prior_a, scale_a, next_a, weights_a)
            _add(topic_b, at_b, of_b, word_topic, in_b, masses_b, prior_b, scale_b, next_b, weights_b)
            topics[i], topics[j] = topic_a, topic_b
            i, j = i + 1, j + 1
        if i == end_a:
            row_a, i, end_a = _next_row(row_a + 1, last_a, part_a, places, in_documents, scale_a, weights_a)
        if j == end_b:
            row_b, j, end_b = _next_row(row_b + 1, last_b, part_b, places, in_documents, scale_b, weights_b)
    common = (places, words, topics, in_documents, word_topic)
    rest_a = (in_a, masses_a, prior_a, scale_a, next_a, weights_a, sums_a, prior, stream_a)
    rest_b = (in_b, masses_b, prior_b, scale_b, next_b, weights_b, sums_b, prior, stream_b)
    _sweep_rest(row_a, i, end_a, last_a, part_a, *common, *rest_a)
    _sweep_rest(row_b, j, end_b, last_b, part_b, *common, *rest_b)


@numba.njit(cache=True, error_model="numpy")
def _lay_out(
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    ends: np.ndarray,
    places: np.ndarray,
    token_words: np.ndarray,
) -> None:
    """A document's tokens one by one, and where those of each part begin; the first place is there."""
    part, token = 0, places[0]
    for entry in range(indptr[0], indptr[1]):
        while words[entry] >= ends[part]:
            part += 1
            places[part] = token
        for _ in range(counts[entry]):
            token_words[token] = words[entry]
            token += 1
    places[part + 1 :] = token


def _redraw_collapsed(
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    assignments: np.ndarray,
    word_topic: np.ndarray,
    in_parts: np.ndarray,
    masses: np.ndarray,
    part_priors: np.ndarray,
    prior: np.float32,
    doc_topic_prior: np.ndarray,
    num_sweeps: int,
    family: np.uint64,
) -> None:
    num_rows, num_parts, num_topics = starts.shape[0], part_priors.shape[0], masses.shape[1]
    places = np.zeros((num_rows, num_parts + 1), np.int64)
    num_tokens = np.int64(0)
    for row in range(num_rows):
        places[row, 0] = num_tokens
        for entry in range(indptr[row], indptr[row + 1]):
            num_tokens += counts[entry]
    token_words, topics = np.empty(num_tokens, np.int32), np.empty(num_tokens, assignments.dtype)
    in_documents = np.zeros((num_rows, in_parts.shape[1]), np.float32)
    for row in numba.prange(num_rows):
        _lay_out(indptr[row : row + 2], words, counts, ends, places[row], token_words)
        begin, end = places[row, 0], places[row, num_parts]
        topics[begin:end] = assignments[starts[row] : starts[row] + end - begin]
        in_documents[row, :num_topics] = doc_topic_prior
        for token in range(begin, end):
            in_documents[row, topics[token]] += _ONE
    for phase in range(num_sweeps * num_parts):
        for pair in numba.prange((num_parts + 1) // 2):
            _sweep_two(
                pair,
                phase,
                places,
                token_words,
                topics,
                in_documents,
                word_topic,
                in_parts,
                masses,
                part_priors,
                prior,
                family,
            )
    for row in numba.prange(num_rows):
        begin, end = places[row, 0], places[row, num_parts]
        assignments[starts[row] : starts[row] + end - begin] = topics[begin:end]


_redraw_forms = TwoForms(_redraw_collapsed, worth_threads=50_000)


def redraw_collapsed(
    batch: Minibatch,
    starts: Int[np.ndarray, " S"],
    bounds: Int[np.ndarray, " P+1"],
    assignments: Int[np.ndarray, " n"],
    word_topic: Int[np.ndarray, "V Kp"],
    in_parts: Float[np.ndarray, "P Kp"],
    masses: Float[np.ndarray, "P K"],
    doc_topic_prior: Float[np.ndarray, " K"],
    prior: float,
    *,
    sweeps: int,
    streams: Family,
) -> None:
    """Sweeps over the tokens of a minibatch, in place of assignments and counts.

    Args:
        batch: Documents that have assignments; each row's words increase.
        starts: Where each document's tokens begin in ``assignments``.
        bounds: Words at which the parts of the vocabulary begin, and V.
        assignments: z of all tokens, in the order of the entries.
        word_topic: N, int32; topics filled up to whole vectors.
        in_parts: Its sums over the words of each part, float64.
        masses: rho, float64.
        doc_topic_prior: alpha, float32.
        prior: eta, each word's Dirichlet parameter.
        sweeps: Sweeps over each document.
        streams: Random streams of the sweeps.
    """
    _redraw_forms(
        sweeps * batch.num_tokens,
        batch.indptr,
        batch.vocabulary[batch.words],
        batch.counts,
        starts,
        bounds[1:],
        assignments,
        word_topic.reshape(-1),
        in_parts,
        masses,
        prior * np.diff(bounds).astype(np.float64),
        np.float32(prior),
        doc_topic_prior,
        sweeps,
        streams.word,
    )
