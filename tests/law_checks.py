"""Tests of many means at once, at a family-wise error rate of 1%."""

import numpy as np
import pytest
from scipy import stats

FAMILY_ERROR = 0.01


def z_bound(comparisons: int, degrees: float = np.inf) -> float:
    """Bonferroni bound of a two-sided t statistic."""
    return float(stats.t.ppf(1 - FAMILY_ERROR / (2 * comparisons), degrees))


def some(cases, names):
    """The cases of a test, of which those of other names are slow: what they share is tried by these."""
    marks = [() if case.name in names else pytest.mark.slow for case in cases]
    return [pytest.param(case, marks=mark, id=case.name) for case, mark in zip(cases, marks, strict=True)]


def some_of(names, few):
    """The names of a test's cases, of which the others are slow: what they share is tried by the few."""
    return [name if name in few else pytest.param(name, marks=pytest.mark.slow) for name in names]


def assert_means(draws, expected, slack=0.0, comparisons=None):
    """The means of independent chains equal what is expected.

    Args:
        draws: ``[chain, draw, ...]``; the chain means are independent, so their spread holds the
            autocorrelation.
        expected: ``[...]``.
        slack: Absolute deviation allowed beside the Monte Carlo error.
        comparisons: Size of the family; the number of means when None.
    """
    means = np.asarray(draws).mean(axis=1)
    error = means.std(axis=0, ddof=1) / np.sqrt(means.shape[0])
    deviation = np.maximum(np.abs(means.mean(axis=0) - expected) - slack, 0)
    bound = z_bound(comparisons or np.size(expected), means.shape[0] - 1)
    worst = np.max(deviation / error)
    assert worst < bound, (
        f"t = {worst:.2f} > {bound:.2f}: {means.mean(axis=0)} +- {error}, expected {expected}"
    )


def mean_and_error(draws):
    """Mean over all draws of a scalar, and its standard error from independent chains."""
    means = np.asarray(draws).mean(axis=1)
    return means.mean(), means.std(ddof=1) / np.sqrt(len(means))
