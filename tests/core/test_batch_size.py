"""``batch_size="auto"``: the smallest batch whose noise does not slow the chain."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from geodrift.tuning._batch_size import LEAST, SLOWER, smallest_batch
from geodrift.tuning._choice import Measured, choose
from geodrift.tuning._noise import NO_NOISE, Noise
from geodrift.tuning._pilot_data import PilotData
from told_runs import directions, regression

KEY = jax.random.key(3)


@pytest.mark.parametrize("dynamics", ["friction", "thermostat", "first-order"])
@pytest.mark.parametrize("variance", [1e-6, 0.1, 3.0, 1e6])
def test_half_of_it_would_slow_the_chain(dynamics, variance):
    data = PilotData(np.zeros(100_000), 10_000, replacement=True, smaller=True)
    measured = Measured(
        4.0, 1.0, 10, Noise(variance, 0.9 * variance, variance, 0.1 * variance, 0.01 * variance)
    )
    size = smallest_batch(dynamics, measured, data)

    def relaxation(size):
        noise = NO_NOISE if size is None else measured.noise.times(data.factor(size))
        return choose(dynamics, measured._replace(noise=noise)).relaxation / SLOWER

    assert LEAST <= size <= 10_000
    assert size == 10_000 or relaxation(size) <= SLOWER * relaxation(None)
    assert size == LEAST or relaxation(size / 2) > SLOWER * relaxation(None)


@pytest.mark.parametrize("replacement", [True, False])
def test_the_noise_of_other_batch_sizes(replacement):
    data = PilotData(np.zeros(1000), 100, replacement, smaller=True)
    expected = 2.0 if replacement else (1 / 50 - 1 / 1000) / (1 / 100 - 1 / 1000)
    assert data.factor(50) == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("batches", ["rows", "blocks"])
def test_a_regression_without_settings(batches, tmp_path):
    law = regression((1.0, 10.0, 0.1), rows=20_000)
    estimator = gd.estimators.ControlVariate(law.log_likelihood, law.log_prior, law.data,
                                             noise_variance="scalar-fisher",
                                             replacement=batches == "rows")  # fmt: skip
    sampler = gd.samplers.SGHMC(estimator, law.manifold, step_size=None)
    options = {"batch_size": "auto", "batches": batches, "num_draws": 500, "num_chains": 4}
    options |= {"initial": jnp.zeros(3), "checkpoint": tmp_path / "run"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", gd.RunWarning)
        draws = gd.sample(KEY, sampler, law.data, **options)
    assert draws.tuned.batch_size < 2000
    found = np.asarray(draws.position, float).reshape(-1, 3)
    assert np.max(np.abs(found.mean(axis=0) - law.mean) / law.deviation) < 0.1 + 4 / np.sqrt(draws.report.ess)
    assert np.max(np.abs(found.std(axis=0) / law.deviation - 1)) < 0.07 + 4 / np.sqrt(2 * draws.report.ess)
    again = gd.sample(KEY, sampler, law.data, **options)
    np.testing.assert_array_equal(again.position, draws.position)


@pytest.mark.slow  # a regression shows the choice in CI
def test_a_pilot_on_a_sphere_chooses_it_too():
    law = directions()
    sampler = gd.samplers.SGGMC(law.estimator(gd.estimators.Minibatch), law.manifold, step_size=None)
    draws = gd.sample(KEY, sampler, law.data, batch_size="auto", num_draws=500, num_chains=4, num_warmup=200)
    assert LEAST <= draws.tuned.batch_size <= 200


def test_it_goes_with_an_automatic_step_size():
    law = regression()
    sampler = gd.samplers.SGLD(law.estimator(gd.estimators.Minibatch), law.manifold, 1e-5)
    with pytest.raises(ValueError, match="step_size=None"):
        gd.sample(KEY, sampler, law.data, batch_size="auto", num_draws=10, initial=jnp.zeros(3))
    with pytest.raises(ValueError, match="no data"):
        gd.sample(KEY, sampler, batch_size="auto", num_draws=10, initial=jnp.zeros(3))
    with pytest.raises(ValueError, match="'auto'"):
        gd.sample(KEY, sampler, law.data, batch_size="large", num_draws=10, initial=jnp.zeros(3))
