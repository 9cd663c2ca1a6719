r"""The concentration alpha of a Dirichlet process given how many clusters its rows are in.

k clusters of n rows have probability :math:`\propto \alpha^k \Gamma(\alpha) / \Gamma(\alpha + n)`, and with
:math:`q \sim \mathrm{Beta}(\alpha, n)`

.. math:: \alpha \mid q, k \sim \mathrm{Gamma}(a + k,\; b - \log q)

(Escobar and West 1995, section 6, in the form of one gamma).
"""

import numpy as np

SHAPE, RATE = 1.0, 1.0  # a and b, of the prior


def draw_concentration(
    alpha: float, clusters: int, rows: int, rng: np.random.Generator, rate: float = RATE
) -> float:
    """Alpha of a Dirichlet process.

    Args:
        alpha: Its present value.
        clusters: k, clusters that have rows.
        rows: n.
        rng: Of the random numbers.
        rate: b.
    """
    if rows == 0:
        return float(rng.standard_gamma(SHAPE) / rate)
    # Of small alpha a Beta draw underflows: log q by Gamma(s) = Gamma(s + 1) U^(1/s).
    one = np.log(rng.standard_gamma(alpha + 1.0)) - rng.standard_exponential() / alpha
    log_q = one - np.logaddexp(one, np.log(rng.standard_gamma(rows)))
    return float(rng.standard_gamma(SHAPE + clusters) / (rate - log_q))
