"""Held-out log-perplexity with the mixtures integrated out by annealing.

For where draws from their prior are not enough.
"""

import itertools

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy.special import logsumexp

from geodrift.distributions import host_log_normaliser
from geodrift.kernels._streams import SAM_ANNEALED_MIXTURES, SAM_ANNEALED_START
from geodrift.models.spherical_admixture.documents._latents import (
    MixtureSampler,
    affinities,
    initial_step_size,
)

LEAPFROG_STEPS = 10


def annealed_log_perplexity(
    rows: sp.csr_matrix,
    topics: Float[np.ndarray, "K V"],
    document_concentration: float,
    doc_topic_prior: float,
    *,
    num_temperatures: int = 200,
    num_replicates: int = 5,
    seed: int = 0,
) -> Float[np.ndarray, " D"]:
    r"""Each document's minus log likelihood under one draw of the topics, by annealed importance sampling.

    Neal 2001. A mixture is drawn from its prior and carried through the concentrations :math:`\kappa_t`
    from 0 to kappa by geodesic Monte Carlo; the weights :math:`\exp \sum_t (\kappa_{t+1} - \kappa_t)
    v'\beta\theta_t/|\beta\theta_t|` are unbiased for the likelihood, so that the value is too high on
    average, by little when there are enough temperatures. `log_perplexity` does the same with one step from
    0 to kappa, which at large kappa misses nearly all of the likelihood.

    Args:
        rows: Unit vectors, [D, V], each with an entry.
        topics: One draw, unit length.
        document_concentration: kappa.
        doc_topic_prior: alpha, for each component.
        num_temperatures: Steps from 0 to kappa, of equal ratio after the first.
        num_replicates: Independent annealings averaged in the likelihood.
        seed: Of all draws.
    """
    num_topics, num_documents = topics.shape[0], rows.shape[0]
    by_word = np.ascontiguousarray(topics.T, dtype=np.float64)
    affinity, gram = affinities(rows.indptr, rows.indices, rows.data, by_word), by_word.T @ by_word
    ladder = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, num_temperatures)]) * document_concentration
    prior, documents = np.full(num_topics, doc_topic_prior), np.arange(num_documents)
    log_weights = np.zeros((num_replicates, num_documents))
    for replicate in range(num_replicates):
        theta = SAM_ANNEALED_START.generator(seed, replicate).dirichlet(prior, size=num_documents)
        theta = np.maximum(theta, np.finfo(float).tiny)  # a draw can underflow where alpha is small
        for t, (colder, concentration) in enumerate(itertools.pairwise(ladder)):
            norms = np.sqrt(((theta @ gram) * theta).sum(axis=1))
            log_weights[replicate] += (concentration - colder) * (affinity * theta).sum(axis=1) / norms
            steps = np.full(num_documents, initial_step_size(concentration, doc_topic_prior, num_topics))
            use, place = SAM_ANNEALED_MIXTURES, (seed, replicate)
            sampler = MixtureSampler(concentration, prior, LEAPFROG_STEPS, 0, 1, use, *place)
            sampler.draw(theta, steps, affinity, gram, documents, t, 0.0)
    constant = float(host_log_normaliser(rows.shape[1], document_concentration))
    return -(logsumexp(log_weights, axis=0) - np.log(num_replicates) + constant)
