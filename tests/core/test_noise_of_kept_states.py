"""The gradient noise of SVRG, SAGA and a centre at the start: it is that of the way from what they keep."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cases import KEY
from geodrift.diagnostics import gradient_noise_ratio
from geodrift.estimators import SAGA, SVRG, ControlVariate, Minibatch, Rows
from geodrift.estimators._affine import Affine, Layout
from geodrift.manifolds import Euclidean
from geodrift.metrics import Constant
from geodrift.samplers import SGLD, SGRHMC
from geodrift.tuning import tune
from geodrift.tuning._metric_frame import noise_in_metric
from geodrift.tuning._pilot_data import PilotData
from geodrift.tuning._run_noise import RunNoise
from geodrift.tuning._scales import Scales

N, B = 500, 10
WEIGHTS = jax.random.exponential(KEY, (N,))
# The gradients' differences of two positions are the way between them times the data's weights.
OF_A_WAY = N**2 / B * float(jnp.var(WEIGHTS, ddof=1)) * (1 - 1 / N)


def log_likelihood(x, weights):
    return -0.5 * weights * x[0] ** 2


def flat(x):
    return 0.0 * x[0]


KINDS = {
    "SAGA": lambda: SAGA(log_likelihood, flat, WEIGHTS),
    "SVRG": lambda: SVRG(log_likelihood, flat, WEIGHTS, 50),
    "centre at the start": lambda: ControlVariate(log_likelihood, flat, WEIGHTS),
}


def data_of(estimator):
    return PilotData(Rows(jnp.arange(N), WEIGHTS) if estimator.takes_rows else WEIGHTS, B, True)


def test_noise_of_saga_on_flat_space_is_that_of_a_way_between_two_positions():
    """The table was made at the very position, where there is no noise: draws had 1.2 times the variance."""
    starts, layout = np.array([[0.0], [0.1], [0.3], [0.6]]), Layout.of(jnp.zeros(1))
    scales = Scales(Affine.of(np.zeros(1), np.eye(1), layout), np.zeros(1), np.eye(1), starts)
    estimator = KINDS["SAGA"]()
    found = RunNoise(KEY, estimator, data_of(estimator)).found(scales, B).noise
    assert found.mean == pytest.approx(OF_A_WAY * 0.3**2, rel=0.3)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_in_a_metric_is_that_of_the_way_from_an_earlier_position(kind):
    estimator, (here, earlier) = KINDS[kind](), jnp.array([[0.5], [0.2]])
    metric = Constant(jnp.array([0.01]))
    found = noise_in_metric(KEY, estimator, metric, here, earlier, data_of(estimator))
    assert found.mean == pytest.approx(0.01 * OF_A_WAY * 0.3**2, rel=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SGLD, SGRHMC])
@pytest.mark.parametrize("name", KINDS)
def test_a_pilot_in_a_metric_sees_that_noise(kind, name):
    estimator, metric = KINDS[name](), Constant(jnp.array([0.01]))
    data = Rows(jnp.arange(N), WEIGHTS) if estimator.takes_rows else WEIGHTS
    tuned = tune(KEY, kind(estimator, Euclidean(1), None, metric), data, batch_size=B, initial=jnp.ones(1))
    assert tuned.noise_variance > 1e-9 * OF_A_WAY  # it was 0 but for rounding


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_no_ratio_of_noise_that_depends_on_a_run(kind):
    """It was told as 0, and of SAGA the error asked for the data."""
    sampler = SGLD(KINDS[kind](), Euclidean(1), 0.01)
    with pytest.raises(ValueError, match="0 there; multiply the ratio of Minibatch by"):
        gradient_noise_ratio(KEY, sampler, jnp.ones(1), WEIGHTS, batch_size=B)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("size", [0, -5, 2.5, N + 1, "auto"])
def test_a_ratio_of_batches_that_cannot_be_drawn_is_refused(size):
    sampler = SGLD(Minibatch(log_likelihood, flat, N), Euclidean(1), 0.01)
    with pytest.raises(ValueError, match=f"batch_size = {size!r}: must be a whole number from 1 to {N}"):
        gradient_noise_ratio(KEY, sampler, jnp.ones(1), WEIGHTS, batch_size=size)
