"""Dirichlet-process mixtures whose rows are drawn in JAX, as on a GPU, here by its CPU back end."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from geodrift.kernels import _device
from geodrift.models import DirichletProcessMixture
from geodrift.models.dirichlet_process_mixture import Chain, Settings
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs import _rows_on_device, _sampler
from geodrift.models.kit._facade import MatrixCorpus
from law_checks import assert_means, z_bound
from models import dpm_problem as problem
from models.test_dpm_laws import LONG, PRIOR, ROWS, draws_of, indicators

many_steps = pytest.mark.usefixtures("unchecked_types")

CASES = {
    "all rows, alpha drawn": (ROWS, None, {}),
    "long rows, three a step": (LONG, 1.5, {"batch_size": 3}),
    "three clusters, one row a step": (ROWS, None, {"n_clusters": 3, "batch_size": 1}),
}


@pytest.fixture
def device(monkeypatch):
    """Every row of every step is drawn on the device."""
    monkeypatch.setattr(_device, "in_jax", lambda: True)
    monkeypatch.setattr(_sampler, "ONE_BY_ONE", 0)


@pytest.mark.slow
@many_steps
@pytest.mark.parametrize("case", CASES)
def test_rows_drawn_all_at_once_have_the_law_of_enumeration(case, device):
    rows, alpha, settings = CASES[case]
    draws = draws_of(rows, 6, 300, concentration=alpha, **settings)
    partitions, p, mean = problem.posterior(rows, PRIOR, alpha, settings.get("n_clusters"))
    likely = p > 0.02
    found, expected = indicators(draws, partitions)[:, :, likely], p[likely]
    if alpha is None:
        found = np.concatenate([found, np.array(draws["concentration"])[:, :, None]], axis=-1)
        expected = np.append(expected, mean)
    assert_means(found, expected)


@pytest.mark.slow
@many_steps
def test_rows_that_say_nothing_are_seated_as_in_a_chinese_restaurant(device):
    alpha = 0.8
    draws = draws_of(np.zeros((12, 3)), 6, 300, concentration=alpha, batch_size=12)
    p = np.array([1.0])
    for seated in range(12):  # p[k]: of k clusters
        born = alpha / (alpha + seated)
        p = np.append(p * (1 - born), 0.0) + np.append(0.0, p * born)
    likely = np.flatnonzero(p > 0.01)
    assert_means((np.array(draws["number_of_clusters"])[:, :, None] == likely).astype(float), p[likely])


def clustered(number=150, num_words=12, tokens=6):
    rng = np.random.default_rng(2)
    z, theta = rng.integers(3, size=number), rng.dirichlet(np.full(num_words, 0.6), 3)
    lengths = rng.poisson(tokens, number)
    return np.stack([rng.multinomial(n, theta[k]) for n, k in zip(lengths, z, strict=True)]), z


def chain_of(rows, chain=0, **settings):
    return Chain(MatrixCorpus(sp.csr_matrix(rows)), Settings(**settings), seed=4, chain=chain)


def numbers_of(chain, steps):
    found = []
    for _ in range(steps):
        chain.step()
        move = chain.move
        alike = (move.assignments[0] == move.assignments).mean()
        found.append(
            [
                move.number_of_clusters(),
                move.numbers.max(),
                alike,
                np.log(move.concentration),
                move.log_joint(),
            ]
        )
    return np.array(found)


@many_steps
@pytest.mark.slow  # enumeration tells the same law in CI
def test_chains_have_the_law_of_those_of_the_compiled_kernel(monkeypatch):
    """Whole chains, with rows that are drawn one after the other; clusters that overlap."""
    rows, means = clustered(40, 5, 4)[0], []
    for forced in (False, True):
        monkeypatch.setattr(_device, "in_jax", lambda forced=forced: forced)
        chains = [chain_of(rows, number, batch_size=20) for number in range(5)]
        means.append([numbers_of(chain, 250)[50:].mean(axis=0) for chain in chains])
        assert all((chain.move.device is not None) == forced for chain in chains)
    host, found = np.array(means)
    error = np.sqrt((host.var(axis=0, ddof=1) + found.var(axis=0, ddof=1)) / len(host))
    t = (host.mean(axis=0) - found.mean(axis=0)) / error
    assert (np.abs(t) < z_bound(len(t), 2 * len(host) - 2)).all(), t


@pytest.mark.parametrize(
    "settings",
    [
        {"batch_size": 64},
        pytest.param({"n_clusters": 5}, marks=pytest.mark.slow),
        pytest.param({"cluster_word_prior": 3.0}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_counts_that_a_device_keeps_are_those_of_the_assignments(settings, device):
    rows, _ = clustered()
    rows[:3], rows[3] = 0, np.arange(12) * 7  # without words; longer than others
    chain = chain_of(np.pad(rows, ((0, 0), (0, 30)), constant_values=1), **settings)
    for _ in range(36):
        chain.step()
    move, size = chain.move, len(chain.move.numbers)
    assert move.clusters.away is not None
    one_hot = np.eye(size, dtype=int)[move.assignments]
    counts = one_hot.T @ chain.source.corpus.rows(np.arange(150)).toarray().astype(int)
    assert move.numbers.tolist() == one_hot.sum(axis=0).tolist()
    assert move.tokens.tolist() == counts.sum(axis=1).tolist()
    np.testing.assert_array_equal(move.clusters.counts(np.arange(size)), counts)


@pytest.mark.slow  # a chain of topics on a device is taken up in CI
def test_a_chain_that_is_taken_up_goes_on_to_the_same_bits(monkeypatch):
    monkeypatch.setattr(_device, "in_jax", lambda: True)
    rows, _ = clustered()
    first, second = (chain_of(rows, batch_size=64) for _ in range(2))
    for _ in range(37):
        first.step()
    second.restore({key: np.array(value) for key, value in first.state().items()})
    for _ in range(12):
        first.step()
        second.step()
    found = second.state()
    for key, value in first.state().items():
        np.testing.assert_array_equal(found[key], value, err_msg=key)


@pytest.mark.slow  # in CI counts that a device keeps
def test_rows_that_no_device_has_room_for_are_drawn_alike(device, monkeypatch):
    states = []
    for fits in (True, False):
        monkeypatch.setattr(_rows_on_device, "fits", lambda *_, fits=fits: fits)
        chain = chain_of(clustered()[0], batch_size=64)
        for _ in range(40):
            chain.step()
        assert chain.move.device.kept == fits
        states.append(chain.state())
    for key, value in states[0].items():
        np.testing.assert_array_equal(states[1][key], value, err_msg=key)


@pytest.mark.slow  # counts that a device keeps, and its chains, are in CI
@many_steps
def test_an_estimator_finds_clusters_on_a_device(monkeypatch):
    monkeypatch.setattr(_device, "in_jax", lambda: True)
    rows, z = clustered(300, 30, 40)
    model = DirichletProcessMixture(n_steps=60, n_draws=6, n_chains=2, random_state=1).fit(rows)
    assert adjusted_rand_score(z, model.predict(rows)) > 0.98


def test_on_a_cpu_rows_are_drawn_one_after_the_other():
    chain = chain_of(ROWS)
    for _ in range(12):
        chain.step()
    assert chain.move.device is None
