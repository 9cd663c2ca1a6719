r"""The document prior alpha given all assignments, drawn exactly by augmentation.

With A the sum of alpha, document d of n_d tokens contributes

.. math:: \frac{\Gamma(A)}{\Gamma(A + n_d)} \prod_k \frac{\Gamma(\alpha_k + n_{dk})}{\Gamma(\alpha_k)}
    \propto \int q^{A - 1} (1 - q)^{n_d - 1} dq \; \prod_k \sum_l s(n_{dk}, l)\, \alpha_k^l

with unsigned Stirling numbers s of the first kind. Given alpha, the auxiliary variables are
:math:`q_d \sim \mathrm{Beta}(A, n_d)` and the numbers of tables of Chinese restaurants, l_dk, a sum of
Bernoulli draws of probabilities :math:`\alpha_k / (\alpha_k + i)`, i = 0, ..., n_dk - 1 (Escobar and West
1995; Teh et al. 2006, appendix A). Given them and the prior :math:`\alpha_k \sim \mathrm{Gamma}(a, b)`,

.. math:: \alpha_k \sim \mathrm{Gamma}\Big(a + \sum_d l_{dk},\; b - \sum_d \log q_d\Big).

Tables are needed summed over documents only: as many as C of them have n_dk > i give a Binomial draw of C.
"""

import numba
import numpy as np
from jaxtyping import Float, Int, UInt

SHAPE, RATE = 1.0, 1.0  # a and b


@numba.njit(cache=True)
def _most(starts: np.ndarray, assignments: np.ndarray, num_topics: int) -> int:
    """The largest n_dk, tokens of one document and topic."""
    numbers, most = np.zeros(num_topics, np.int64), 0
    for document in range(starts.shape[0] - 1):
        for topic in assignments[starts[document] : starts[document + 1]]:
            numbers[topic] += 1
            most = max(most, numbers[topic])
        for topic in assignments[starts[document] : starts[document + 1]]:
            numbers[topic] = 0
    return most


@numba.njit(cache=True)
def documents_above(starts: np.ndarray, assignments: np.ndarray, num_topics: int) -> np.ndarray:
    """The number of documents with n_dk > i, [i, k]."""
    above = np.zeros((_most(starts, assignments, num_topics), num_topics), np.int64)
    numbers = np.zeros(num_topics, np.int64)
    for document in range(starts.shape[0] - 1):
        for topic in assignments[starts[document] : starts[document + 1]]:
            above[numbers[topic], topic] += 1
            numbers[topic] += 1
        for topic in assignments[starts[document] : starts[document + 1]]:
            numbers[topic] = 0
    return above


def draw_tables(
    prior: Float[np.ndarray, " K"],
    starts: Int[np.ndarray, " bound"],
    assignments: UInt[np.ndarray, " n"],
    rng: np.random.Generator,
) -> Int[np.ndarray, " K"]:
    """The numbers of tables of all documents, sum_d l_dk, with the arguments of `draw_document_prior`."""
    above = documents_above(starts, assignments, len(prior))
    rows, topics = np.nonzero(above)  # a draw of none takes no random number
    drawn = rng.binomial(above[rows, topics], prior[topics] / (prior[topics] + rows))
    return np.bincount(topics, drawn, len(prior)).astype(np.int64)


def draw_document_prior(
    prior: Float[np.ndarray, " K"],
    starts: Int[np.ndarray, " bound"],
    assignments: UInt[np.ndarray, " n"],
    symmetric: bool,
    rng: np.random.Generator,
) -> Float[np.ndarray, " K"]:
    """One Gibbs update of alpha given all assignments.

    Args:
        prior: alpha, float64.
        starts: The place in ``assignments`` at which each document's tokens begin, and the end of the last.
        assignments: z of all tokens.
        symmetric: Whether all components are one number, which then has the prior Gamma(a, b).
        rng: Generator of the random numbers.

    Returns:
        The new alpha, float64.
    """
    tables = draw_tables(prior, starts, assignments, rng)
    fall = -log_beta(prior.sum(), np.diff(starts), rng).sum()
    if symmetric:
        value = rng.standard_gamma(SHAPE + tables.sum()) / (RATE + len(prior) * fall)
        return np.full(len(prior), value)
    return rng.standard_gamma(SHAPE + tables) / (RATE + fall)


def log_beta(first: float, lengths: Int[np.ndarray, " D"], rng: np.random.Generator) -> np.ndarray:
    """Logarithms of Beta(first, n_d) draws, one for each document with tokens; no draw underflows."""
    lengths = lengths[lengths > 0]
    # Gamma(s) = Gamma(s + 1) U^(1/s).
    one = (
        np.log(rng.standard_gamma(first + 1.0, len(lengths))) - rng.standard_exponential(len(lengths)) / first
    )
    other = np.log(rng.standard_gamma(lengths))
    return one - np.logaddexp(one, other)
