"""Published formulas and code that are wrong, where no other test shows it: as published, and ours."""

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import geodrift as gd
from geodrift import recipe
from geodrift.metrics import ExpandedMean
from geodrift.recipe import Diagonal
from law_checks import assert_means

ROOT = Path(__file__).parents[2] / "reproductions"
FLAT, EXPANDED = gd.manifolds.Euclidean(), ExpandedMean()
ALPHA, COUNTS = 0.7, jnp.array([4.0, 1.0, 0.0])


def positive(key):
    return 0.2 + jax.random.exponential(key, (3,))


def energy(theta):
    return -EXPANDED.log_posterior(theta, ALPHA, COUNTS)


@pytest.mark.slow
def test_epsilon_of_patterson_and_teh_is_twice_the_step():
    # Their eq. 10: drift epsilon/2 and noise variance epsilon theta. Their code: epsilon and 2 epsilon theta.
    # One taken for the other is another time; the drift of the paper with the noise of the code is a law of
    # twice the variance.
    epsilon, theta = 1e-3, jnp.array([3.0, 2.0, 1.5])
    omega = theta / theta.sum()
    sampler = gd.samplers.SGRLD(gd.estimators.Full(lambda x: -energy(x)), FLAT, epsilon / 2, EXPANDED)
    state = sampler.init(jax.random.key(0), theta)
    take = jax.jit(jax.vmap(lambda key: sampler.step(key, state)[0].position))
    change = np.asarray(take(jax.random.split(jax.random.key(1), 40_000)) - theta)
    variance = np.asarray(epsilon * theta)
    ratio = change.var(axis=0) / variance
    np.testing.assert_allclose(ratio, 1, atol=4 * (2 / 40_000) ** 0.5)
    drift = epsilon / 2 * (ALPHA + COUNTS - theta - COUNTS.sum() * omega)
    assert np.all(np.abs(change.mean(axis=0) - drift) < 4 * np.sqrt(variance / 40_000))
    for factor, right in ((1.0, True), (2.0, False)):
        report = recipe.check(
            energy,
            lambda t, factor=factor: Diagonal(factor * t, elementwise=True),
            0,
            positive,
            drift=lambda t: ALPHA + COUNTS - t - COUNTS.sum() * t / t.sum(),
        )
        assert report.ok == right, str(report)


def test_released_sgrld_of_baker_et_al_has_another_law():
    # Their drift multiplies the natural gradient by theta a second time.
    def corrected(t):
        return ALPHA + COUNTS - t - COUNTS.sum() * t / t.sum()

    def released(t):
        return t * corrected(t) + 1

    def diffusion(t):
        return Diagonal(t, elementwise=True)

    assert recipe.check(energy, diffusion, 0, positive, drift=corrected).residual < 1e-12
    assert recipe.check(energy, diffusion, 0, positive, drift=released).residual > 1e-2


def test_released_score_leaves_the_unit_interval():
    # 1/(1 - what is before) cancels where the rest is small; sums of the tail in logs do not.
    spec = importlib.util.spec_from_file_location("baker_2018", ROOT / "baker-2018" / "common.py")
    common = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(common)
    shapes, rng = common.SPARSE.shapes, np.random.default_rng(6)
    # The logarithm of a gamma of shape a is that of shape a + 1 and log(u) / a.
    log_theta = (
        np.log(rng.gamma(shapes + 1, size=(10, 1000, 10))) + np.log(rng.random((10, 1000, 10))) / shapes
    )
    log_omega = common.normalised(log_theta)
    omega = np.exp(log_omega)
    rest = 1 - np.cumsum(omega, axis=-1) + omega
    with np.errstate(all="ignore"):
        share = (omega / rest)[..., :-1]
        bad = ~((share >= 0) & (share <= 1))
    assert 1e-3 < bad.mean() < 1e-2
    u = common.rosenblatt(log_omega, shapes)
    assert np.all((u >= 0) & (u <= 1))
    # Where both are defined they are the same number.
    b = np.flip(np.cumsum(np.flip(shapes)))[1:]
    np.testing.assert_allclose(u[..., 0], stats.beta(shapes[0], b[0]).cdf(share[..., 0]), atol=1e-9)


@pytest.mark.slow
def test_geometric_brownian_motion_has_no_log_normal_law():
    # Baker et al., section 2.3. The exponential Ornstein-Uhlenbeck process has it.
    mu, sigma = 0.3, 0.8

    def log_normal(x):
        return jnp.sum(jnp.log(x) + (jnp.log(x) - mu) ** 2 / (2 * sigma**2))

    def diffusion(x):
        return Diagonal(sigma**2 * x**2, elementwise=True)

    def exponential(x):
        return x * (mu - jnp.log(x) + sigma**2)

    assert recipe.check(log_normal, diffusion, 0, positive, drift=exponential).residual < 1e-12
    for rate in (-0.5, 0.0, mu, sigma**2):
        report = recipe.check(log_normal, diffusion, 0, positive, drift=lambda x, rate=rate: rate * x)
        assert report.residual > 1e-2


@pytest.mark.parametrize(("scale", "pull"), [(1.0, 2.5), (1000.0, 0.0025)])
def test_pull_on_the_shares_grows_as_the_scale_shrinks(scale, pull):
    # n = 1000 data, epsilon = 2h = 0.005. With gammas on the prior the scale is Gamma(1), where
    # a step goes past its aim, though it starts at 1000. With gammas on the posterior it stays at 1001.
    counts, h, pi = jnp.array([800.0, 100.0, 100.0]), 0.0025, jnp.array([0.6, 0.3, 0.1])
    theta = scale * pi
    move = EXPANDED.inverse(theta, jax.grad(EXPANDED.log_posterior)(theta, 0.0, counts)) + 1
    change = jax.jvp(EXPANDED.to_simplex, (theta,), (h * move,))[1]
    np.testing.assert_allclose(change, pull * (counts / 1000 - pi), rtol=1e-9, atol=1e-12)
    both = EXPANDED.inverse(theta, jax.grad(EXPANDED.log_prior)(theta, counts)) + 1
    change = jax.jvp(EXPANDED.to_simplex, (theta,), (h * both,))[1]
    np.testing.assert_allclose(change, pull * (counts / 1000 - pi), rtol=1e-9, atol=1e-12)


def second_moment_of_sgmcmc(refresh, half_kick):
    """E x^2 of N(0, 1) by SGHMC as the R package sgmcmc has it; exact.

    epsilon = alpha = 0.01, five inner steps ``v += -epsilon x - alpha v + N(0, 2 alpha epsilon)``, ``x += v``
    after a refresh of v from ``N(0, refresh epsilon)``.
    """
    epsilon, alpha = 0.01, 0.01
    mean, covariance = np.eye(2), np.diag([0, refresh * epsilon])
    drift = np.array([[1, 1], [0, 1]])
    for count in range(5):
        part = 0.5 if half_kick and count == 0 else 1.0
        step = drift @ np.array([[1, 0], [-epsilon * part, 1 - alpha * part]])
        mean = step @ mean
        covariance = step @ covariance @ step.T
        covariance += drift @ np.diag([0, 2 * alpha * epsilon * part]) @ drift.T
    return covariance[0, 0] / (1 - mean[0, 0] ** 2)


@pytest.mark.slow
def test_refresh_of_the_r_package_is_at_half_the_temperature():
    # It draws 0.5 sqrt(2 epsilon) N(0, 1), of variance epsilon / 2, and kicks in full right after.
    assert second_moment_of_sgmcmc(0.5, half_kick=False) == pytest.approx(0.44, abs=0.005)
    assert second_moment_of_sgmcmc(1.0, half_kick=False) == pytest.approx(0.85, abs=0.005)
    assert second_moment_of_sgmcmc(1.0, half_kick=True) == pytest.approx(1, abs=0.005)
    full = gd.estimators.Full(lambda x: -jnp.sum(x**2) / 2)
    ours = gd.samplers.SGHMC(full, FLAT, 0.1, 0.1, 5, composition="ABOBA", refresh_every=1)
    draws = gd.sample(
        jax.random.key(2), ours, num_draws=200, num_warmup=50, num_chains=100, initial=jnp.zeros(10)
    )
    assert_means(draws.position**2, np.ones(10), slack=0.005)
