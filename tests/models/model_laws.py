"""Small problems of the models, whose posterior means are known from enumeration or quadrature."""

import numpy as np
import scipy.sparse as sp
from scipy.special import i0e

from cases import ModelLaw
from geodrift.data import Corpus, VectorSource
from geodrift.models.von_mises_fisher_mixture import Settings
from geodrift.models.von_mises_fisher_mixture._parameters import Prior
from models import dpm_problem, hdp_problem, lda_problem, vmf_problem

LDA_COUNTS = np.array([[2, 2, 0], [0, 2, 2]])
LDA_PRIORS = {"doc_topic_prior": (0.1, 0.3), "topic_word_prior": 0.1}


def lda():
    """Means of the topics, of their squares and of products of the two topics' entries, by enumeration.

    The law of one topic hardly depends on alpha; how alike the two topics are does.
    """
    _, p, in_words = lda_problem.posterior(LDA_COUNTS, **LDA_PRIORS)
    settings = LDA_PRIORS | {"n_topics": 2, "num_draws": 800, "warm_up_fraction": 0.2}

    def statistics(draws):
        first, second = draws["topics"][:, 0], draws["topics"][:, 1]
        products = first[:, :, None] * second[:, None, :]
        return np.concatenate(
            [first, second, first**2, second**2, products.reshape(len(products), -1)], axis=1
        )

    means, squares = lda_problem.topic_moments(p, in_words, LDA_PRIORS["topic_word_prior"])
    products = lda_problem.topic_products(p, in_words, LDA_PRIORS["topic_word_prior"])
    expected = np.concatenate([means.ravel(), squares.ravel(), products.ravel()])
    return ModelLaw(lda_problem.corpus(LDA_COUNTS), settings, 30, 1_000, statistics, expected)


DPM_ROWS = np.array([[3, 0, 1], [0, 2, 0], [2, 1, 0], [0, 1, 2]])


def dpm():
    """Probabilities of all partitions of four rows, by enumeration; alpha is integrated out by quadrature."""
    prior = 0.6
    partitions, p, mean = dpm_problem.posterior(DPM_ROWS, prior)
    settings = {
        "cluster_word_prior": prior,
        "batch_size": 3,
        "store_assignments": True,
        "num_draws": 500,
        "warm_up_fraction": 0.1,
    }
    likely = p > 0.01

    def statistics(draws):
        named = dpm_problem.canonical(draws["assignments"])
        seen = (named[:, None] == partitions[likely]).all(axis=-1)
        return np.column_stack([seen, draws["concentration"]])

    expected = np.append(p[likely], mean)
    return ModelLaw(Corpus.from_matrix(sp.csr_matrix(DPM_ROWS)), settings, 20, 600, statistics, expected)


HDP_COUNTS = np.array([[2, 1, 0], [0, 1, 2]])


def hdp():
    """Probabilities of the numbers of topics, and the mean of the weight of all others, by enumeration."""
    prior, alpha, gamma = 0.4, 0.8, 1.5
    exact = hdp_problem.posterior(HDP_COUNTS, prior, alpha, gamma)
    settings = {
        "first_topics": 2,
        "topic_word_prior": prior,
        "mixture_concentration": alpha,
        "weight_concentration": gamma,
        "num_draws": 500,
        "warm_up_fraction": 0.1,
    }

    def statistics(draws):
        numbers = draws["number_of_topics"]
        return np.column_stack([*(numbers == n for n in (1, 2, 3, 4)), draws["other_weight"]])

    expected = np.array([*(exact.of_number(n) for n in (1, 2, 3, 4)), exact.other_weight])
    return ModelLaw(Corpus.from_matrix(sp.csr_matrix(HDP_COUNTS)), settings, 12, 1_000, statistics, expected)


def vmf():
    """Which rows are together and how many clusters there are, by enumeration, over kappa by quadrature.

    The prior of kappa has next to no mass where the quadrature's grid ends.
    """
    settings = {
        "n_clusters": 3,
        "concentration_median": 3.0,
        "concentration_shape": 20.0,
        "batch_size": 3,
        "num_draws": 500,
        "warm_up_fraction": 0.1,
    }
    told = Settings(**settings)
    law = Prior(told.concentration(3), False, 0.0, np.zeros(3))
    expected = vmf_problem.expected(told.number(), law)

    def statistics(draws):
        found = [vmf_problem.statistics(labels, 0.0) for labels in draws["assignments"]]
        return np.array(found)[:, COMPARED]

    return ModelLaw(VectorSource(vmf_problem.ROWS), settings, 12, 600, statistics, expected[COMPARED])


COMPARED = [0, 1, 2, 3, 4, 5, 10, 11, 13]  # pairs, one or two clusters, and their mean number

SAM_ANGLES = np.array([0.3, 0.9, 2.0])  # of three documents, unit vectors in the plane
KAPPA_0, SIGMA, KAPPA, ALPHA = 2.0, 2.0, 4.0, 2.0


def sam():
    """Of two topics on a circle: means of their sum, their cosine and its square, by quadrature.

    The method is the one that is exact at any step size; SGGMC's law is compared with it in
    `test_sam_chain`.
    """
    documents = np.stack([np.cos(SAM_ANGLES), np.sin(SAM_ANGLES)], axis=1)
    settings = {
        "n_topics": 2,
        "corpus_mean_concentration": KAPPA_0,
        "topic_concentration": SIGMA,
        "document_concentration": KAPPA,
        "doc_topic_prior": ALPHA,
        "weighting": "none",
        "method": "gmc-gibbs",
        "num_steps": 3,
        "num_draws": 500,
        "warm_up_fraction": 0.3,
    }
    angles = (np.arange(120) + 0.5) * 2 * np.pi / 120
    first, second = np.meshgrid(angles, angles, indexing="ij")
    topics = np.stack([np.stack([np.cos(a), np.sin(a)], axis=-1) for a in (first, second)], axis=-2)
    p = _sam_density(topics, documents)
    expected = np.einsum("ij,ijs->s", p, _sam_statistics(topics))
    corpus = Corpus.from_matrix(sp.csr_matrix(documents), signed=True)
    return ModelLaw(corpus, settings, 8, 500, lambda draws: _sam_statistics(draws["topics"]), expected)


def _sam_statistics(topics):
    """Functions of two topics that do not change when the two are exchanged, [..., 4]."""
    total, cosine = topics.sum(axis=-2), (topics[..., 0, :] * topics[..., 1, :]).sum(axis=-1)
    return np.stack([total[..., 0], total[..., 1], cosine, cosine**2], axis=-1)


def _sam_density(topics, documents):
    """Eq. (9) of Liu et al. (2016) on a grid of topics, each document's mixture integrated out."""
    mean = documents.mean(axis=0)
    resultant = KAPPA_0 * mean / np.linalg.norm(mean) + SIGMA * topics.sum(axis=-2)
    length = np.linalg.norm(resultant, axis=-1)
    log_p = np.log(i0e(length)) + length  # -log c_2, but for a constant
    shares = (np.arange(100) + 0.5) / 100
    prior = (shares * (1 - shares)) ** (ALPHA - 1)
    means = topics[..., 0, :] * shares[:, None, None, None] + topics[..., 1, :] * (
        1 - shares[:, None, None, None]
    )
    means /= np.linalg.norm(means, axis=-1, keepdims=True)
    for document in documents:
        log_p += np.log(np.einsum("s,sij->ij", prior, np.exp(KAPPA * means @ document)))
    p = np.exp(log_p - log_p.max())
    return p / p.sum()
