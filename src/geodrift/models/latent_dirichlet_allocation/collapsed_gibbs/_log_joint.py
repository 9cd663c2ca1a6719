"""The joint probability of words and assignments, with topics and mixtures integrated out."""

import math

import numba
import numpy as np
from jaxtyping import Bool, Float, Int, UInt
from scipy.special import gammaln

from geodrift.kernels._two_forms import TwoForms

BLOCK = 2**14  # documents whose sum is made by one thread
TINY, SMALL = 1e-50, 1e-250  # a number above the one times a number above the other is no zero


@numba.njit(cache=True, error_model="numpy")
def log_of_words(values: np.ndarray, prior: float) -> float:
    """Sum over every N_kw above 0, in any order, of log Gamma(eta + N_kw) - log Gamma(eta)."""
    total, least = 0.0, math.lgamma(prior)
    for value in values:
        if value:
            total += math.lgamma(prior + value) - least
    return total


@numba.njit(cache=True, error_model="numpy")
def _of_documents(
    first: int, last: int, starts: np.ndarray, seen: np.ndarray, assignments: np.ndarray, alpha: np.ndarray
) -> float:
    """Sum over some documents of the log of their assignments' probability.

    Gamma(alpha_k + n_dk) / Gamma(alpha_k) is the product of alpha_k, alpha_k + 1, ..., a factor a token: its
    logarithm is taken where it leaves the range of numbers, and a document costs its tokens rather than K.
    """
    total, product, whole = 0.0, 1.0, alpha.sum()
    least_whole, level = math.lgamma(whole), alpha.copy()
    for document in range(first, last):
        if not seen[document]:
            continue
        begin, end = starts[document], starts[document + 1]
        for token in range(begin, end):
            topic = assignments[token]
            factor = level[topic]
            level[topic] += 1.0
            if factor < TINY:
                total += math.log(factor)
            else:
                product *= factor
                if product < SMALL or product > 1.0 / SMALL:
                    total += math.log(product)
                    product = 1.0
        for token in range(begin, end):
            level[assignments[token]] = alpha[assignments[token]]
        total += least_whole - math.lgamma(whole + (end - begin))
    return total + math.log(product)


def _of_blocks(
    sums: np.ndarray, starts: np.ndarray, seen: np.ndarray, assignments: np.ndarray, alpha: np.ndarray
) -> None:
    """Fill in the sum over each block of documents."""
    for block in numba.prange(len(sums)):
        first, last = block * BLOCK, min((block + 1) * BLOCK, len(seen))
        sums[block] = _of_documents(first, last, starts, seen, assignments, alpha)


_sum_blocks = TwoForms(_of_blocks, worth_threads=1_000_000)


def log_joint(
    of_words: float,
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
        of_words: See `log_of_words`, of the documents seen.
        in_topics: N_k, the sums of N_kw over words.
        num_words: V.
        starts: The place in ``assignments`` at which each document's tokens begin, and their number.
        seen: Whether a document counts.
        assignments: The topic of each token.
        alpha: The document prior.
        prior: eta.
    """
    topics = len(alpha) * gammaln(num_words * prior) - gammaln(num_words * prior + in_topics).sum()
    of_documents = np.zeros(-(-len(seen) // BLOCK))
    _sum_blocks(len(assignments), of_documents, starts, seen, assignments, np.asarray(alpha, np.float64))
    return float(topics + of_words + of_documents.sum())
