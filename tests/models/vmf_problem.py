"""The exact posterior of a von Mises-Fisher mixture of a few rows: all partitions, quadrature over kappa."""

import itertools
from functools import partial

import numpy as np
from scipy.special import gammaln

from geodrift.distributed import Alone
from geodrift.distributions import host_log_normaliser
from geodrift.kernels._streams import (
    VMF_ASSIGNMENTS,
    VMF_CONCENTRATIONS,
    VMF_GROUPS,
    VMF_ROWS_AT_ONCE,
    VMF_STEP,
)
from geodrift.models.von_mises_fisher_mixture._cluster_number import log_components_prior
from geodrift.models.von_mises_fisher_mixture._collapsed_gibbs import CollapsedGibbs
from geodrift.models.von_mises_fisher_mixture._concentrations import ConcentrationPrior
from geodrift.models.von_mises_fisher_mixture._parameters import Prior
from geodrift.models.von_mises_fisher_mixture._rows_in_groups import RowsInGroups
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of
from geodrift.models.von_mises_fisher_mixture._rows_on_device import RowsOnDevice
from geodrift.models.von_mises_fisher_mixture._split_merge import SplitMerge

ROWS = np.array([[1.0, 0.1, 0.0], [0.9, 0.4, 0.2], [-0.2, 1.0, 0.3], [0.0, -0.3, 1.0]])
ROWS /= np.linalg.norm(ROWS, axis=1, keepdims=True)
CONCENTRATION = ConcentrationPrior(3.0, 1.5, 200.0)
GRID = np.linspace(np.log(1e-4), np.log(CONCENTRATION.largest), 3001)  # of log kappa


def prior(r0=(0.0, 0.0, 0.0), a0=0.0, shared=False):
    return Prior(CONCENTRATION, shared, a0, np.array(r0))


def labellings(number, background):
    """Every partition of rows as labels in the order of the first row; -1 is the background."""
    for labels in itertools.product(range(-1 if background else 0, number), repeat=number):
        seen = [k for k in labels if k >= 0]
        firsts = list(dict.fromkeys(seen))
        if firsts == list(range(len(firsts))):
            yield np.array(labels)


def log_prior_of_kappa(concentration=CONCENTRATION):
    """Log of the normalised density of log kappa on the grid, with the weights of the grid in it."""
    value = concentration.log_density(np.exp(GRID)) + GRID
    return value - np.log(np.exp(value).sum())


def log_likelihood_of_kappa(rows, r0):
    """Log density of the rows of one cluster at every kappa of the grid, the direction integrated out."""
    kappa, dim = np.exp(GRID), rows.shape[1]
    length = np.linalg.norm(kappa[:, None] * rows.sum(axis=0) + r0, axis=1)
    first = len(rows) * host_log_normaliser(dim, kappa) + host_log_normaliser(dim, np.linalg.norm(r0))
    return first - host_log_normaliser(dim, length)


def log_sum(values):
    best = values.max()
    return best + np.log(np.exp(values - best).sum())


def log_partition(labels, number, a0):
    """Log prior of a partition, by the textbooks' formulas rather than by conditionals."""
    counts = np.bincount(labels[labels >= 0]) if (labels >= 0).any() else np.zeros(0)
    outside, every, t = (labels < 0).sum(), len(labels), len(counts)
    noise = gammaln(outside + a0) - gammaln(a0) if a0 else 0.0

    def given(total, terms):
        return gammaln(total + a0) - gammaln(total + a0 + every) + terms + noise

    if number.g == 0:
        return given(number.value, t * np.log(number.value) + gammaln(counts).sum())
    g = number.g
    terms = (gammaln(counts + g) - gammaln(g)).sum()
    if not hasattr(number, "most"):
        k = number.value
        return given(k * g, terms + gammaln(k + 1) - gammaln(k - t + 1)) if t <= k else -np.inf
    every_k = np.arange(max(t, 1), number.most + 1)
    over = [given(k * g, terms + gammaln(k + 1) - gammaln(k - t + 1)) for k in every_k]
    return log_sum(log_components_prior(every_k) + np.array(over))


def statistics(labels, kappa_of_first):
    """Pairs in one cluster, rows in none, clusters, and log kappa of the first row's."""
    same = (labels[:, None] == labels) & (labels[:, None] >= 0)
    t = len(set(labels[labels >= 0]))
    upper = same[np.triu_indices(len(labels), 1)]
    return np.array([*upper, *(labels < 0), t == 1, t == 2, t == 3, t, kappa_of_first], float)


def expected(number, law, rows=ROWS):
    """Posterior means of the statistics."""
    log_weights, values = [], []
    log_kappa = log_prior_of_kappa(law.concentration)
    for labels in labellings(len(rows), law.a0 > 0):
        terms = [log_kappa * 0 + 0.0]
        of = {k: log_likelihood_of_kappa(rows[labels == k], law.r0) for k in set(labels[labels >= 0])}
        base = log_partition(labels, number, law.a0)
        base += (labels < 0).sum() * host_log_normaliser(rows.shape[1], 0.0)
        mean = 0.0
        if law.shared:
            terms = log_kappa + sum(of.values())
            weight = log_sum(terms)
            if labels[0] >= 0:
                mean = (np.exp(terms - weight) * GRID).sum()
        else:
            each = {k: log_sum(log_kappa + value) for k, value in of.items()}
            weight = sum(each.values())
            if labels[0] >= 0:
                k = labels[0]
                mean = (np.exp(log_kappa + of[k] - each[k]) * GRID).sum()
        log_weights.append(base + weight)
        values.append(statistics(labels, mean))
    p = np.exp(np.array(log_weights) - log_sum(np.array(log_weights)))
    return p @ np.array(values)


def chain(number, law, seed, steps, batch=None, rows=ROWS, moves=0, groups=1, team=None, device=False):
    """Statistics along one Gibbs chain of minibatches, with so many splits or merges after each.

    Rows are redrawn in ``groups`` of clusters, which the processes of ``team`` share, or on a device.
    """
    split_merge, every = SplitMerge(law), rows_of(rows)
    on_device = RowsOnDevice(every) if device else None
    gibbs = CollapsedGibbs(every, number, law, np.zeros(rows.shape[0], int), np.full(rows.shape[0], 2.0))
    found = []
    for count in range(steps):
        rng = VMF_STEP.generator(seed, 0, count)
        numbers = rng.permutation(rows.shape[0])[:batch]
        names = seed, 0, count
        otherwise = None
        if device:
            otherwise = partial(on_device.redraw, VMF_ROWS_AT_ONCE.family(*names))
        elif groups > 1:
            otherwise = RowsInGroups(groups, team or Alone(), VMF_GROUPS.generator(*names))
        gibbs.step(numbers, VMF_ASSIGNMENTS.family(*names), VMF_CONCENTRATIONS.family(*names), rng, otherwise)
        for _ in range(moves):
            split_merge.propose(gibbs, rng)
        first = np.log(gibbs.kappa[gibbs.z[0]]) if gibbs.z[0] >= 0 else 0.0
        found.append(statistics(gibbs.z, first))
    return np.array(found)
