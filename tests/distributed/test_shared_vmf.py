"""Von Mises-Fisher mixtures by several processes: the bits of one, and the law, which is enumerated."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp

from distributed.chains_of_teams import assert_same, taken
from distributed.thread_team import together
from geodrift.distributions._host_sample import host_sample
from geodrift.models.von_mises_fisher_mixture import Settings
from geodrift.models.von_mises_fisher_mixture._chain import Chain
from geodrift.models.von_mises_fisher_mixture._cluster_number import (
    Components,
    DirichletProcess,
    FiniteMixtures,
)
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of
from law_checks import assert_means
from models import vmf_problem

STEPS = 24


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(5)
    directions = host_sample(rng, np.zeros((12, 6)))
    return host_sample(rng, 25.0 * directions[rng.integers(12, size=400)])


def of_chain(rows, team=None, steps=STEPS, restored=None, **settings):
    """Draws of a chain and its state at the end."""
    chain = Chain(rows_of(rows), Settings(**settings), seed=1, team=team)
    return taken(chain, STEPS, steps, 8, restored)


@pytest.mark.parametrize(
    ("sparse", "settings"),
    [
        pytest.param(False, {"cluster_groups": 8, "batch_size": 150}, marks=pytest.mark.slow),
        pytest.param(
            False,
            {"cluster_groups": 3, "number_prior": "Dirichlet process", "weight_prior": 20.0},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            False,
            {"cluster_groups": 8, "n_clusters": 20, "background": 5.0, "batch_size": 150},
            marks=pytest.mark.slow,
        ),
        (True, {"cluster_groups": 4, "shared_concentration": True, "background": 5.0}),
    ],
)
def test_any_number_of_processes_has_the_bits_of_one(sparse, settings, vectors):
    rows = sp.csr_matrix(vectors) if sparse else vectors
    alone = of_chain(rows, **settings)
    assert len(np.unique(alone[1]["assignments"])) > 3
    for size in (2, 4):
        for shared in together(size, lambda team: of_chain(rows, team, **settings)):
            assert_same(alone, shared)


def test_what_three_processes_left_one_goes_on_with(vectors):
    settings = {"cluster_groups": 8, "batch_size": 150}
    whole = of_chain(vectors, **settings)
    _, half = together(3, lambda team: of_chain(vectors, team, steps=16, **settings))[0]
    assert_same((whole[0][2:], whole[1]), of_chain(vectors, restored=half, **settings))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "law"),
    [
        (FiniteMixtures(6, 0.7), vmf_problem.prior()),
        (DirichletProcess(1.5), vmf_problem.prior(a0=0.6, r0=(0.3, 0.0, 0.4))),
        (Components(3, 0.8), vmf_problem.prior(a0=0.6)),
    ],
)
def test_four_processes_have_the_law_of_enumeration(number, law):
    def work(team):
        given = [copy.copy(number) for _ in range(4)]
        return [vmf_problem.chain(each, law, n, 400, groups=2, team=team) for n, each in enumerate(given)]

    expected = vmf_problem.expected(number, law)
    told = (expected != 0) & (expected != 1)
    assert_means(np.array(together(4, work)[0])[:, 50:, told], expected[told])
