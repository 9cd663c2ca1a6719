"""The collapsed Gibbs sampler of von Mises-Fisher mixtures against enumeration of all partitions."""

import copy

import numpy as np
import pytest
from scipy import sparse as sp

from geodrift.kernels._streams import VMF_ASSIGNMENTS
from geodrift.models.von_mises_fisher_mixture._cluster_number import (
    Components,
    DirichletProcess,
    FiniteMixtures,
)
from geodrift.models.von_mises_fisher_mixture._collapsed_gibbs import CollapsedGibbs
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of
from law_checks import assert_means
from models import vmf_problem

CASES = {
    "two components": (Components(2, 0.7), vmf_problem.prior()),
    "two components, one kappa": (Components(2, 1.0), vmf_problem.prior(shared=True)),
    "three components, a background": (Components(3, 0.5), vmf_problem.prior(a0=0.8)),
    "a Dirichlet process, directions with a prior": (
        DirichletProcess(1.3),
        vmf_problem.prior(r0=(-3.0, 2.0, 1.0)),
    ),
    "a Dirichlet process with one kappa and a background": (
        DirichletProcess(0.9),
        vmf_problem.prior(a0=0.6, shared=True),
    ),
    "finite mixtures": (FiniteMixtures(12, 0.8), vmf_problem.prior(r0=(0.0, 0.0, 0.5))),
}


BATCHES = {name: 1 + place % 4 for place, name in enumerate(CASES)}  # of one row to all four

# What the others are made of, the quick ones have too: a background, a prior of the directions, one kappa.
SLOW = {"two components", "a Dirichlet process, directions with a prior"}
AGAIN = {"two components, one kappa", "three components, a background"}
MARKED = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW | AGAIN else []) for name in CASES]


@pytest.mark.parametrize("name", MARKED)
def test_partitions_and_concentrations_have_the_law_of_enumeration(name):
    number, law = CASES[name]
    steps = 1_000 if name in SLOW else 600
    draws = [vmf_problem.chain(copy.copy(number), law, seed, steps, BATCHES[name]) for seed in range(8)]
    expected = vmf_problem.expected(number, law)
    told = (expected != 0) & (expected != 1)
    found = np.array(draws)[:, 100:, told]
    assert_means(found, expected[told])


def test_sparse_rows_are_drawn_as_dense_ones():
    number, law = CASES["a Dirichlet process, directions with a prior"]
    dense = vmf_problem.chain(copy.copy(number), law, 1, 100, 3)
    sparse = vmf_problem.chain(copy.copy(number), law, 1, 100, 3, rows=sp.csr_matrix(vmf_problem.ROWS))
    np.testing.assert_array_equal(dense[:, :-1], sparse[:, :-1])
    np.testing.assert_allclose(dense[:, -1], sparse[:, -1], rtol=1e-10)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_number_of_components_that_is_given_stays(form):
    """In float64 3 * .1 / .1 is more than 3."""
    rows = rows_of(form(vmf_problem.ROWS))
    gibbs = CollapsedGibbs(rows, Components(3, 0.1), vmf_problem.prior(), np.zeros(4, int), np.ones(3))
    gibbs.one_by_one(np.arange(4), VMF_ASSIGNMENTS.family(0, 0, 0), np.random.default_rng(0))
    assert len(gibbs.parameters(np.random.default_rng(1)).weights) == len(gibbs.kappa) == 3
