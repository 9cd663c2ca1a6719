"""Held-out log-perplexity with the mixtures integrated out by annealed importance sampling."""

import itertools

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy.special import logsumexp

from geodrift.distributions import host_log_normaliser
from geodrift.kernels._streams import SAM_ANNEALED_MIXTURES, SAM_ANNEALED_START
from geodrift.models.spherical_admixture.documents._mixture_sampler import MixtureSampler, initial_step_size
from geodrift.models.spherical_admixture.documents._statistics import topic_projections

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
    r"""Minus the log likelihood of each document given topics, by annealed importance sampling.

    Neal (2001). A mixture is drawn from its prior and moved by geodesic Monte Carlo while the concentration
    :math:`\kappa_t` rises from 0 to kappa. The weights :math:`\exp \sum_t (\kappa_{t+1} - \kappa_t)
    v'\beta\theta_t/|\beta\theta_t|` are unbiased for the likelihood up to the constant :math:`c_V(\kappa)`,
    so the value is too high on average, by little when there are enough temperatures. `log_perplexity` does
    the same with one step from 0 to kappa, which at large kappa misses nearly all of the likelihood.

    Args:
        rows: Unit vectors of documents, [D, V], each with an entry.
        topics: One draw of the topics, each of unit length.
        document_concentration: kappa.
        doc_topic_prior: alpha, for each component.
        num_temperatures: Steps from 0 to kappa, of equal ratio after the first.
        num_replicates: Independent annealings, whose weights are averaged.
        seed: Seed of all draws.

    Returns:
        Values in nats.
    """
    num_topics, num_documents = topics.shape[0], rows.shape[0]
    by_word = np.ascontiguousarray(topics.T, dtype=np.float64)
    projections, gram = topic_projections(rows, topics), by_word.T @ by_word
    ladder = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, num_temperatures)]) * document_concentration
    prior, documents = np.full(num_topics, doc_topic_prior), np.arange(num_documents)
    log_weights = np.zeros((num_replicates, num_documents))
    for replicate in range(num_replicates):
        theta = SAM_ANNEALED_START.generator(seed, replicate).dirichlet(prior, size=num_documents)
        theta = np.maximum(theta, np.finfo(float).tiny)  # a draw can underflow where alpha is small
        for t, (colder, concentration) in enumerate(itertools.pairwise(ladder)):
            norms = np.sqrt(((theta @ gram) * theta).sum(axis=1))
            log_weights[replicate] += (concentration - colder) * (projections * theta).sum(axis=1) / norms
            steps = np.full(num_documents, initial_step_size(concentration, doc_topic_prior, num_topics))
            sampler = MixtureSampler(
                concentration, prior, LEAPFROG_STEPS, 0, 1, SAM_ANNEALED_MIXTURES, seed, replicate
            )
            sampler.draw(theta, steps, projections, gram, documents, t, 0.0)
    constant = float(host_log_normaliser(rows.shape[1], document_concentration))
    return -(logsumexp(log_weights, axis=0) - np.log(num_replicates) + constant)
