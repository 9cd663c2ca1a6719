"""The log joint of a mixture of unit vectors, with directions and weights integrated out."""

import numpy as np
from scipy.special import gammaln

from geodrift.distributions import host_log_normaliser
from geodrift.models.von_mises_fisher_mixture._cluster_number import ClusterNumber, Components
from geodrift.models.von_mises_fisher_mixture._conditional import Sums
from geodrift.models.von_mises_fisher_mixture._parameters import Prior


def log_joint(sums: Sums, number: ClusterNumber, prior: Prior, num_rows: int, dim: int) -> float:
    """Log density of rows, assignments and concentrations, but for constants of the priors.

    Args:
        sums: Of the clusters.
        number: Prior of the number of clusters, with its state.
        prior: The other priors.
        num_rows: N.
        dim: d.
    """
    t, a0, r0_square = np.flatnonzero(sums.counts), prior.a0, float(prior.r0 @ prior.r0)
    counts, kappa = sums.counts[t], sums.kappa[t]
    total = number.total + a0
    value = gammaln(total) - gammaln(total + num_rows)
    if a0:
        outside = sums.background[0]
        value += gammaln(outside + a0) - gammaln(a0) + outside * host_log_normaliser(dim, 0.0)
    if number.g:
        value += (gammaln(counts + number.g) - gammaln(number.g)).sum()
        if type(number) is not Components:
            value += gammaln(number.value + 1) - gammaln(number.value - len(t) + 1)
    else:
        value += len(t) * np.log(number.value) + gammaln(counts).sum()
    squares = kappa**2 * sums.squares[t] + 2 * kappa * sums.along[t] + r0_square
    lengths = np.sqrt(np.maximum([*squares, r0_square], 0))
    # A call takes as long for all as for one.
    of_rows, ends = np.split(host_log_normaliser(dim, np.concatenate([kappa, lengths])), [len(t)])
    value += (counts * of_rows - ends[:-1]).sum()
    value += len(t) * ends[-1]
    log_prior = prior.concentration.log_density(kappa[:1] if prior.shared else kappa)
    return float(value + log_prior.sum())
