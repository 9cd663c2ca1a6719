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
"""

import numba
import numpy as np
from jaxtyping import Float, Int

from geodrift._random_streams import next_word, open_family, open_member
from geodrift.models._two_forms import TwoForms
from geodrift.models.latent_dirichlet_allocation._minibatch import Minibatch
from geodrift.models.latent_dirichlet_allocation._vector_draw import LANES, draw_place, last_place, set_entry

_TO_UNIT = np.float32(2.0**-63)
_ONE = np.float32(1.0)


@numba.njit(cache=True, error_model="numpy")
def _sweep(
    first_row: int,
    last_row: int,
    part: int,
    num_parts: int,
    entries: np.ndarray,
    places: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    in_documents: np.ndarray,
    assignments: np.ndarray,
    word_topic: np.ndarray,
    in_part: np.ndarray,
    masses: np.ndarray,
    part_prior: float,
    prior: np.float32,
    num_topics: int,
    stream: np.uint64,
) -> None:
    """One sweep over the tokens of some documents that are of one part's words."""
    size = in_documents.shape[1]
    blocks = size // LANES
    weights, sums = np.empty(size, np.float32), np.empty(size, np.float32)
    # rho / (V_b eta + N_kb), now and with one token more.
    scale, next_scale = np.zeros(size, np.float32), np.zeros(size, np.float32)
    for topic in range(num_topics):
        scale[topic] = masses[topic] / (part_prior + in_part[topic])
        next_scale[topic] = masses[topic] / (part_prior + in_part[topic] + 1.0)
    for row in range(first_row, last_row):
        at = row * (num_parts + 1) + part
        numbers = in_documents[row]
        for topic in range(size):
            weights[topic] = numbers[topic] * scale[topic]
        token = places[at]
        for entry in range(entries[at], entries[at + 1]):
            begin = np.int64(words[entry]) * size
            for _ in range(counts[entry]):
                topic = np.int64(assignments[token])
                numbers[topic] -= _ONE
                word_topic[begin + topic] -= 1
                in_part[topic] -= 1.0
                next_scale[topic] = scale[topic]
                scale[topic] = masses[topic] / (part_prior + in_part[topic])
                set_entry(weights, topic, numbers[topic] * scale[topic])
                bits, stream = next_word(stream)
                unit = np.float32(np.int64(bits >> np.uint64(1))) * _TO_UNIT
                topic = draw_place(weights, word_topic, begin, prior, blocks, unit, sums)
                if not weights[topic] > 0.0:
                    topic = last_place(weights, word_topic, begin, prior, unit, num_topics)
                numbers[topic] += _ONE
                word_topic[begin + topic] += 1
                in_part[topic] += 1.0
                scale[topic] = next_scale[topic]
                set_entry(weights, topic, numbers[topic] * scale[topic])
                next_scale[topic] = masses[topic] / (part_prior + in_part[topic] + 1.0)
                assignments[token] = topic
                token += 1


@numba.njit(cache=True, error_model="numpy")
def _lay_out(
    row: int,
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    start: int,
    ends: np.ndarray,
    assignments: np.ndarray,
    entries: np.ndarray,
    places: np.ndarray,
    numbers: np.ndarray,
) -> None:
    """Where a document's entries and tokens of each part begin, and its counts added to ``numbers``."""
    num_parts, part, token = ends.shape[0], 0, start
    at = row * (num_parts + 1)
    entries[at], places[at] = indptr[row], start
    for entry in range(indptr[row], indptr[row + 1]):
        while words[entry] >= ends[part]:
            part += 1
            entries[at + part], places[at + part] = entry, token
        token += counts[entry]
    for later in range(part + 1, num_parts + 1):
        entries[at + later], places[at + later] = indptr[row + 1], token
    for i in range(start, token):
        numbers[assignments[i]] += _ONE


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
    size = in_parts.shape[1]
    entries = np.empty(num_rows * (num_parts + 1), np.int64)
    places = np.empty(num_rows * (num_parts + 1), np.int64)
    in_documents = np.zeros((num_rows, size), np.float32)
    for row in numba.prange(num_rows):
        in_documents[row, :num_topics] = doc_topic_prior
        _lay_out(
            row, indptr, words, counts, starts[row], ends, assignments, entries, places, in_documents[row]
        )
    for phase in range(num_sweeps * num_parts):
        for group in numba.prange(num_parts):
            part = (group + phase) % num_parts
            _sweep(
                group * num_rows // num_parts,
                (group + 1) * num_rows // num_parts,
                part,
                num_parts,
                entries,
                places,
                words,
                counts,
                in_documents,
                assignments,
                word_topic,
                in_parts[part],
                masses[part],
                part_priors[part],
                prior,
                num_topics,
                open_member(family, phase * num_parts + group),
            )


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
    seed: int,
    chain: int,
    step: int,
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
        seed: Seed of the chain's random numbers.
        chain: Number of the chain.
        step: Number that names the random streams, with the two others.
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
        np.uint64(open_family(seed, chain, step)),
    )
