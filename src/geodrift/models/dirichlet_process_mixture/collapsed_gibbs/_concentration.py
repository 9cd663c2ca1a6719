r"""The concentration alpha given the numbers of rows of K clusters of weights Dirichlet(alpha / K).

.. math:: p(\alpha \mid m) \propto p(\alpha) \frac{\Gamma(\alpha)}{\Gamma(\alpha + n)}
    \prod_k \frac{\Gamma(\alpha / K + m_k)}{\Gamma(\alpha / K)},

of which a slice sampler makes a move on the logarithm of alpha (Neal 2003).
"""

import numpy as np
from jaxtyping import Int
from scipy.special import gammaln

from geodrift.models.kit._slice_sampling import slice_transition

SHAPE, RATE = 1.0, 1.0  # a and b, of the prior
_WIDTH = 2.0  # of the slice sampler's first interval


def log_density_of_finite(log_alpha: float, numbers: Int[np.ndarray, " K"]) -> float:
    """Of log alpha where the number of clusters is given, up to a constant."""
    alpha = np.exp(log_alpha)
    each = alpha / len(numbers)
    found = gammaln(alpha) - gammaln(alpha + numbers.sum()) + (gammaln(each + numbers) - gammaln(each)).sum()
    return float(found + SHAPE * log_alpha - RATE * alpha)


def draw_finite_concentration(
    alpha: float, numbers: Int[np.ndarray, " K"], rng: np.random.Generator
) -> float:
    """A move of alpha where the number of clusters is given.

    Args:
        alpha: Its present value.
        numbers: m, the rows of each cluster.
        rng: Of the random numbers.
    """
    return float(
        np.exp(slice_transition(np.log(alpha), lambda x: log_density_of_finite(x, numbers), rng, _WIDTH))
    )
