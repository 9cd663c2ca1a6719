"""The samplers of `reproductions/posteriordb` against the sum over all assignments."""

import importlib
import itertools
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from law_checks import assert_means

ROOT = Path(__file__).parents[2] / "reproductions" / "posteriordb"
MODULES = ("samplers", "quantities", "exact")


@pytest.fixture(scope="module")
def code():
    sys.path.insert(0, str(ROOT))
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    finally:
        sys.path.remove(str(ROOT))
        for name in MODULES:
            sys.modules.pop(name, None)


def assert_law(code, kernel, ladder, exact):
    """Chains of the tiny problem have the exact means."""
    quantities = code.quantities.Quantities(code.exact.TINY)
    known = [name in exact for name in quantities.names]
    draws = []
    for number in range(20):
        chain = code.samplers.Exchange(code.exact.TINY, kernel, ladder, 7, number)
        for _ in range(20):
            chain.advance(1)
        rows = []
        for _ in range(400):
            chain.advance(1)
            rows.append(quantities(chain)[known])
        draws.append(rows)
    assert_means(np.array(draws), np.array([row["mean"] for row in exact.values()]))


@pytest.mark.parametrize("ladder", [pytest.param((1.0,), marks=pytest.mark.slow), (0.1, 0.5, 1.0)])
@pytest.mark.parametrize("kernel", ["Collapsed", pytest.param("Uncollapsed", marks=pytest.mark.slow)])
def test_samplers_have_the_law_of_enumeration(code, kernel, ladder):
    quantities = code.quantities.Quantities(code.exact.TINY)
    exact = code.exact.means(quantities, code.exact.every_assignment(code.exact.TINY))
    assert_law(code, getattr(code.samplers, kernel), ladder, exact)


@pytest.mark.parametrize("kernel", ["Collapsed", pytest.param("Uncollapsed", marks=pytest.mark.slow)])
def test_a_replica_has_the_law_that_its_exchanges_take_it_to_have(code, kernel):
    tiny, power = code.exact.TINY, 0.4
    kernel = getattr(code.samplers, kernel)
    at_power, prior = kernel(tiny, power), code.samplers.log_prior_of_assignments
    states = [counts for _, counts in code.exact.every_assignment(tiny)]
    weighted = ((prior(tiny, counts) + at_power.log_weight(counts), counts) for counts in states)
    exact = code.exact.means(code.quantities.Quantities(tiny), weighted)
    assert_law(code, kernel, (power,), exact)


def test_sums_over_counts_are_sums_over_assignments(code):
    problem = code.samplers.Problem(
        words=np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2]),
        documents=np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2]),
        num_words=3,
        num_documents=3,
        num_topics=2,
        alpha=1.0,
        beta=1.0,
    )
    quantities, cells = code.quantities.Quantities(problem), code.exact.FourCells(problem)
    states, log_weights, shares = cells.sums()
    assert len(states) == 4 * 2 * 4 * 4
    pairs = ((w, cells.counts(state)) for w, state in zip(log_weights, states, strict=True))
    by_counts = code.exact.means(quantities, pairs)
    by_assignments = code.exact.means(quantities, code.exact.every_assignment(problem))
    for name, row in by_assignments.items():
        assert by_counts[name]["mean"] == pytest.approx(row["mean"], rel=1e-9)
    expected = np.zeros(8)
    for log_weight, counts in code.exact.every_assignment(problem):
        majority = 2 * counts.in_documents[:, 0] > counts.in_documents.sum(axis=1)
        expected[(majority << np.arange(3)).sum()] += np.exp(log_weight)
    np.testing.assert_allclose(shares, expected / expected.sum(), rtol=1e-9)


def test_quantities_do_not_depend_on_labels(code):
    problem = code.exact.TINY._replace(num_topics=3)
    quantities, rng = code.quantities.Quantities(problem), np.random.default_rng(0)
    z = rng.integers(3, size=len(problem.words))
    values = [
        code.exact.given_assignments(quantities, code.samplers.counts_of(problem, np.array(order)[z]))
        for order in itertools.permutations(range(3))
    ]
    np.testing.assert_allclose(values, np.broadcast_to(values[0], np.shape(values)), rtol=1e-12)
