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

from typing import Any

import numba
import numpy as np
from jaxtyping import Float, Int, UInt

from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._two_forms import TwoForms
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._kernel import sweep_two_groups
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch


@numba.njit(cache=True, error_model="numpy")
def lay_out(
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    ends: np.ndarray,
    places: np.ndarray,
    token_words: np.ndarray,
) -> None:
    """Fill in a document's tokens one by one, and the places at which those of each part begin.

    ``places[0]``, the place of the first token, is given.
    """
    part, token = 0, places[0]
    for entry in range(indptr[0], indptr[1]):
        while words[entry] >= ends[part]:
            part += 1
            places[part] = token
        for _ in range(counts[entry]):
            token_words[token] = words[entry]
            token += 1
    places[part + 1 :] = token


def _sweep_minibatch(
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
    power: np.float32,
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
        lay_out(indptr[row : row + 2], words, counts, ends, places[row], token_words)
        begin, end = places[row, 0], places[row, num_parts]
        for topic in range(num_topics):
            in_documents[row, topic] = doc_topic_prior[topic]
        for token in range(begin, end):
            topics[token] = assignments[starts[row] + token - begin]
            in_documents[row, topics[token]] += np.float32(1.0)
    for phase in range(num_sweeps * num_parts):
        for pair in numba.prange((num_parts + 1) // 2):
            # That of threads is unsigned, and the draws would be compiled once more for it.
            index: Any = np.int64(pair)
            sweep_two_groups(
                index,
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
                power,
                family,
            )
    for row in numba.prange(num_rows):
        begin, end = places[row, 0], places[row, num_parts]
        for token in range(begin, end):
            assignments[starts[row] + token - begin] = topics[token]


_sweep_forms = TwoForms(_sweep_minibatch, worth_threads=50_000)


def collapsed_gibbs_sweeps(
    batch: Minibatch,
    starts: Int[np.ndarray, " S"],
    bounds: Int[np.ndarray, " bound"],
    assignments: UInt[np.ndarray, " n"],
    word_topic: Int[np.ndarray, "V Kp"],
    in_parts: Float[np.ndarray, "P Kp"],
    masses: Float[np.ndarray, "P K"],
    doc_topic_prior: Float[np.ndarray, " K"],
    prior: float,
    *,
    sweeps: int,
    power: float = 1.0,
    streams: Family,
) -> None:
    """Sweep over the tokens of a minibatch; assignments and counts are changed in place.

    Args:
        batch: Documents that have assignments; each row's words increase.
        starts: The place in ``assignments`` at which each document's tokens begin.
        bounds: Words at which the parts of the vocabulary begin, and V.
        assignments: z of all tokens of the corpus, in the order of the entries.
        word_topic: N_kw, int32; the topics are padded with zeros to whole vectors, Kp of them.
        in_parts: N_kb, the sums of ``word_topic`` over the words of each part, float64.
        masses: rho, the probability of each part in each topic, float64.
        doc_topic_prior: alpha, float32.
        prior: eta, each word's Dirichlet parameter.
        sweeps: Number of sweeps over each document.
        power: Probabilities are taken to about this power; 1 but for a warm-up.
        streams: Random streams of the sweeps.
    """
    _sweep_forms(
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
        np.float32(power),
        streams.word,
    )


def draw_masses(
    counts: Float[np.ndarray, "P K"],
    bounds: Int[np.ndarray, " bound"],
    prior: float,
    rng: np.random.Generator,
) -> Float[np.ndarray, "P K"]:
    """The parts' masses rho given all assignments; a vocabulary of one part has mass 1.

    Args:
        counts: N_kb.
        bounds: Words at which the parts of the vocabulary begin, and V.
        prior: eta.
        rng: Generator.
    """
    shapes = prior * np.diff(bounds)[:, None] + counts
    if len(shapes) == 1:
        return np.ones(shapes.shape)
    gammas = rng.standard_gamma(shapes)
    sums = gammas.sum(axis=0)
    none = np.flatnonzero(sums == 0.0)
    if len(none):
        # Near 0 a gamma's density is a power: below any small bound it is the bound times U^(1/shape).
        logs = -rng.standard_exponential((len(shapes), len(none))) / shapes[:, none]
        gammas[:, none] = np.exp(logs - logs.max(axis=0))
        sums = gammas.sum(axis=0)
    return gammas / sums
