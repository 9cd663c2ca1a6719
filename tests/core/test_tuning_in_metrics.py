"""``step_size=None`` of samplers in a metric of their own: what is measured is what the metric leaves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from cases import KEY
from geodrift.manifolds import Euclidean
from geodrift.metrics import Constant, ConstantDense, ExpandedMean
from geodrift.samplers import RMHMC, SGLD, SGRHMC, SGRLD
from law_checks import z_bound

MEAN_BAR, SD_BAR = 0.1, 0.07
LARGEST_ERROR = 0.04
SHORT = {"num_draws": 400, "num_warmup": 100, "num_chains": 24}


def assert_within_the_bars(draws, mean, sd):
    """Means and standard deviations over chains ``[chain, draw, quantity]``, with the chains' errors."""
    x = (np.asarray(draws) - mean) / sd
    for values, bar in ((x.mean(axis=1), MEAN_BAR), ((x**2).mean(axis=1) / 2 - 0.5, SD_BAR)):
        off, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(x))
        assert np.max(error) < LARGEST_ERROR
        assert np.all(np.abs(off) < bar + z_bound(2 * off.size, len(x) - 1) * error), (off, error)


def rotated(sds):
    """The covariance of a normal law with these standard deviations along random axes."""
    axes = np.linalg.qr(np.random.default_rng(1).normal(size=(len(sds), len(sds))))[0]
    return axes * np.asarray(sds) ** 2 @ axes.T


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize(
    ("kind", "metric", "sds"),
    [
        pytest.param(SGLD, "dense", (0.01, 1.0, 30.0), marks=pytest.mark.slow),
        pytest.param(RMHMC, "dense", (0.1, 1.0, 10.0), marks=pytest.mark.slow),
        # Its friction is C / G, and no number is right for directions that differ more.
        (SGRHMC, "dense", (0.3, 0.5, 1.0)),
        pytest.param(SGRHMC, "diagonal", (30.0, 50.0, 100.0), marks=pytest.mark.slow),
    ],
)
def test_a_normal_in_the_metric_of_its_covariance(kind, metric, sds):
    covariance = rotated(sds) if metric == "dense" else np.diag(np.square(sds))
    given = ConstantDense(covariance) if metric == "dense" else Constant(np.diag(covariance))
    precision = jnp.asarray(np.linalg.inv(covariance))
    far = 3 * np.max(sds)  # from the start, and more than 100 of the narrowest
    estimator = gd.estimators.Full(lambda x: -0.5 * (x - far) @ precision @ (x - far))
    steps = {} if kind is RMHMC else {"num_steps": 15}
    sampler = kind(estimator, Euclidean(3), None, given, **steps)
    draws = gd.sample(KEY, sampler, **SHORT, initial=jnp.zeros(3))
    assert_within_the_bars(draws.position, far, np.sqrt(np.diag(covariance)))
    assert draws.report.warnings == []
    assert draws.tuned.curvature == pytest.approx(1, rel=0.02)


COUNTS = np.array([8.0, 20.0, 40.0])


@pytest.mark.slow  # in CI a normal in a metric
@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("kind", [SGRLD, *(other for other in (SGRHMC, RMHMC))])
def test_gammas_in_a_chart_with_a_wall(kind):
    metric = ExpandedMean()
    estimator = gd.estimators.Full(lambda x: metric.log_prior(x, jnp.asarray(COUNTS)))
    steps = {} if kind is RMHMC else {"num_steps": 30}
    sampler = kind(estimator, Euclidean(3), None, metric, **steps)
    # None of the starts is near the mass.
    draws = gd.sample(KEY, sampler, **SHORT, initial=lambda key: 0.1 + jax.random.uniform(key, (3,)))
    assert_within_the_bars(draws.position, COUNTS, np.sqrt(COUNTS))


ROWS = 20_000
SLOPES = np.array([0.3, -1.0, 2.0])
SCALES = np.array([1.0, 1.0, 0.2])


@pytest.fixture(scope="module")
def regression():
    """Rows of a linear regression of unit noise, and its posterior's mean and covariance."""
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(ROWS, 3)) * SCALES
    data = {"x": jnp.asarray(inputs), "y": jnp.asarray(inputs @ SLOPES + rng.normal(size=ROWS))}
    covariance = np.linalg.inv(inputs.T @ inputs + np.eye(3))
    return data, covariance @ inputs.T @ np.asarray(data["y"]), covariance


def log_likelihood(slopes, batch):
    return -0.5 * (batch["y"] - batch["x"] @ slopes) ** 2


def log_prior(slopes):
    return -0.5 * jnp.sum(slopes**2)


@pytest.mark.slow
@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("kind", [SGLD, SGRHMC])
def test_minibatches_in_a_metric(kind, regression):
    data, mean, covariance = regression
    estimator = gd.estimators.ControlVariate(log_likelihood, log_prior, data, jnp.asarray(mean))
    sampler = kind(estimator, Euclidean(3), None, ConstantDense(covariance), num_steps=25)
    draws = gd.sample(KEY, sampler, data, batch_size="auto", **SHORT, initial=jnp.asarray(mean))
    assert_within_the_bars(draws.position, mean, np.sqrt(np.diag(covariance)))
    assert draws.tuned.batch_size <= ROWS // 10


@pytest.mark.slow
def test_noise_is_measured_in_the_metric(regression):
    """V of SGLD is that of coordinates of scale 1; V of SGRHMC, over its friction, that of positions."""
    data, mean, covariance = regression
    estimator = gd.estimators.Minibatch(log_likelihood, log_prior, ROWS)
    residuals = np.asarray(data["y"] - data["x"] @ mean)
    gradients = residuals[:, None] * np.asarray(data["x"])
    variance = ROWS**2 / 500 * np.cov(gradients.T)
    values, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(values) @ axes.T
    settings = {"batch_size": 500, "initial": jnp.asarray(mean)}
    first_order = gd.tuning.tune(
        KEY, SGLD(estimator, Euclidean(3), None, ConstantDense(covariance)), data, **settings
    )
    assert first_order.noise_variance == pytest.approx(np.trace(root @ variance @ root) / 3, rel=0.1)
    assert first_order.step_size == pytest.approx(
        2 * 0.04 / np.linalg.eigvalsh(root @ variance @ root)[-1], rel=0.15
    )
    with_momentum = gd.tuning.tune(
        KEY, SGRHMC(estimator, Euclidean(3), None, ConstantDense(covariance)), data, **settings
    )
    # What heats: h V / 2 C, in the position's units.
    heating = with_momentum.step_size * np.linalg.eigvalsh(variance)[-1] / 2 / with_momentum.friction
    assert heating == pytest.approx(0.04, rel=0.15)


def test_what_has_no_rule_says_so():
    flat = gd.estimators.Full(lambda x: -0.5 * jnp.sum(x**2))
    with pytest.raises(ValueError, match="takes up to 2,048"):
        gd.sample(KEY, SGLD(flat, Euclidean(3000), None, Constant(1.0)), num_draws=1, initial=jnp.zeros(3000))
    with pytest.raises(ValueError, match=r"friction = 2\.0 with step_size = None"):
        gd.sample(
            KEY,
            SGRHMC(flat, Euclidean(3), None, Constant(1.0), friction=2.0),
            num_draws=1,
            initial=jnp.ones(3),
        )
