"""The posterior of a hierarchical Dirichlet process of a few tokens, by going over all partitions of them."""

import itertools
from typing import NamedTuple

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

    Returns:
        The logarithm, and the mean of the weight gamma / (gamma + m) of all topics without a token.
    """
    log_stirling = stirling(numbers.max())
    cells = [n for n in numbers.ravel() if n]
    topics = [k for row in numbers for k, n in enumerate(row) if n]
    terms, others = [], []
    for tables in itertools.product(*(range(1, n + 1) for n in cells)):
        of_topic = np.bincount(topics, tables, numbers.shape[1])
        ways = sum(log_stirling[n, m] for n, m in zip(cells, tables, strict=True))
        m = sum(tables)
        terms.append(ways + gammaln(of_topic).sum() + m * np.log(alpha) + gammaln(gamma) - gammaln(gamma + m))
        others.append(gamma / (gamma + m))
    documents = sum(gammaln(alpha) - gammaln(alpha + n) for n in numbers.sum(axis=1))
    whole = np.logaddexp.reduce(terms, axis=0)
    mean = (np.exp(terms - whole) * others).sum(axis=0)
    return whole + documents + numbers.shape[1] * np.log(gamma), mean


class Posterior(NamedTuple):
    """Partitions of the tokens [p, token], their probabilities [p], and posterior means."""

    partitions: np.ndarray
    p: np.ndarray
    other_weight: float
    alpha: float
    gamma: float

    def of_number(self, number):
        """The probability of so many topics."""
        return self.p[self.partitions.max(axis=1) + 1 == number].sum()


def posterior(counts, prior, alpha=None, gamma=None):
    """By going over all partitions of the tokens, their tables, and a grid of the concentrations.

    Args:
        counts: [D, V].
        prior: eta.
        alpha: alpha_0; None: it has the prior Gamma(1, 1).
        gamma: The concentration of the weights; None: it has the prior Gamma(1, 0.1).
    """
    documents, words = tokens(counts)
    (alphas, of_alpha), (gammas, of_gamma) = _grid(alpha, 1.0), _grid(gamma, 0.1)
    a, g = np.broadcast_arrays(alphas[:, None], gammas)
    logs, others = [], []
    every = partitions(len(words))
    for partition in every:
        size = partition.max() + 1
        numbers, in_words = np.zeros((len(counts), size), int), np.zeros((size, counts.shape[1]))
        np.add.at(numbers, (documents, partition), 1)
        np.add.at(in_words, (partition, words), 1)
        likelihood = sum(log_density_of_words(row[None], prior) for row in in_words)
        of_partition, other = log_prior(numbers, a, g)
        logs.append(likelihood + of_partition + of_alpha[:, None] + of_gamma)
        others.append(other)
    p = np.exp(np.array(logs) - np.max(logs))
    p /= p.sum()
    return Posterior(
        every, p.sum(axis=(1, 2)), float((p * others).sum()), float((p * a).sum()), float((p * g).sum())
    )


def _grid(value, rate):
    """Points of a concentration and the log of their prior density: smooth in the concentration's log."""
    if value is not None:
        return np.array([float(value)]), np.zeros(1)
    logs = np.linspace(-9.0, 2.5, 70) - np.log(rate)
    return np.exp(logs), logs - rate * np.exp(logs)
