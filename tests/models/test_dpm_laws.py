"""Does the mixture sample its posterior: all partitions of a few rows, and rows without words."""

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from geodrift.driver import sampled
from geodrift.models import DirichletProcessMixture
from geodrift.models.dirichlet_process_mixture import Chain, Settings, membership
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._posterior_draw import (
    draw_clusters,
    draw_weights,
)
from geodrift.models.dirichlet_process_mixture.evaluation._log_predictive import Drawn
from geodrift.models.dirichlet_process_mixture.evaluation._lone_rows import LoneRows, times_among
from geodrift.models.kit._content_hashes import content_hashes
from geodrift.models.kit._facade import MatrixCorpus
from law_checks import assert_means
from models import dpm_problem as problem

ROWS = np.array([[3, 0, 1], [0, 2, 0], [2, 1, 0], [0, 1, 2]])
LONG = np.array([[9, 0, 3], [0, 8, 0], [5, 1, 1], [1, 1, 9]])
PRIOR = 0.6

pytestmark = pytest.mark.usefixtures("unchecked_types", "one_thread")


@pytest.fixture
def one_thread():
    number = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(number)


def draws_of(rows, num_chains, num_steps, **settings):
    """Draws of independent chains, by name, [chain, draw, ...]."""
    settings = {"cluster_word_prior": PRIOR, "store_assignments": True, "warm_up_fraction": 0.1} | settings
    told = Settings(num_draws=num_steps, **settings)
    corpus = MatrixCorpus(sp.csr_matrix(rows))
    found = [sampled([Chain(corpus, told, seed=5, chain=chain)], num_steps) for chain in range(num_chains)]
    return {name: [draws[name][0] for draws in found] for name in found[0]}


def indicators(draws, partitions):
    """Whether each draw is each partition, [chain, draw, partition]."""
    named = problem.canonical(np.array(draws["assignments"]))
    return (named[:, :, None, :] == partitions).all(axis=-1).astype(float)


CASES = {
    "all rows": {},
    "one row a step": {"batch_size": 1},
    "three rows a step": {"batch_size": 3},
    "two clusters": {"n_clusters": 2},
    "three clusters, one row a step": {"n_clusters": 3, "batch_size": 1},
    "scir": {"method": "scir", "batch_size": 4, "step_size": 0.5},
    # Here it shows if the sums of the gammas are not drawn anew.
    "scir, a short step": {"method": "scir", "batch_size": 4, "step_size": 0.15},
}


QUICK = [
    pytest.param("all rows", None, ROWS, marks=pytest.mark.slow),
    pytest.param("all rows", 1.5, LONG, marks=pytest.mark.slow),
    pytest.param("one row a step", 1.5, ROWS, marks=pytest.mark.slow),
    ("three clusters, one row a step", None, ROWS),
    pytest.param("scir", None, ROWS, marks=pytest.mark.slow),
]


def assert_partitions(case, alpha, rows, num_chains, num_steps):
    settings = CASES[case]
    draws = draws_of(rows, num_chains, num_steps, concentration=alpha, **settings)
    partitions, p, mean = problem.posterior(rows, PRIOR, alpha, settings.get("n_clusters"))
    likely = p > 0.01
    found, expected = indicators(draws, partitions)[:, :, likely], p[likely]
    if alpha is None:
        found = np.concatenate([found, np.array(draws["concentration"])[:, :, None]], axis=-1)
        expected = np.append(expected, mean)
    assert_means(found, expected)


@pytest.mark.parametrize(("case", "alpha", "rows"), QUICK)
def test_partitions_have_the_probabilities_of_their_enumeration(case, alpha, rows):
    assert_partitions(case, alpha, rows, 20, 500)


@pytest.mark.slow  # `test_rows_that_come_in_parts` is in CI
def test_rows_that_come_in_two_parts_have_the_partitions_of_all():
    settings = {"cluster_word_prior": PRIOR, "concentration": 1.5, "store_assignments": True}
    lengths = {"warm_up_fraction": 0.1, "n_steps": 1000, "n_draws": 450, "n_chains": 20}
    model = DirichletProcessMixture(**settings, **lengths, random_state=3)
    model.partial_fit(ROWS[:3]).partial_fit(ROWS[3:])
    # No row is counted twice, or is left behind without one that is counted.
    together = [len(np.unique(draw)) for draw in model.assignment_draws_]
    np.testing.assert_array_equal(model.number_of_clusters_draws_, together)
    draws = {"assignments": model.assignment_draws_.reshape(20, -1, 4)}
    partitions, p, _ = problem.posterior(ROWS, PRIOR, 1.5)
    likely = p > 0.01
    assert_means(indicators(draws, partitions)[:, :, likely], p[likely])


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("alpha", [1.5, None])
def test_partitions_have_the_probabilities_of_their_enumeration_in_long_runs(case, alpha):
    assert_partitions(case, alpha, ROWS, 24, 3000)


@pytest.mark.parametrize("method", ["gibbs", pytest.param("scir", marks=pytest.mark.slow)])
def test_weights_and_clusters_give_the_next_word_its_probability(method):
    alpha = 1.5
    draws = draws_of(ROWS, 10, 500, concentration=alpha, method=method, batch_size=4)
    partitions, p, _ = problem.posterior(ROWS, PRIOR, alpha)
    expected = sum(
        weight * problem.next_word(ROWS, PRIOR, each, alpha)
        for each, weight in zip(partitions, p, strict=True)
    )
    found = []
    for clusters, weights, new in zip(
        draws["clusters"], draws["cluster_weights"], draws["new_weight"], strict=True
    ):
        words = np.nansum(weights[:, :, None] * clusters, axis=1)
        found.append(words + new[:, None] / ROWS.shape[1])
    assert_means(np.array(found), expected)


@pytest.mark.parametrize(("method", "size"), [("gibbs", 5), pytest.param("scir", 12, marks=pytest.mark.slow)])
def test_rows_that_say_nothing_are_seated_as_in_a_chinese_restaurant(method, size):
    """The law of the number of clusters, and of the share of the largest, of 12 rows without words."""
    rows, alpha = np.zeros((12, 3)), 0.8
    draws = draws_of(rows, 10, 700, concentration=alpha, method=method, batch_size=size)
    p = np.array([1.0])
    for seated in range(12):  # p[k]: of k clusters
        born = alpha / (alpha + seated)
        p = np.append(p * (1 - born), 0.0) + np.append(0.0, p * born)
    numbers = np.array(draws["number_of_clusters"])
    likely = np.flatnonzero(p > 0.01)
    assert_means((numbers[:, :, None] == likely).astype(float), p[likely])


@pytest.mark.slow  # in CI the law by enumeration
def test_a_concentration_that_nothing_informs_keeps_its_prior():
    """Of rows without words alpha has its prior, whatever the number of clusters."""
    draws = draws_of(np.zeros((6, 2)), 10, 700, batch_size=2)
    alpha = np.array(draws["concentration"])
    assert_means(
        np.stack([alpha, alpha < 0.5, alpha < 2.0], axis=-1), [1.0, 1 - np.exp(-0.5), 1 - np.exp(-2.0)]
    )


def test_rows_that_were_fitted_have_the_probabilities_of_all_partitions():
    """That they are with the first one: four are equal, and one is mostly alone."""
    rows, alpha, number = np.array([[6, 0, 0]] * 4 + [[0, 1, 0]]), 1.0, 4000
    partitions, p, _ = problem.posterior(rows, PRIOR, alpha)
    rng, chosen = np.random.default_rng(1), np.repeat(partitions, np.rint(number * p).astype(int), axis=0)
    sizes, counts = np.zeros((len(chosen), 5)), np.zeros((len(chosen), 5, 3), int)
    clusters, weights, new = np.full(counts.shape, np.nan), np.full(sizes.shape, np.nan), []
    for draw, partition in enumerate(chosen):
        each = np.bincount(partition)
        np.add.at(counts[draw], partition, rows)
        sizes[draw, : len(each)] = each / 5
        weights[draw, : len(each)], rest = draw_weights(each, alpha, 0.0, rng)
        clusters[draw, : len(each)] = draw_clusters(counts[draw, : len(each)], PRIOR, rng)
        new.append(rest)
    given, draws = sp.csr_matrix(rows), Drawn(clusters, counts, weights, np.array(new))
    lone = LoneRows.of(counts, sizes, 5, times_among(content_hashes(given)))
    how = {"found": np.ones((len(chosen), 2), bool), "others": True, "fitted": True, "lone": lone}
    told = membership(given, draws, PRIOR, places=chosen[:, :1], **how)["mean"]
    # Means of probabilities, whose standard errors are .003 at most.
    np.testing.assert_allclose(told[1:, 0], (p @ (partitions == partitions[:, :1]))[1:], atol=0.008)
    np.testing.assert_allclose(told.sum(axis=1), 1.0, atol=1e-5)


def test_a_row_that_is_alone_in_every_draw_is_in_its_own_cluster():
    model = DirichletProcessMixture(n_steps=20, n_draws=5, n_chains=1, random_state=0).fit(LONG[:1])
    assert model.predict_proba(LONG[:1]).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("method", ["gibbs", "scir"])
def test_rows_of_a_run_without_a_warm_up_are_counted_once(method):
    model = DirichletProcessMixture(method=method, n_steps=1, n_chains=1, random_state=0).fit(LONG)
    if method == "gibbs":
        assert model._draws["cluster_counts"][0].sum() == LONG.sum()
    assert model.predict_proba(LONG).sum(axis=1) == pytest.approx(1.0)
