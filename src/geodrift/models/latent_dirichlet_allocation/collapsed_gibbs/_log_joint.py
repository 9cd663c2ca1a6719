"""The joint probability of words and assignments, with topics and mixtures integrated out."""

import math

import numba
import numpy as np
from jaxtyping import Bool, Float, Int, UInt
from scipy.special import gammaln


@numba.njit(cache=True, error_model="numpy")
def _of_words(values: np.ndarray, prior: float) -> float:
    """Sum over words and topics of log Gamma(eta + N_kw) - log Gamma(eta)."""
    total, least = 0.0, math.lgamma(prior)
    for value in values:
        if value:
            total += math.lgamma(prior + value) - least
    return total


@numba.njit(cache=True, error_model="numpy")
def _of_documents(starts: np.ndarray, seen: np.ndarray, assignments: np.ndarray, alpha: np.ndarray) -> float:
    """Sum over documents of the log of their assignments' probability."""
    total, least = 0.0, np.array([math.lgamma(a) for a in alpha])
    counts, whole = np.zeros(len(alpha), np.int64), alpha.sum()
    least_whole = math.lgamma(whole)
    for document in range(len(seen)):
        if not seen[document]:
            continue
        counts[:] = 0
        for token in range(starts[document], starts[document + 1]):
            counts[assignments[token]] += 1
        for topic in range(len(alpha)):
            if counts[topic]:
                total += math.lgamma(alpha[topic] + counts[topic]) - least[topic]
        total += least_whole - math.lgamma(whole + starts[document + 1] - starts[document])
    return total


def log_joint(
    values: Int[np.ndarray, " count"],
    in_topics: Float[np.ndarray, " K"],
    num_words: int,
    starts: Int[np.ndarray, " start"],
    seen: Bool[np.ndarray, " D"],
    assignments: UInt[np.ndarray, " n"],
    alpha: Float[np.ndarray, " K"],
    prior: float,
) -> float:
    """Log p(words, assignments): Griffiths and Steyvers (2004), eqs. 2 and 3.

    Args:
        values: Every N_kw above 0 of the documents seen, in any order.
        in_topics: N_k, their sums over words.
        num_words: V.
        starts: The place in ``assignments`` at which each document's tokens begin, and their number.
        seen: Whether a document counts.
        assignments: The topic of each token.
        alpha: The document prior.
        prior: eta.
    """
    topics = len(alpha) * gammaln(num_words * prior) - gammaln(num_words * prior + in_topics).sum()
    words = _of_words(values, prior)
    return float(topics + words + _of_documents(starts, seen, assignments, alpha))
