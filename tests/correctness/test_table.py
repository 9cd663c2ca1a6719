"""Every sampler on every target: the rows that docs/reference/correctness.md shows."""

import importlib
import inspect
import json
from pathlib import Path

import jax
import numpy as np
import pytest

import geodrift as gd
from correctness.measure import exact_values
from correctness.table import judge, rows, space
from correctness.targets import TARGETS
from law_checks import z_bound

ROWS = [row for row in rows() if not row.reason]
# Judged in seconds, with minibatches and without; spheres and products take longer.
FAST = [
    pytest.param("SGLD on double well t^4 - 2 t^2, Euclidean(1)", marks=pytest.mark.slow),
    "GMC on double well t^4 - 2 t^2, Euclidean(1)",
]
# Samplers that no row can judge, and why.
WITHOUT_ROWS = {
    "HostSCIR": "runs outside jit; its kernel's law is tested against that of SCIR's",
    "SGFS": "needs each datum's score",
}
# Manifolds that no target has, and why.
WITHOUT_TARGETS = {
    "Manifold": "the protocol",
    "Embedded": "the base of flat and embedded manifolds",
    "Ordered": "free motion of R^n, sorted: see tests/core/test_manifold_laws.py",
}


def fails(row):
    return [f"{v.moment}: {text}" for v in judge(row) for text in v.failures]


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("name", FAST)
def test_fast_rows(name):
    (row,) = (row for row in ROWS if row.name == name)
    assert not fails(row)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row(row):
    assert not fails(row)


@pytest.mark.slow
def test_the_page_has_every_row():
    path = Path(__file__).parents[2] / "docs" / "reference" / "correctness.json"
    shown = set(json.loads(path.read_text())["rows"])
    missing = {row.name for row in ROWS} - shown
    assert not missing, f"run benchmarks/correctness/table.py --missing for {sorted(missing)}"


def test_every_sampler_has_rows_or_a_reason():
    exported = {
        name
        for name in gd.samplers.__all__
        if inspect.isclass(thing := getattr(gd.samplers, name))
        and issubclass(thing, gd.samplers.Sampler)
        and not inspect.isabstract(thing)
    }
    one_row_a_case = {row.case.name: row for row in ROWS}.values()
    measured = {type(row.sampler(row.step_sizes()[0])).__name__ for row in one_row_a_case}
    assert exported == measured | set(WITHOUT_ROWS)


def test_every_manifold_has_a_target_or_a_reason():
    def parts(manifold):
        tree = manifold.tree if isinstance(manifold, gd.manifolds.Product) else manifold
        leaves = jax.tree.leaves(tree, is_leaf=lambda node: isinstance(node, gd.manifolds.Manifold))
        return {type(manifold).__name__, *(type(leaf).__name__ for leaf in leaves)}

    module = importlib.import_module("geodrift.manifolds")
    manifolds = [name for name in module.__all__ if inspect.isclass(getattr(module, name))]
    targets = set().union(*(parts(target.manifold) for target in TARGETS))
    assert set(manifolds) == targets | set(WITHOUT_TARGETS)


def test_names_of_rows_are_unique():
    names = [row.name for row in rows()]
    assert len(names) == len(set(names))


@pytest.mark.slow  # these samplers change with their targets alone
@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.name}, {space(target.manifold)}")
def test_exact_draws_have_the_stated_means(target):
    values = exact_values(target, 3, 50_000)
    bound = z_bound(sum(len(t.moments) for t in TARGETS))
    for value, (_, mean) in zip(values.T, target.moments.values(), strict=True):
        assert abs(value.mean() - mean) < bound * value.std() / np.sqrt(50_000)
