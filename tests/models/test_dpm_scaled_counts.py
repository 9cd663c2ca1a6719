"""The papers' methods: state, streams, and slices of rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from geodrift.driver import sampled
from geodrift.kernels._stream_kinds import Family
from geodrift.models.dirichlet_process_mixture import Chain, Settings
from geodrift.models.dirichlet_process_mixture._rows import as_rows
from geodrift.models.dirichlet_process_mixture.scaled_counts._assignments import (
    draw_assignments,
    token_counts,
)
from geodrift.models.kit._facade import MatrixCorpus
from law_checks import z_bound


def chain_of(method, seed=1):
    counts = np.random.default_rng(0).poisson(0.4, (120, 15))
    settings = Settings(method=method, batch_size=30)
    return Chain(MatrixCorpus(sp.csr_matrix(counts)), settings, seed=seed)


@pytest.mark.parametrize("method", ["scir", pytest.param("sgrld", marks=pytest.mark.slow)])
def test_a_restored_chain_goes_on_to_the_same_bits(method):
    whole, first, second = (chain_of(method) for _ in range(3))
    plan = whole.shares.plan(40)
    for chain, steps in ((whole, 40), (first, 25), (second, 15)):
        if chain is second:
            chain.restore({name: np.array(value) for name, value in first.state().items()})
        chain.begin(plan)
        chain.advance(np.array([steps]), store=False)
    expected = whole.state()
    assert second.state().keys() == expected.keys()
    for name, value in second.state().items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


@pytest.mark.parametrize("method", ["scir", "sgrld"])
def test_kept_numbers_are_those_of_the_assignments(method):
    chain = chain_of(method)
    for _ in range(30):
        chain.step()
    move, rows = chain.move, chain.source.all_rows()
    assert (move.assignments >= 0).all()
    assert move.numbers.tolist() == np.bincount(move.assignments, minlength=len(move.numbers)).tolist()
    counts = token_counts(rows, move.assignments, len(move.numbers), 15)
    assert move.tokens.tolist() == counts.sum(axis=1).tolist()
    assert move.numbers[-1] > 0


@pytest.mark.parametrize("method", ["scir", "sgrld"])
def test_weights_sum_to_one_and_clusters_are_probabilities(method):
    found = sampled([chain_of(method)], 60)
    weights = np.nansum(found["cluster_weights"], axis=2) + found["new_weight"]
    assert weights == pytest.approx(np.ones(weights.shape), abs=1e-6)
    sums = found["clusters"].sum(axis=3)
    assert sums[~np.isnan(sums)] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("tokens", [0, 2, 3, 4, 40])
def test_a_row_has_clusters_above_its_level_in_proportion_to_their_density(tokens):
    rng, number = np.random.default_rng(tokens), 20_000
    theta = rng.dirichlet(np.full(5, 0.7), 6)
    row = rng.multinomial(tokens, theta[2])
    rows = as_rows(sp.csr_matrix(np.tile(row, (number, 1))), np.arange(number))
    masses = np.full(16, -np.inf)
    masses[:6] = np.log([0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    table = np.ones((6, 16), np.float32)
    table[:5, :6] = 5 * theta.T
    drawn = draw_assignments(rows, np.full(number, np.log(0.09)), masses, table, Family(3, 0, 0))
    density = np.exp(np.log(theta[:5]) @ row)
    p = density / density.sum()
    seen = np.bincount(drawn, minlength=6)[:5] / number
    assert (np.abs(seen - p) <= z_bound(5) * np.sqrt(p * (1 - p) / number) + 1e-5).all()
    assert drawn.max() < 5  # the last has less weight than the level
