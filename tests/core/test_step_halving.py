"""The step-halving check and the gradient-noise ratio."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from cases import KEY
from geodrift.diagnostics import gradient_noise_ratio, step_halving
from geodrift.estimators._leaf_scales import LeafScales
from geodrift.manifolds import Euclidean
from geodrift.samplers._in_coordinates import InCoordinates
from geodrift.schedules import Cyclical, PolynomialDecay

NORMAL = gd.estimators.Full(lambda x: -0.5 * jnp.sum(x**2))
RUN = {"num_draws": 500, "num_chains": 64, "initial": jnp.zeros(1)}


def test_it_sees_the_bias_of_a_large_step_and_none_at_a_small_one():
    # SGLD on N(0, 1) has the variance 1 / (1 - h/2): at h = 0.4 a bias of 0.25, at h/2 of 0.111.
    large = gd.samplers.SGLD(NORMAL, Euclidean(1), 0.4)
    seen = step_halving(KEY, large, num_warmup=20, thin=5, order=1, **RUN)
    assert seen.biased
    np.testing.assert_array_equal(seen.significant, [False, True])  # the mean is right, the variance is not
    exact = 1 / 0.8 - 1 / 0.9
    assert abs(seen.difference[1] - exact) < 4 * seen.error[1]
    assert seen.error[1] < 0.03
    # To first order in h the bias is twice the difference.
    np.testing.assert_allclose(seen.bias, 2 * seen.difference)
    small = gd.samplers.SGLD(NORMAL, Euclidean(1), 0.002)
    settings = RUN | {"num_draws": 100}
    assert not step_halving(KEY, small, num_warmup=1500, thin=50, order=1, **settings).biased


@pytest.mark.slow
def test_a_tenth_is_seen_with_enough_draws():
    sampler = gd.samplers.SGLD(NORMAL, Euclidean(1), 0.1)
    settings = RUN | {"num_draws": 400, "num_chains": 400}
    seen = step_halving(KEY, sampler, num_warmup=60, thin=10, order=1, **settings)
    assert seen.biased
    assert abs(seen.bias[1] - (1 / 0.95 - 1)) < 4 * seen.bias_error[1] + 0.003


@pytest.mark.slow
def test_errors_are_those_of_the_chains():
    # Over many keys the differences of an unbiased sampler have unit variance in units of their error.
    sampler = gd.samplers.GMC(NORMAL, Euclidean(1), 0.8, num_steps=2)
    settings = {"num_draws": 20, "num_chains": 16, "initial": jnp.zeros(1), "num_warmup": 10}
    z = []
    for seed in range(30):
        seen = step_halving(
            jax.random.key(seed), sampler, functions=lambda x: {"x": x, "cube": x**3}, **settings
        )
        assert seen.difference.shape == (2,)
        z.append(seen.difference / seen.error)
    # Welch's t with some 30 degrees of freedom; 60 values, the pairs correlated.
    assert 0.5 < np.var(z) < 1.8


def test_a_schedule_is_halved_in_its_own_time():
    # A schedule that falls with the count: at h/2 and twice the count, the same sum of steps.
    from geodrift.diagnostics._step_halving import Halved

    schedule = PolynomialDecay(0.3, 2.0, 0.5)
    counts = jnp.arange(40)
    halved = jax.vmap(Halved(schedule))(jnp.arange(80))
    np.testing.assert_allclose(halved.reshape(40, 2).sum(axis=1), jax.vmap(schedule)(counts))


def test_the_sampling_stage_of_cycles_is_that_of_the_halved_ones():
    from geodrift.diagnostics._step_halving import Halved

    cycles = Cyclical(0.3, 10, 0.5)
    collected = Halved(cycles).collects(np.arange(40)).reshape(20, 2)
    np.testing.assert_array_equal(collected, cycles.collects(np.arange(20))[:, None].repeat(2, axis=1))


@pytest.mark.slow  # in CI others
def test_a_sampler_in_coordinates_is_halved_there():
    unit = LeafScales((jnp.asarray(4.0),))
    short = {"num_draws": 5, "num_chains": 4, "initial": jnp.zeros(1), "functions": lambda x: x}
    moving = InCoordinates(
        gd.samplers.SGLD(NORMAL.in_coordinates(unit), Euclidean(1), 0.01), unit, Euclidean(1)
    )
    found, plain = (
        step_halving(KEY, sampler, **short)
        for sampler in (moving, gd.samplers.SGLD(NORMAL, Euclidean(1), 0.16))
    )
    np.testing.assert_allclose(found.at_half, plain.at_half, rtol=1e-9)


@pytest.mark.slow
def test_ratio_is_that_of_the_formula():
    size, batch, h, friction = 4000, 100, 0.01, 5.0
    data = jnp.array([1.0, 3.0]) * jax.random.normal(KEY, (size, 2))

    def make(kind, stated, **settings):
        estimator = gd.estimators.Minibatch(lambda x, y: y @ x, lambda x: 0.0, size, stated)
        return kind(estimator, Euclidean(2), h, **settings)

    unit = size**2 / batch  # V is this times 1 and 9
    position = jnp.zeros(2)

    def ratio(sampler):
        return gradient_noise_ratio(KEY, sampler, position, data, batch_size=batch)

    plain = ratio(make(gd.samplers.SGGMC, None, friction=friction))
    per = h * unit / (2 * friction)
    # The worst direction is measured with 512 pairs: an error of 6%.
    np.testing.assert_allclose(plain, (5 * per, 0.0, 9 * per), rtol=0.15, atol=0.9 * per)
    stated = ratio(make(gd.samplers.SGGMC, "scalar-fisher", friction=friction))
    np.testing.assert_allclose(stated, (5 * per, 5 * per, 4 * per), rtol=0.15, atol=0.9 * per)
    thermostat = ratio(make(gd.samplers.GSGNHT, None, friction=friction))
    np.testing.assert_allclose(thermostat, (5 * per, 0.0, 4 * per), rtol=0.15, atol=0.9 * per)
    first = ratio(make(gd.samplers.SGLD, None))
    np.testing.assert_allclose(first, (5 * h * unit / 2, 0.0, 9 * h * unit / 2), rtol=0.25)


@pytest.mark.parametrize(
    ("changes", "match"), [({"num_chains": 3}, "num_chains = 3"), ({"order": 0}, "order = 0")]
)
def test_wrong_arguments_raise(changes, match):
    sampler = gd.samplers.SGLD(NORMAL, Euclidean(1), 0.1)
    with pytest.raises(ValueError, match=match):
        step_halving(KEY, sampler, **({"num_draws": 5, "initial": jnp.zeros(1)} | changes))


def test_an_automatic_step_is_refused_at_once():
    with pytest.raises(ValueError, match="step_size = None: there is no number yet to halve"):
        step_halving(KEY, gd.samplers.SGLD(NORMAL, Euclidean(1), None), **RUN)


def test_a_matrix_has_no_single_ratio():
    sampler = gd.samplers.SGGMC(
        gd.estimators.Minibatch(lambda x, y: y @ x, lambda x: 0.0, 10), Euclidean(2), 0.1, friction=jnp.eye(2)
    )
    with pytest.raises(ValueError, match="one number"):
        gradient_noise_ratio(KEY, sampler, jnp.zeros(2), jnp.ones((10, 2)), batch_size=5)


def _of_two_scales(kind, *arguments, **settings):
    """A sampler whose gradient has a noise of variances 1600 and 14400, of 100 of 400 data."""
    estimator = gd.estimators.Minibatch(lambda x, y: y @ x, lambda x: 0.0, 400)
    return kind(estimator, Euclidean(2), 0.01, *arguments, **settings)


def _ratio_of_two_scales(sampler):
    data = jnp.array([1.0, 3.0]) * jax.random.normal(KEY, (400, 2))
    return gradient_noise_ratio(KEY, sampler, jnp.zeros(2), data, batch_size=100)


@pytest.mark.slow
def test_ratio_in_a_metric_is_that_of_the_noise_which_it_injects():
    # h^2 G^-1 V G^-1 over 2 h G^-1.
    scales = jnp.array([1e-3, 1e-3 / 9])
    found = _ratio_of_two_scales(_of_two_scales(gd.samplers.SGRLD, gd.metrics.Constant(scales)))
    np.testing.assert_allclose(found.total, 0.01 * 1.6 / 2, rtol=0.15)
    # Momentum gets noise and friction through the same root of the metric.
    plain = _ratio_of_two_scales(_of_two_scales(gd.samplers.SGGMC, friction=5.0))
    metric = gd.metrics.Constant(scales)
    riemannian = _ratio_of_two_scales(_of_two_scales(gd.samplers.SGRHMC, metric, friction=5.0))
    np.testing.assert_allclose(riemannian, plain, rtol=1e-6)


def test_ratio_of_a_sampler_in_coordinates_is_that_of_the_sampler_there():
    plain = _of_two_scales(gd.samplers.SGGMC, friction=5.0)
    units = LeafScales((jnp.asarray(10.0),))
    moving = dataclasses.replace(plain, estimator=plain.estimator.in_coordinates(units))
    found = _ratio_of_two_scales(InCoordinates(moving, units, plain.manifold))
    np.testing.assert_allclose(found, 100 * np.array(_ratio_of_two_scales(plain)), rtol=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: _of_two_scales(gd.samplers.PreconditionedSGLD, 10),
        lambda: _of_two_scales(gd.samplers.SGFS, preconditioner=100.0),
        lambda: gd.recipe.sghmc(gd.estimators.Minibatch(lambda x, y: y @ x, lambda x: 0.0, 400), 0.01, 5.0),
    ],
    ids=["PreconditionedSGLD", "SGFS", "Recipe"],
)
def test_there_is_no_ratio_where_the_injected_noise_is_another_matrix(make):
    with pytest.raises(ValueError, match="there is no ratio"):
        _ratio_of_two_scales(make())
