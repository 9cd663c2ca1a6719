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


def exact_means(code, quantities):
    problem = quantities.problem
    return code.exact.means(quantities, code.exact.every_assignment(problem))


@pytest.mark.parametrize("ladder", [(1.0,), (0.2, 0.6, 1.0)])
@pytest.mark.parametrize("kernel", ["Collapsed", "Uncollapsed"])
def test_samplers_have_the_law_of_enumeration(code, kernel, ladder):
    problem = code.exact.TINY._replace(alpha=0.7, beta=0.4)
    quantities = code.quantities.Quantities(problem)
    exact = exact_means(code, quantities)
    known = [name in exact for name in quantities.names]
    draws = []
    for number in range(20):
        chain = code.samplers.Exchange(problem, getattr(code.samplers, kernel), ladder, 7, number)
        for _ in range(20):
            chain.advance(2)
        rows = []
        for _ in range(400):
            chain.advance(2)
            rows.append(quantities(chain)[known])
        draws.append(rows)
    assert_means(np.array(draws), np.array([row["mean"] for row in exact.values()]))


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
    by_counts, by_assignments = code.exact.means(quantities, pairs), exact_means(code, quantities)
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
