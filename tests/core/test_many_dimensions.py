"""``step_size=None`` where no matrix of all pairs of dimensions is made: scales and a few directions."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from geodrift.estimators._affine import Layout
from geodrift.estimators._low_rank import LowRank
from geodrift.tuning import _adaptation, _directions
from geodrift.tuning._curvature_factor import curvature_factor
from geodrift.tuning._directions import better_directions, rescaled, widened

KEY = jax.random.key(3)
WIDTHS = np.array([60.0, 20.0, 0.05, 0.2])


# A few hundred are many here, and in the slow tests those that are.
dims = pytest.mark.parametrize("dim", [200, pytest.param(2200, marks=pytest.mark.slow)])


@pytest.fixture(autouse=True)
def no_matrices(monkeypatch):
    monkeypatch.setattr(_adaptation, "DENSE", 100)


def dense(factor):
    return factor.times(np.eye(len(factor.scales))).T


def a_factor(rng, dim=30):
    directions = np.linalg.qr(rng.normal(size=(dim, 4)))[0]
    return LowRank(rng.uniform(1.0, 3.0, dim), directions, np.array([5.0, 0.2, 2.0, 3.0]))


def test_factors_are_those_of_matrices(monkeypatch):
    monkeypatch.setattr(_directions, "LEAST_WIDTH", 1 + 1e-9)
    rng = np.random.default_rng(0)
    factor, ratio = a_factor(rng), rng.uniform(0.5, 2.0, 30)
    basis, covariance = np.linalg.qr(rng.normal(size=(30, 3)))[0], np.diag([9.0, 0.1, 2.0])
    matrix = dense(factor)
    np.testing.assert_allclose(factor.solve(factor.times(ratio)), ratio)
    np.testing.assert_allclose(matrix @ ratio, factor.times(ratio))
    wider = dense(rescaled(factor, ratio))
    np.testing.assert_allclose(wider @ wider.T, matrix @ np.diag(ratio**2) @ matrix.T)
    wider = dense(widened(factor, basis, covariance))
    inner = np.eye(30) + basis @ (covariance - np.eye(3)) @ basis.T
    np.testing.assert_allclose(wider @ wider.T, matrix @ inner @ matrix.T)


def test_the_right_factor_stays():
    """Of a normal in its right coordinates the gradients are minus the draws, however few there are."""
    rng = np.random.default_rng(1)
    factor, draws = a_factor(rng, 500), rng.normal(size=(40, 500))
    better = better_directions(factor, draws, -draws)
    np.testing.assert_allclose(dense(better) @ dense(better).T, dense(factor) @ dense(factor).T, rtol=1e-6)


def test_scales_of_single_numbers_are_found_from_few_draws():
    rng = np.random.default_rng(6)
    widths, factor = np.geomspace(0.1, 10.0, 300), LowRank.of_scales(np.full(300, 2.0))
    draws = widths * rng.normal(size=(20, 300))
    better = better_directions(factor, draws, -draws / widths**2)
    np.testing.assert_allclose(dense(better), 2.0 * np.diag(widths), rtol=0.02, atol=1e-6)


@pytest.mark.slow
def test_the_curvature_of_a_normal_is_its_factor():
    """Widths left are those of the rows' lengths, which 16 products of random signs estimate."""
    rng = np.random.default_rng(7)
    scales, axes = rng.permutation(np.geomspace(0.1, 10.0, 300)), np.linalg.qr(rng.normal(size=(300, 4)))[0]
    factor = LowRank(scales, axes, WIDTHS)
    of_jax, zero = factor.as_type("float32"), np.zeros(300)
    target = gd.estimators.Full(lambda x: -0.5 * jnp.sum(of_jax.solve(x) ** 2))
    found, _ = curvature_factor(KEY, target, Layout.of(jnp.zeros(300)), zero)
    left = np.linalg.svd(np.linalg.solve(dense(found), dense(factor)), compute_uv=False)
    assert left.max() < 1.5  # of 60
    assert left.min() > 0.4  # of 0.05


@pytest.mark.slow
@dims
def test_a_normal_with_wide_and_narrow_directions(dim):
    rng = np.random.default_rng(2)
    scales, mean = rng.permutation(np.geomspace(0.01, 30.0, dim)), rng.normal(size=dim)
    factor = LowRank(scales, np.linalg.qr(rng.normal(size=(dim, 4)))[0], WIDTHS)
    of_jax, centre = factor.as_type("float32"), jnp.asarray(mean, jnp.float32)
    target = gd.estimators.Full(lambda x: -0.5 * jnp.sum(of_jax.solve(x - centre) ** 2))
    sampler = gd.samplers.HMC(target, gd.manifolds.Euclidean(dim), step_size=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draws = gd.sample(KEY, sampler, num_draws=400, num_chains=4)
    # In the coordinates of the target every number is a standard normal one.
    y = factor.solve(np.asarray(draws.position, np.float64) - mean).reshape(-1, dim)
    axes = np.linalg.qr(np.concatenate([factor.directions, rng.normal(size=(dim, 20))], axis=1))[0]
    along = y @ axes
    assert np.abs(along.mean(axis=0)).max() < 0.15
    assert np.abs(along.var(axis=0) - 1).max() < 0.2
    assert abs(np.mean(y**2) - 1) < 0.005 * np.sqrt(2200 / dim)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [200, 2200])
def test_many_effects_by_minibatches(dim):
    """A regression on groups, of which few numbers stand in each datum, and a common slope: a normal law."""
    rng = np.random.default_rng(4)
    groups, size = dim - 1, 12 * dim
    of, x = np.tile(np.arange(groups), 13)[:size], rng.normal(size=size)
    effects = 2.0 * rng.normal(size=groups)
    y = effects[of] + 0.7 * x + rng.normal(size=size)
    data = {"of": of, "x": x.astype(np.float32), "y": y.astype(np.float32)}

    def log_likelihood(position, batch):
        return -0.5 * (batch["y"] - position[batch["of"]] - position[-1] * batch["x"]) ** 2

    def log_prior(position):
        return -jnp.sum(position**2) / (2 * 4.0)

    design = np.zeros((groups + 1, groups + 1))
    np.add.at(design, (of, of), 1.0)
    crossed = np.bincount(of, x, groups)
    design[-1, :-1] = design[:-1, -1] = crossed
    design[-1, -1] = x @ x
    covariance = np.linalg.inv(design + np.eye(groups + 1) / 4.0)
    mean = covariance @ np.append(np.bincount(of, y, groups), x @ y)
    manifold = gd.manifolds.Euclidean(groups + 1)
    estimator = gd.estimators.ControlVariate(log_likelihood, log_prior, data, centre=None)
    sampler = gd.samplers.SGHMC(estimator, manifold, step_size=None)
    draws = gd.sample(KEY, sampler, data=data, batch_size="auto", num_draws=400, num_chains=4)
    found = np.asarray(draws.position, np.float64).reshape(-1, groups + 1)
    deviations = np.sqrt(np.diag(covariance))
    standard = (found - mean) / deviations
    assert np.sqrt(np.mean(standard.mean(axis=0) ** 2)) < 0.1
    assert abs(np.mean(standard**2) - 1) < 0.05
    assert abs(standard[:, -1].mean()) < 0.3
    assert abs(standard[:, -1].std() - 1) < 0.25
