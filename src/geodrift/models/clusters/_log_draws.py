r"""Logarithms of gamma and Dirichlet draws, and slices of a Dirichlet process: no weight underflows.

Rows are drawn side by side given the weights w of all clusters, of which there are infinitely many. Row i has
a level :math:`u_i \sim U(0, \xi(w_{z_i}))` and then any cluster with :math:`\xi(w_k) > u_i`, in proportion to
:math:`w_k / \xi(w_k)` times its density (Walker 2007; Kalli, Griffin and Walker 2011). With
:math:`\xi(w) = \min(w, 1/N)` the levels bind only clusters of less than one of N rows: among all others the
draw is that without slices. Clusters beyond the least level are never needed, and nothing is cut off.
"""

import numpy as np
from jaxtyping import Float


def log_gamma(shapes: Float[np.ndarray, "*n"], rng: np.random.Generator) -> Float[np.ndarray, "*n"]:
    """Logarithms of Gamma draws; none underflows."""
    return np.log(rng.standard_gamma(shapes + 1.0)) - rng.standard_exponential(np.shape(shapes)) / shapes


def log_dirichlet(shapes: Float[np.ndarray, "*n V"], rng: np.random.Generator) -> Float[np.ndarray, "*n V"]:
    """Logarithms of Dirichlet draws along the last axis; none underflows."""
    # Gamma(s) = Gamma(s + 1) U^(1/s).
    logs = log_gamma(shapes, rng)
    logs -= logs.max(axis=-1, keepdims=True)
    return logs - np.log(np.exp(logs).sum(axis=-1, keepdims=True))


def log_caps(log_weights: Float[np.ndarray, " K"], number: int) -> Float[np.ndarray, " K"]:
    """Log xi of clusters where there are so many rows; of no weight it is never asked for."""
    return np.minimum(np.where(np.isfinite(log_weights), log_weights, 0.0), -np.log(number))


def log_levels(caps: Float[np.ndarray, " S"], rng: np.random.Generator) -> Float[np.ndarray, " S"]:
    """Log u of rows, given log xi of their clusters."""
    return caps - rng.standard_exponential(len(caps))


def broken_off(
    log_left: float, alpha: float, level: float, rng: np.random.Generator
) -> Float[np.ndarray, " n"]:
    """Log weights of clusters without rows, until what is left of them is below the level.

    Args:
        log_left: Of the weight of all of them.
        alpha: Concentration.
        level: The least that a row has.
        rng: Generator.
    """
    found: list[float] = []
    while log_left > level:
        one, others = log_gamma(np.array([1.0, alpha]), rng)
        whole = np.logaddexp(one, others)
        found.append(log_left + one - whole)
        log_left += others - whole
    return np.array(found)
