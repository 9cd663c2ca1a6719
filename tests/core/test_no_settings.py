"""``step_size=None`` on R^n: right from any scale, by exact gradients and by minibatches, or a warning."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import betaln
from scipy import special

import geodrift as gd
from geodrift.estimators._affine import Layout
from geodrift.tuning._climb import climb, climb_together
from law_checks import assert_means

KEY = jax.random.key(5)


def normal(dim, widest, rotated, seed=0):
    """A normal of standard deviations from 1 to ``widest``: its precision's factor, mean and covariance."""
    rng = np.random.default_rng(seed)
    widths = np.geomspace(1.0, widest, dim)
    axes = np.linalg.qr(rng.normal(size=(dim, dim)))[0] if rotated else np.eye(dim)
    mean = widths[-1] * rng.normal(size=dim)
    return (axes / widths).T, mean, axes * widths**2 @ axes.T


def sampled(log_density, dim, **named):
    sampler = gd.samplers.HMC(gd.estimators.Full(log_density), gd.manifolds.Euclidean(dim), step_size=None)
    named = {"num_draws": 500, "num_chains": 4} | named
    return gd.sample(KEY, sampler, **named)


def assert_right(values, mean, covariance, error=5.0):
    """Means and standard deviations of coordinates within so many Monte Carlo standard errors."""
    deviations = np.sqrt(np.diag(covariance))
    flat = np.asarray(values, np.float64)
    effective = np.maximum(gd.diagnostics.ess(flat), 10.0)
    found = flat.reshape(-1, flat.shape[-1])
    assert np.max(np.abs(found.mean(axis=0) - mean) / deviations * np.sqrt(effective)) < error
    spread = gd.diagnostics.ess((flat - mean) ** 2)
    assert np.max(np.abs(found.var(axis=0) / deviations**2 - 1) * np.sqrt(np.maximum(spread, 10) / 2)) < error


@pytest.mark.parametrize("rotated", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize(("dim", "widest"), [pytest.param(2, 1e3, marks=pytest.mark.slow), (30, 1e3)])
def test_a_normal_of_any_scales(dim, widest, rotated):
    factor, mean, covariance = normal(dim, widest, rotated)
    factor, center = jnp.asarray(factor, jnp.float32), jnp.asarray(mean, jnp.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draws = sampled(lambda x: -0.5 * jnp.sum((factor @ (x - center)) ** 2), dim)
    assert_right(draws.position, mean, covariance)
    assert draws.report.acceptance > 0.6


def test_a_far_start_climbs_to_the_mass():
    scale = jnp.array([1e-3, 1.0, 50.0])
    start = np.array([40.0, -300.0, 9000.0])
    tails = gd.estimators.Full(lambda x: -2.5 * jnp.sum(jnp.log1p((x / scale) ** 2 / 4)))  # Student's
    found = climb(tails, Layout.of(jnp.asarray(start, jnp.float32)), start)
    assert found.arrived
    assert np.all(np.abs(found.position / np.asarray(scale)) < 5)


def test_starts_without_a_density_are_left_out():
    """A density of which nothing is seen beyond 1.5, where three of ten starts lie."""

    def log_density(x):
        return jnp.where(jnp.abs(x[0]) < 1.5, -0.5 * jnp.sum((x / 0.2) ** 2), -jnp.inf)

    draws = sampled(log_density, 2, initial=lambda key: 1.5 * jax.random.normal(key, (2,)))
    assert_right(draws.position, np.zeros(2), 0.04 * np.eye(2))
    with pytest.raises(ValueError, match="the log density at the start is -inf"):
        sampled(log_density, 2, initial=jnp.array([2.0, 0.0]))


def test_a_mode_without_mass_keeps_no_chain():
    """A mode at 0 and another, at 30, e^-40 as likely, with two climbs of three from near the latter."""

    def log_density(x):
        return jnp.logaddexp(-0.5 * jnp.sum(x**2), -40.0 - 0.5 * jnp.sum((x - 30.0) ** 2))

    starts = gd.PerChain(jnp.array([[0.5, 0.0], [29.5, 30.0], [30.0, 30.5], [31.0, 30.0]]))
    draws = sampled(log_density, 2, initial=starts)
    assert_right(draws.position, np.zeros(2), np.eye(2))


TRIALS = 20
HAPPENED = np.random.default_rng(3).binomial(TRIALS, np.random.default_rng(4).beta(1.4, 8.0, 30))


def log_density_of_shares(z):
    """Shares of groups under a Beta law: toward equal ones the density rises, and in float32 is all bumps."""
    counts, a, b = jnp.asarray(HAPPENED, jnp.float32), jnp.exp(z[0]), jnp.exp(z[1])
    # Of a logit, whose Jacobian is share (1 - share).
    of_groups = a * jax.nn.log_sigmoid(z[2:]) + b * jax.nn.log_sigmoid(-z[2:]) - betaln(a, b)
    of_counts = counts * jax.nn.log_sigmoid(z[2:]) + (TRIALS - counts) * jax.nn.log_sigmoid(-z[2:])
    return -2.5 * jnp.log(a + b) + z[0] + z[1] + jnp.sum(of_groups + of_counts)


@pytest.mark.slow  # that a mode without mass keeps no chain is in CI
def test_no_climb_arrives_among_bumps():
    """Of many, as whether a bump looks like a mode is a matter of the last digits."""
    target = gd.estimators.Full(log_density_of_shares)
    layout = Layout.of(jnp.zeros(32, jnp.float32))
    for seed in range(25):
        starts = jax.random.normal(jax.random.key(seed), (4, 32), jnp.float32)
        for found in climb_together(target, layout, list(layout.numbers(starts))):
            assert not found.arrived or found.position[0] < 5


@pytest.mark.slow
def test_rounding_is_no_mode():
    draws = sampled(
        log_density_of_shares,
        32,
        num_draws=1000,
        num_chains=8,
        initial=lambda key: jax.random.normal(key, (32,), jnp.float32),
    )
    # By quadrature: of a and b alone the counts have a closed form.
    grid = np.linspace(-3.0, 6.0, 400)
    z = np.stack(np.meshgrid(grid, grid, indexing="ij"))
    a, b = np.exp(z)
    log_mass = -2.5 * np.log(a + b) + z.sum(axis=0) - len(HAPPENED) * special.betaln(a, b)
    for count in HAPPENED:
        log_mass += special.betaln(a + count, b + TRIALS - count)
    mass = np.exp(log_mass - log_mass.max())
    mean = (z * mass).sum(axis=(1, 2)) / mass.sum()
    sd = np.sqrt(((z - mean[:, None, None]) ** 2 * mass).sum(axis=(1, 2)) / mass.sum())
    assert_means(draws.position[..., :2], mean, slack=0.1 * sd)
    assert np.all(np.abs(np.asarray(draws.position[..., :2]).std(axis=(0, 1)) / sd - 1) < 0.1)


def test_a_run_goes_on_to_the_same_draws(tmp_path):
    def log_density(x):
        return -0.5 * jnp.sum((x / jnp.array([1.0, 30.0])) ** 2)

    whole = sampled(log_density, 2, num_draws=60)
    sampled(log_density, 2, num_draws=20, checkpoint=tmp_path / "run")
    later = sampled(log_density, 2, num_draws=60, checkpoint=tmp_path / "run")
    assert np.array_equal(whole.position, later.position)


@pytest.mark.slow
def test_chains_do_not_depend_on_their_number():
    draws = [sampled(lambda x: -0.5 * jnp.sum(x**2), 3, num_draws=20, num_chains=n) for n in (1, 6)]
    assert np.array_equal(draws[0].position[0], draws[1].position[0])


@pytest.mark.slow
def test_a_pytree_is_sampled_in_one_system_of_coordinates():
    def log_density(x):
        return -0.5 * ((x["a"] / 100) ** 2 + jnp.sum((x["b"] - x["a"] / 100) ** 2))

    sampler = gd.samplers.HMC(
        gd.estimators.Full(log_density), gd.manifolds.Product(gd.manifolds.Euclidean()), step_size=None
    )
    start = {"a": jnp.zeros(()), "b": jnp.zeros((2, 2))}
    draws = gd.sample(KEY, sampler, num_draws=1000, num_chains=4, initial=start)
    assert draws.position["b"].shape == (4, 1000, 2, 2)
    values = np.concatenate([draws.position["a"][..., None], draws.position["b"].reshape(4, 1000, 4)], axis=2)
    covariance = np.ones((5, 5)) + np.diag([9999.0, 1, 1, 1, 1])
    assert_right(values, np.zeros(5), covariance)


def regression(rows=2000, seed=3):
    """Normal errors of sd 1; the posterior is normal: its mean and covariance."""
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(rows, 4)) * np.array([1.0, 10.0, 0.1, 1.0])
    design[:, 3] += design[:, 1]
    y = design @ np.array([1.0, -0.2, 3.0, 0.5]) + rng.normal(size=rows)
    covariance = np.linalg.inv(design.T @ design + np.eye(4) / 100)
    data = {"x": jnp.asarray(design, jnp.float32), "y": jnp.asarray(y, jnp.float32)}
    return data, covariance @ design.T @ y, covariance


def log_likelihood(b, batch):
    return -0.5 * (batch["y"] - batch["x"] @ b) ** 2


def log_prior(b):
    return -0.5 * jnp.sum(b**2) / 100


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["SGHMC", "SGNHT", "SGLD"],
)
def test_minibatches_of_a_posterior_of_four_scales(name):
    data, mean, covariance = regression()
    estimator = gd.estimators.ControlVariate(log_likelihood, log_prior, data, noise_variance="scalar-fisher")
    sampler = getattr(gd.samplers, name)(estimator, gd.manifolds.Euclidean(4), step_size=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draws = gd.sample(KEY, sampler, data, batch_size=200, num_draws=1000, num_chains=4,
                          initial=jnp.zeros(4))  # fmt: skip
    found = np.asarray(draws.position, np.float64).reshape(-1, 4)
    deviations = np.sqrt(np.diag(covariance))
    assert np.max(np.abs(found.mean(axis=0) - mean) / deviations) < 0.1 + 3 / np.sqrt(draws.report.ess)
    assert np.max(np.abs(found.std(axis=0) / deviations - 1)) < 0.07 + 3 / np.sqrt(2 * draws.report.ess)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 0, 2])
@pytest.mark.parametrize("log_sd", [0.8, 0.4])
@pytest.mark.parametrize("kind", ["SGGMC", "SGLD"])
def test_estimates_of_the_noise_that_scatter_end_no_run(kind, log_sd, seed):
    """The location of normal data with known sds of many sizes: some batches have a few times the noise."""
    rng = np.random.default_rng(1)
    sds = np.exp(log_sd * rng.normal(size=(1003, 2)))
    values = sds * rng.normal(size=sds.shape)
    precision = np.sum(sds**-2, axis=0) + 1e-4
    data = {"value": jnp.asarray(values, jnp.float32), "sd": jnp.asarray(sds, jnp.float32)}
    estimator = gd.estimators.Minibatch(
        lambda x, batch: -0.5 * jnp.sum(((batch["value"] - x) / batch["sd"]) ** 2, axis=1),
        lambda x: -0.5e-4 * jnp.sum(x**2),
        len(sds),
        noise_variance="diagonal-fisher",
    )
    sampler = getattr(gd.samplers, kind)(estimator, gd.manifolds.Euclidean(2), step_size=None)
    draws = gd.sample(jax.random.key(seed), sampler, data, batch_size=50, num_draws=500, num_chains=4)
    mean = np.sum(values / sds**2, axis=0) / precision
    # SGLD's variances are 2% too large at the step size that it takes.
    assert_right(draws.position, mean, np.diag(1.02 / precision if kind == "SGLD" else 1 / precision), 4.0)


@pytest.mark.slow  # in CI three data have
def test_one_datum_has_no_noise():
    data = jnp.array([1.3])
    estimator = gd.estimators.ControlVariate(
        lambda x, batch: -0.5 * (batch - x[0]) ** 2, lambda x: -0.5 * x[0] ** 2, data
    )
    sampler = gd.samplers.SGHMC(estimator, gd.manifolds.Euclidean(), step_size=None)
    named = {"batch_size": 1, "num_draws": 500, "num_chains": 4, "initial": jnp.zeros(1)}
    draws = gd.sample(KEY, sampler, data, **named)
    assert_right(draws.position, np.array([0.65]), np.array([[0.5]]))


def test_what_cannot_be_right_is_told():
    def wide(x):
        return -0.5 * jnp.sum((x / jnp.array([1.0, 150.0])) ** 2)

    def start(key):
        return 200 * jax.random.normal(key, (2,))

    flat, full = gd.manifolds.Euclidean(2), gd.estimators.Full(wide)
    for told, step_size in (("R-hat", 0.5), ("accepted", 5.0)):
        sampler = gd.samplers.HMC(full, flat, step_size, num_steps=3)
        with pytest.warns(gd.RunWarning, match=told):
            gd.sample(KEY, sampler, num_draws=300, num_chains=4, initial=start)
