"""The posterior of a Dirichlet-process mixture of a few rows, by going over all partitions of the rows."""

import numpy as np
from scipy.special import gammaln


def partitions(number):
    """All partitions of ``number`` rows, each row's cluster named by the order of the first rows."""
    found = [[0]]
    for _ in range(number - 1):
        found = [[*each, cluster] for each in found for cluster in range(max(each) + 2)]
    return np.array(found)


def canonical(assignments):
    """Assignments, [..., row], with clusters named by the order of their first rows."""
    flat = assignments.reshape(-1, assignments.shape[-1])
    out = np.empty_like(flat)
    for i, row in enumerate(flat):
        names = {}
        out[i] = [names.setdefault(cluster, len(names)) for cluster in row.tolist()]
    return out.reshape(assignments.shape)


def log_density_of_words(rows, prior):
    """Log density of the words of one cluster, its probabilities integrated out."""
    counts = rows.sum(axis=0)
    whole = prior * rows.shape[1]
    return (gammaln(prior + counts) - gammaln(prior)).sum() + gammaln(whole) - gammaln(whole + counts.sum())


def log_weight(partition, rows, prior, alpha, finite=None):
    """Log probability of a partition and its words, but for a constant, at each of some alphas."""
    sizes = np.bincount(partition)
    words = sum(log_density_of_words(rows[partition == k], prior) for k in range(len(sizes)))
    found = words + gammaln(alpha) - gammaln(alpha + len(partition))
    if finite is None:
        return found + len(sizes) * np.log(alpha) + gammaln(sizes).sum()
    if len(sizes) > finite:
        return np.full_like(found, -np.inf)
    labels = gammaln(finite + 1) - gammaln(finite - len(sizes) + 1)
    each = alpha / finite
    return found + labels + sum(gammaln(each + size) - gammaln(each) for size in sizes)


def posterior(rows, prior, alpha=None, finite=None):
    """Probabilities of all partitions, and the mean of alpha.

    Args:
        rows: Counts.
        prior: a_0.
        alpha: The concentration; None: it has the prior Gamma(1, 1), and is integrated out by quadrature.
        finite: K, where the number of clusters is given.

    Returns:
        The partitions, their probabilities, and the posterior mean of alpha.
    """
    if alpha is None:
        # In the logarithm of alpha the integrand is smooth, and falls at both ends.
        logs = np.linspace(-16, 4.5, 4001)
        alphas, of_alpha = np.exp(logs), logs - np.exp(logs)
    else:
        alphas, of_alpha = np.array([float(alpha)]), np.zeros(1)
    all_partitions = partitions(len(rows))
    logs = np.array([log_weight(each, rows, prior, alphas, finite) for each in all_partitions]) + of_alpha
    p = np.exp(logs - logs.max())
    p /= p.sum()
    return all_partitions, p.sum(axis=1), float(p.sum(axis=0) @ alphas)


def next_word(rows, prior, partition, alpha):
    """Given a partition, the probability of each word as the first of another row."""
    found = np.full(rows.shape[1], alpha / (alpha + len(rows)) / rows.shape[1])
    for k in range(partition.max() + 1):
        counts = rows[partition == k].sum(axis=0)
        share = (partition == k).sum() / (alpha + len(rows))
        found += share * (prior + counts) / (prior * rows.shape[1] + counts.sum())
    return found
