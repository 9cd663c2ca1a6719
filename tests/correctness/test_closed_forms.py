"""Samplers whose step is linear on a Gaussian: their exact law against formulas written by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from cases import SAMPLERS
from correctness import linear
from correctness.oracle import stationary_covariance
from correctness.targets import PRECISION
from geodrift.manifolds import Euclidean
from law_checks import some
from noisy import Noisy

LINEAR = [case for case in SAMPLERS if case.scheme]
NOISE = jnp.array([2.0, 1.0, 0.5])
# Orders in the step size of the covariance's bias: without noise, with noise subtracted. None: no bias.
ORDERS = {
    "ABOBA": (None, None),
    "BAOAB": (None, 3),
    "OBABO": (2, 2),
    "liu": (2, 2),
    "chen": (2, 2),  # for a Gaussian; of first order in general
    "euler": (1, 1),
}


def covariance(case, h, noise=None, states=True):
    """Of the position in the long run, by the sampler's own step."""

    def log_density(x):
        return -0.5 * x @ jnp.asarray(PRECISION) @ x

    estimator = gd.estimators.Full(log_density)
    if noise is not None:
        estimator = Noisy(log_density, noise, states)
    found = linear.linear_step(case.make(estimator, Euclidean(3), h), jnp.zeros(3))
    mean, covariance = linear.stationary(found)
    np.testing.assert_allclose(mean, 0, atol=1e-12)
    return covariance


@pytest.mark.parametrize(
    "noise", [pytest.param(None, marks=pytest.mark.slow), NOISE], ids=["exact gradient", "noise subtracted"]
)
@pytest.mark.parametrize("case", some(LINEAR, {"SGLD", "SGGMC", "SGHMC", "SGNHT"}))
def test_the_step_has_the_covariance_of_the_scheme(case, noise):
    h = 0.1 if case.overdamped else 0.3
    by_hand = stationary_covariance(case.scheme, PRECISION, h, np.asarray(case.friction), noise)
    np.testing.assert_allclose(covariance(case, h, noise), by_hand, rtol=1e-9)


@pytest.mark.parametrize("scheme", ORDERS)
@pytest.mark.parametrize(
    "column", [pytest.param(0, marks=pytest.mark.slow), 1], ids=["exact gradient", "noise subtracted"]
)
def test_the_schemes_have_the_order_of_theory(scheme, column):
    exact, noise, order = np.linalg.inv(PRECISION), [None, NOISE][column], ORDERS[scheme][column]
    biases = [
        np.max(np.abs(stationary_covariance(scheme, PRECISION, h, noise=noise) - exact)) for h in (0.02, 0.01)
    ]
    if order is None:
        assert max(biases) < 1e-11
    else:
        assert np.log2(biases[0] / biases[1]) == pytest.approx(order, abs=0.05)


def test_noise_that_is_not_stated_heats():
    # By h V / 2 C to first order, in the velocity and so in the position.
    exact = np.trace(np.linalg.inv(PRECISION))
    h, v = 0.01, 2.0
    case = next(case for case in SAMPLERS if case.name == "SGGMC")
    ignored = np.trace(covariance(case, h, jnp.asarray(v), states=False))
    assert ignored / exact - 1 == pytest.approx(h * v / 2, rel=0.02)
