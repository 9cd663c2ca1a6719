"""Von Mises-Fisher mixtures whose rows are drawn in JAX, as on a GPU, here by its CPU back end."""

import copy

import numpy as np
import pytest

from geodrift.models.von_mises_fisher_mixture import _chain
from law_checks import assert_means
from models import vmf_device_program, vmf_problem
from models.test_vmf_law import BATCHES, CASES

pytestmark = pytest.mark.usefixtures("unchecked_types")

QUICK = {
    "three components, a background",
    "a Dirichlet process, directions with a prior",
    "finite mixtures",
}
MARKED = [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in CASES]


@pytest.fixture
def device(monkeypatch):
    monkeypatch.setattr(_chain, "drawn_on_device", lambda: True)


@pytest.mark.parametrize("name", MARKED)
def test_rows_drawn_all_at_once_have_the_law_of_enumeration(name):
    number, law = CASES[name]
    steps, chains = (700, 6) if name in QUICK else (2_000, 8)
    draws = [
        vmf_problem.chain(copy.copy(number), law, seed, steps, BATCHES[name], device=True)
        for seed in range(chains)
    ]
    expected = vmf_problem.expected(number, law)
    told = (expected != 0) & (expected != 1)
    assert_means(np.array(draws)[:, 100:, told], expected[told])


def clustered(number, dim, clusters, kappa, seed=0):
    """Rows of clusters, and the clusters."""
    rng = np.random.default_rng(seed)
    z = rng.integers(clusters, size=number)
    return vmf_device_program.rows_around(rng, dim, clusters, kappa, z), z
