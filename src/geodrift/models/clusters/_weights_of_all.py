r"""Weights of all clusters given the assignments, for rows that are drawn side by side.

Of a Dirichlet process there are infinitely many clusters. Row i has a level
:math:`u_i \sim U(0, \xi(w_{z_i}))` and then any cluster with :math:`\xi(w_k) > u_i`, in proportion to
:math:`w_k / \xi(w_k)` times its density (Walker 2007; Kalli, Griffin and Walker 2011). With
:math:`\xi(w) = \min(w, 1/N)` levels bind only clusters of less than one of N rows: among all others the draw
is that without slices. Clusters beyond the least level are never needed: to leave them out cuts off nothing.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from geodrift.models.clusters._log_draws import log_dirichlet, log_gamma


class Prior(NamedTuple):
    """Dirichlet parameters.

    Attributes:
        each: Of a cluster; 0 of a Dirichlet process.
        others: How many clusters have no rows, where their number is given.
        alpha: Of all clusters without rows, of a Dirichlet process.
        background: Of rows of no cluster, with their number; 0 where there are none.
    """

    each: float
    others: int
    alpha: float
    background: float = 0.0


class Weights(NamedTuple):
    """A draw, of clusters that have rows, then of others, and last of the background.

    Attributes:
        logs: Log w, [K + 1]; minus infinity where there is no background.
        caps: Log xi, [K + 1].
        levels: Log u of the rows, [S].
    """

    logs: Float[np.ndarray, " K1"]
    caps: Float[np.ndarray, " K1"]
    levels: Float[np.ndarray, " S"]


def drawn_weights(
    counts: Int[np.ndarray, " t"],
    places: Int[np.ndarray, " S"],
    number: int,
    prior: Prior,
    rng: np.random.Generator,
) -> Weights:
    """Weights, and levels of the rows of a step.

    Args:
        counts: Rows of the clusters that have some.
        places: Of each row of the step, which of these it is in; -1: the background.
        number: N, all rows.
        prior: See there.
        rng: Generator.
    """
    shapes = np.append(counts + prior.each, np.full(prior.others, prior.each))
    ends = [value for value in (prior.alpha, prior.background) if value]
    logs = log_dirichlet(np.append(shapes, ends), rng)
    background = logs[-1] if prior.background else -np.inf
    found = np.append(logs[: len(shapes)], background)
    if not prior.alpha:
        return Weights(found, np.zeros(len(found)), np.full(len(places), -np.inf))
    levels = _log_caps(found, number)[places] - rng.standard_exponential(len(places))
    more = _broken_off(float(logs[len(shapes)]), prior.alpha, float(levels.min()), rng)
    found = np.concatenate([found[:-1], more, found[-1:]])
    return Weights(found, _log_caps(found, number), levels)


def _log_caps(logs: Float[np.ndarray, " K"], number: int) -> Float[np.ndarray, " K"]:
    """Log xi; what has no weight is never asked for it."""
    return np.minimum(np.where(np.isfinite(logs), logs, 0.0), -np.log(number))


def _broken_off(
    log_left: float, alpha: float, level: float, rng: np.random.Generator
) -> Float[np.ndarray, " n"]:
    """Log weights of clusters without rows, until what is left of them is below a level."""
    found: list[float] = []
    while log_left > level:
        one, others = log_gamma(np.array([1.0, alpha]), rng)
        whole = np.logaddexp(one, others)
        found.append(log_left + one - whole)
        log_left += others - whole
    return np.array(found)
