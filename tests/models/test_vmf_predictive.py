"""Densities of new rows under a draw whose directions are integrated out."""

import numpy as np
import pytest

from geodrift.distributions import host_log_normaliser
from geodrift.distributions._host_sample import host_sample
from geodrift.models import VonMisesFisherMixture
from geodrift.models.von_mises_fisher_mixture._cluster_number import FiniteMixtures
from geodrift.models.von_mises_fisher_mixture._concentrations import ConcentrationPrior
from geodrift.models.von_mises_fisher_mixture._parameters import Parameters, Prior
from geodrift.models.von_mises_fisher_mixture._predict import Draw
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of
from geodrift.models.von_mises_fisher_mixture._sampled_rows import sampled_rows
from law_checks import z_bound

WEIGHTS = np.array([0.5, 0.3, 0.1])


def some_draw(dim, sizes, rng, kappa):
    """Clusters whose directions are known as well as from so many rows; of none: not at all."""
    resultants = kappa * np.array(sizes)[:, None] * host_sample(rng, np.zeros((len(sizes), dim)))
    return Draw(resultants, np.full(3, kappa), WEIGHTS, np.arange(3), 0.04, 0.06, np.zeros(dim), np.ones(1))


@pytest.mark.parametrize("dim", [3, 6])
def test_a_density_is_the_mean_over_draws_of_the_direction(dim):
    rng = np.random.default_rng(dim)
    draw = some_draw(dim, [2.0, 0.5, 0.0], rng, 3.0)
    x = host_sample(rng, draw.resultants[[0, 0, 1, 2]])
    told = np.exp(draw.log_densities(rows_of(x, False), np.arange(4)))
    for k in range(3):
        directions = host_sample(rng, np.tile(draw.resultants[k], (200_000, 1)))
        level = host_log_normaliser(dim, draw.concentrations[k])
        each = draw.weights[k] * np.exp(level + draw.concentrations[k] * directions @ x.T)
        z = (each.mean(axis=0) - told[:, k]) / (each.std(axis=0) / np.sqrt(len(each)))
        assert np.abs(z).max() < z_bound(12)
    uniform = np.exp(host_log_normaliser(dim, 0.0))
    np.testing.assert_allclose(told[:, 3:], np.tile([0.06 * uniform, 0.04 * uniform], (4, 1)))


@pytest.mark.parametrize("dim", [3, 50, 768])
def test_only_what_has_no_weight_is_left_at_its_bound(dim):
    rng = np.random.default_rng(dim)
    kappa = 3.0 * dim
    draw = some_draw(dim, [400.0, 20.0, 1.0], rng, kappa)
    rows = rows_of(
        host_sample(rng, kappa * host_sample(rng, draw.resultants)[rng.integers(3, size=60)]), False
    )
    told = draw.log_densities(rows, np.arange(60))[:, :3]
    dots = rows.products(np.arange(60), np.ascontiguousarray(draw.resultants.T))
    squares = (draw.resultants**2).sum(axis=1)
    exact = np.log(draw.weights) + host_log_normaliser(dim, draw.concentrations)
    exact = exact + host_log_normaliser(dim, np.sqrt(squares))
    exact = exact - host_log_normaliser(dim, np.sqrt(squares + kappa * (2 * dots + kappa)))
    best = exact.max(axis=1, keepdims=True)
    assert (told - exact)[exact > best - 40] == pytest.approx(0.0, abs=1e-6)
    assert (told[exact <= best - 40] < (best - 40 + 0 * exact)[exact <= best - 40] + 1e-6).all()
    assert (told > exact - 1e-6).all()


def test_the_weight_of_clusters_without_rows_is_its_mean():
    """Given the assignments, over K and the weights; most draws of K leave none."""
    number, rng = FiniteMixtures(50, 0.7), np.random.default_rng(0)
    occupied, rows, a0 = 2, 30, 0.5
    drawn = []
    for _ in range(20_000):
        number.update(rng, occupied, rows, a0)
        shapes = [(number.value - occupied) * number.g, number.g * occupied + rows + a0]
        drawn.append(rng.beta(*shapes) if shapes[0] > 0 else 0.0)
    told = number.expected_others(occupied, rows, a0)
    assert abs(np.mean(drawn) - told) < z_bound(1) * np.std(drawn) / np.sqrt(len(drawn))
    assert np.mean(np.array(drawn) == 0) > 0.5


def test_new_rows_have_the_mean_of_the_draws_densities():
    """Draws whose weights sum to 1.4 and to .6, as that of clusters without rows is a mean."""
    tight = (np.array([[1e9, 0.0, 0.0]]), np.array([1e6]))
    rest = np.arange(1), 0.0, 0.5, np.zeros(3), np.ones(1)
    draws = [Draw(*tight, np.array([weight]), *rest) for weight in (0.9, 0.1)]
    rows = sampled_rows(20_000, draws, np.random.default_rng(0))
    # Half of the weight is one cluster's, and half is uniform.
    assert abs((rows[:, 0] > 0.9).mean() - (0.5 + 0.5 * 0.05)) < z_bound(1) * 0.5 / np.sqrt(20_000)


@pytest.mark.parametrize("shared", [False, True])
def test_a_draw_without_clusters_has_the_density_of_the_prior(shared):
    """All rows are of the background, so that no cluster has told of the one concentration of all."""
    prior = Prior(ConcentrationPrior(3.0, 1.0, 1e6), shared, 0.7, np.array([4.0, 0.0, 0.0]))
    found = Parameters(np.zeros(0, int), np.zeros(0), *np.zeros((2, 0, 3)), np.zeros(0), 0.6, 0.4)
    x = host_sample(np.random.default_rng(0), np.zeros((3, 3)))
    told = Draw.of_parameters(found, prior).log_densities(rows_of(x), np.arange(3))
    kappa = prior.concentration.draws(np.random.default_rng(1), 20_000)[:, None]
    lengths = np.sqrt(kappa**2 + 2 * kappa * (x @ prior.r0) + 16.0)
    each = host_log_normaliser(3, kappa) + host_log_normaliser(3, 4.0) - host_log_normaliser(3, lengths)
    np.testing.assert_allclose(np.exp(told[:, 0]), 0.4 * np.exp(each).mean(axis=0), rtol=0.03)


@pytest.mark.slow  # in CI the weight of such clusters
def test_a_row_far_from_all_others_is_one_of_a_cluster_without_rows():
    rng, axes = np.random.default_rng(0), np.eye(10)
    rows = axes[[0] * 90 + [1] * 30] + 0.05 * rng.standard_normal((120, 10))
    model = VonMisesFisherMixture(random_state=0, normalise=True).fit(rows)
    told = model.transform_with_intervals(-axes[[2]])["mean"][0]
    np.testing.assert_allclose(told[:3], [0.0, 0.0, 1.0], atol=1e-6)
    # Uniform, with the weight that two clusters of 120 rows leave to others.
    a_row = host_log_normaliser(10, 0.0) + np.log(1.83e-4)
    assert model.score_samples(-axes[[2]])[0] == pytest.approx(a_row, abs=0.1)
