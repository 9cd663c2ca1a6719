"""Von Mises-Fisher mixtures whose rows are drawn in JAX, as on a GPU, here by its CPU back end."""

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from geodrift.kernels import _device
from geodrift.kernels._streams import VMF_ASSIGNMENTS, VMF_ROWS_AT_ONCE
from geodrift.models import VonMisesFisherMixture
from geodrift.models.clusters._drawn_columns import drawn_columns
from geodrift.models.von_mises_fisher_mixture import Settings, _rows_on_device
from geodrift.models.von_mises_fisher_mixture._chain import Chain
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of
from law_checks import assert_means, z_bound
from models import vmf_problem
from models.mixture_device_program import rows_around
from models.test_vmf_law import BATCHES, CASES

pytestmark = pytest.mark.usefixtures("unchecked_types")

SETTINGS = {
    "finite mixtures": Settings(batch_size=64),
    "a Dirichlet process and a background": Settings(
        number_prior="Dirichlet process", background=0.5, batch_size=64
    ),
    "three clusters, one kappa": Settings(n_clusters=3, batch_size=200),
}


@pytest.fixture
def device(monkeypatch):
    monkeypatch.setattr(_device, "in_jax", lambda: True)


def rows(number=200, dim=6, kappa=8.0):
    rng = np.random.default_rng(1)
    return rows_around(rng, dim, 3, kappa, rng.integers(3, size=number))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_rows_drawn_all_at_once_have_the_law_of_enumeration(name):
    number, law = CASES[name]
    draws = [
        vmf_problem.chain(copy.copy(number), law, seed, 1_500, BATCHES[name], device=True)
        for seed in range(8)
    ]
    expected = vmf_problem.expected(number, law)
    told = (expected != 0) & (expected != 1)
    assert_means(np.array(draws)[:, 50:, told], expected[told])


def numbers_of(chain, steps):
    """What no order of the clusters changes, after each step."""
    found = []
    for _ in range(steps):
        chain.step()
        gibbs = chain.gibbs
        sizes, alike = gibbs.sums.counts[gibbs.occupied], (gibbs.z[0] == gibbs.z).mean()
        kappa = np.log(gibbs.kappa[gibbs.z]).mean()
        found.append([len(sizes), sizes.max(), alike, kappa, gibbs.log_joint()])
    return np.array(found)


@pytest.mark.slow  # enumeration, or the exact chain, tells the same law in CI
def test_chains_have_the_law_of_those_of_the_compiled_kernel(monkeypatch):
    """Whole chains, splits and rows that are drawn one after the other included; clusters that overlap."""
    data, settings = rows_of(rows(40, 4, 6.0)), Settings(batch_size=20)
    means = []
    for forced in (False, True):
        monkeypatch.setattr(_device, "in_jax", lambda forced=forced: forced)
        chains = [Chain(data, settings, seed=7, chain=number) for number in range(4)]
        assert all((chain.device is not None) == forced for chain in chains)
        means.append([numbers_of(chain, 250)[50:].mean(axis=0) for chain in chains])
    host, device = np.array(means)
    error = np.sqrt((host.var(axis=0, ddof=1) + device.var(axis=0, ddof=1)) / len(host))
    t = (host.mean(axis=0) - device.mean(axis=0)) / error
    assert (np.abs(t) < z_bound(len(t), 2 * len(host) - 2)).all(), t


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_sums_that_a_device_keeps_are_those_of_the_assignments(name, device):
    chain = Chain(rows_of(rows()), SETTINGS[name], seed=3)
    moved = sum(chain.step() for _ in range(9))
    gibbs = chain.gibbs
    assert moved > 0
    names = 3, 0, 9
    streams, assigned = VMF_ROWS_AT_ONCE.family(*names), VMF_ASSIGNMENTS.family(*names)
    chain.device.redraw(streams, gibbs, np.arange(150), assigned, np.random.default_rng(0))
    assert gibbs.away is not None
    inside = gibbs.z >= 0
    assert gibbs.sums.counts.tolist() == np.bincount(gibbs.z[inside], minlength=len(gibbs.kappa)).tolist()
    assert gibbs.sums.background[0] == (~inside).sum()
    told = (
        gibbs.resultants.copy(),
        gibbs.sums.squares.copy(),
        gibbs.sums.along.copy(),
        gibbs.sums.log_c_kappa.copy(),
    )
    gibbs.recompute()
    sums = gibbs.sums
    some = gibbs.occupied
    for found, anew in zip(told, (gibbs.resultants, sums.squares, sums.along, sums.log_c_kappa), strict=True):
        np.testing.assert_allclose(found[some], anew[some], rtol=1e-5, atol=1e-5)
    assert not told[0][sums.counts == 0].any()


@pytest.mark.slow  # a chain of topics on a device is taken up in CI
@pytest.mark.parametrize("name", SETTINGS)
def test_a_chain_that_is_taken_up_goes_on_to_the_same_bits(name, device):
    first = Chain(rows_of(rows()), SETTINGS[name], seed=5)
    for _ in range(5):
        first.step()
    state = {key: np.array(value) for key, value in first.state().items()}
    second = Chain(rows_of(rows()), SETTINGS[name], seed=5)
    second.restore(state)
    for _ in range(7):
        assert first.step() == second.step()
    found, expected = second.state(), first.state()
    for key, value in expected.items():
        np.testing.assert_array_equal(found[key], value, err_msg=key)
    drawn = first.draw(), second.draw()
    for key in drawn[0]:
        np.testing.assert_array_equal(drawn[0][key], drawn[1][key], err_msg=key)


@pytest.mark.slow
def test_rows_that_no_device_has_room_for_are_drawn_alike(device, monkeypatch):
    states = []
    for fits in (True, False):
        monkeypatch.setattr(_rows_on_device, "fits", lambda *_, fits=fits: fits)
        chain = Chain(rows_of(rows()), SETTINGS["finite mixtures"], seed=2)
        assert (chain.device.kept is not None) == fits
        for _ in range(6):
            chain.step()
        states.append(chain.state())
    for key, value in states[0].items():
        np.testing.assert_array_equal(states[1][key], value, err_msg=key)


def test_a_row_has_columns_above_its_level_in_proportion_to_exp_of_its_score():
    number = 40_000
    scores = np.log([0.3, 0.25, 1e-30, 0.2, 0.15, 0.1]).astype(np.float32) - 50
    allowed = np.array([True, True, True, True, True, False])
    of_rows = jnp.tile(scores, (number, 1)), jnp.tile(allowed, (number, 1)), jnp.arange(number)
    drawn = drawn_columns(jax.random.key(3), *of_rows)
    p = np.where(allowed, np.exp(scores.astype(float)), 0)
    p /= p.sum()
    seen = np.bincount(np.asarray(drawn), minlength=6) / number
    assert (np.abs(seen - p) <= z_bound(6) * np.sqrt(p * (1 - p) / number)).all()


@pytest.mark.slow  # that of counts does in CI
def test_an_estimator_finds_clusters_on_a_device(device):
    rng = np.random.default_rng(8)
    z = rng.integers(4, size=600)
    x = rows_around(rng, 32, 4, 40.0, z)
    model = VonMisesFisherMixture(n_passes=16, n_draws=6, n_chains=2, batch_size=256, random_state=1).fit(x)
    assert adjusted_rand_score(z, model.labels_) > 0.98
    assert (model.cluster_count_.low, model.cluster_count_.high) == (4, 4)
    assert np.median(model.draws_["concentrations"][..., :4]) == pytest.approx(40.0, rel=0.05)


def test_on_a_cpu_rows_are_drawn_one_after_the_other():
    assert Chain(rows_of(rows()), Settings()).device is None
