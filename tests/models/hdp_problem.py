"""The posterior of a hierarchical Dirichlet process of a few tokens, by going over all partitions of them."""

import itertools

import numpy as np
from scipy.special import gammaln

from models.dpm_problem import log_density_of_words, partitions
from models.lda_problem import tokens


def stirling(number):
    """Logarithms of the unsigned Stirling numbers of the first kind s(n, l), n and l up to ``number``."""
    found = np.zeros((number + 1, number + 1))
    found[0, 0] = 1
    for n in range(number):
        found[n + 1] = n * found[n] + np.append(0, found[n, :-1])
    with np.errstate(divide="ignore"):
        return np.log(found)


def log_prior(numbers, alpha, gamma):
    """Log probability of a partition, the weights and the tables summed over (Teh et al. 2006, section 5).

    Tables of a document's tokens at a topic are seated by a Chinese restaurant of alpha, those of all
    documents by one of gamma: alpha^m Gamma(alpha) / Gamma(alpha + n_d) s(n_dk, m_dk), and
    gamma^K Gamma(gamma) / Gamma(gamma + m) prod_k Gamma(m_k).

    Args:
        numbers: n_dk of all documents and topics, each topic with a token.
        alpha: alpha_0, any shape.
        gamma: Of the same shape.
    """
    log_stirling = stirling(numbers.max())
    cells = [n for n in numbers.ravel() if n]
    topics = [k for row in numbers for k, n in enumerate(row) if n]
    terms = []
    for tables in itertools.product(*(range(1, n + 1) for n in cells)):
        of_topic = np.bincount(topics, tables, numbers.shape[1])
        ways = sum(log_stirling[n, m] for n, m in zip(cells, tables, strict=True))
        m = sum(tables)
        terms.append(ways + gammaln(of_topic).sum() + m * np.log(alpha) + gammaln(gamma) - gammaln(gamma + m))
    lengths = numbers.sum(axis=1)
    documents = sum(gammaln(alpha) - gammaln(alpha + n) for n in lengths)
    return np.logaddexp.reduce(terms, axis=0) + documents + numbers.shape[1] * np.log(gamma)


def posterior(counts, prior, alpha, gamma, of_both=0.0):
    """All partitions of the tokens, and their probabilities at each of some concentrations.

    Args:
        counts: [D, V].
        prior: eta.
        alpha: alpha_0, an array of any shape.
        gamma: Of the same shape.
        of_both: Log prior density of the two, times the size of the cells of a quadrature.

    Returns:
        The partitions [p, token], and joint probabilities [p, ...].
    """
    documents, words = tokens(counts)
    every, logs = partitions(len(words)), []
    for partition in every:
        size = partition.max() + 1
        numbers, in_words = np.zeros((len(counts), size), int), np.zeros((size, counts.shape[1]))
        np.add.at(numbers, (documents, partition), 1)
        np.add.at(in_words, (partition, words), 1)
        likelihood = sum(log_density_of_words(row[None], prior) for row in in_words)
        logs.append(likelihood + log_prior(numbers, alpha, gamma) + of_both)
    p = np.exp(np.array(logs) - np.max(logs))
    return every, p / p.sum()
