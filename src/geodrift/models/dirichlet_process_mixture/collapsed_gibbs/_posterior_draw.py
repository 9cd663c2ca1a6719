r"""Weights and clusters given all assignments, and the log joint of rows and assignments.

Given the assignments, with m_k rows and N_kc tokens of word c in cluster k,

.. math:: (w_1, \ldots, w_K, w_{new}) \sim \mathrm{Dirichlet}(m_1, \ldots, m_K, \alpha), \quad
    \theta_k \sim \mathrm{Dirichlet}(a_0 + N_k),

where :math:`w_{new}` is the weight of all clusters that have no rows. Where their number K is given there are
no others, and alpha / K is added to every :math:`m_k`.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln

from geodrift.models.clusters._log_draws import log_dirichlet

LEAST = np.float32(np.finfo(np.float32).tiny)  # stored in the place of what float32 cannot hold


def draw_weights(
    numbers: Int[np.ndarray, " K"], alpha: float, extra: float, rng: np.random.Generator
) -> tuple[Float[np.ndarray, " K"], float]:
    """Weights of the clusters, float32, and that of all others.

    Args:
        numbers: m, the rows of each.
        alpha: Concentration; 0 where there are no others.
        extra: Added to every m_k.
        rng: Of the random numbers.
    """
    shapes = numbers + extra
    weights = np.exp(log_dirichlet(np.append(shapes, alpha) if alpha > 0 else shapes, rng))
    return weights[: len(numbers)].astype(np.float32), float(weights[-1]) if alpha > 0 else 0.0


def draw_clusters(
    counts: Int[np.ndarray, "K V"], prior: float, rng: np.random.Generator
) -> Float[np.ndarray, "K V"]:
    """The words' probabilities in each cluster, float32 and at least `LEAST`."""
    return np.maximum(np.exp(log_dirichlet(counts + prior, rng)).astype(np.float32), LEAST)


def log_joint(
    counts: Int[np.ndarray, "K V"], numbers: Int[np.ndarray, " K"], prior: float, alpha: float, given: bool
) -> float:
    """Log joint density of rows, assignments and the concentration, which has the prior Gamma(1, 1).

    The multinomial coefficients of the rows, which nothing changes, are left out.

    Args:
        counts: N, of the clusters that have rows, or of all where their number is given.
        numbers: m, of the same.
        prior: a_0.
        alpha: Concentration.
        given: Whether the number of clusters is.
    """
    num_words, num_rows = counts.shape[1], numbers.sum()
    if given:
        each = alpha / len(numbers)
        of_partition = (gammaln(each + numbers) - gammaln(each)).sum()
    else:
        of_partition = len(numbers) * np.log(alpha) + gammaln(numbers).sum()
    of_partition += gammaln(alpha) - gammaln(alpha + num_rows)
    some = counts[counts > 0]
    of_words = (gammaln(prior + some) - gammaln(prior)).sum()
    whole = num_words * prior
    of_words += (gammaln(whole) - gammaln(whole + counts.sum(axis=1, dtype=np.int64))).sum()
    return float(of_partition + of_words - alpha)
