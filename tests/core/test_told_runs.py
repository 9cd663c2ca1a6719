"""`geodrift.sample` warns of forty runs that cannot be right, and of none of forty that are."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from geodrift.driver import RunReport
from law_checks import some
from told_runs import right_runs, wrong_runs

QUICK = {
    "SGLD, step too large for one direction",
    "SGLD, step too large, sphere",
    "SGLD, few draws of a slow chain",
    "HMC, step too large, banana",
    "SGHMC, a long step, whose positions are right",
    "GMC",
}


@pytest.mark.parametrize("run", some(wrong_runs(), QUICK))
def test_a_run_that_cannot_be_right_is_told(run):
    with pytest.warns(gd.RunWarning):
        draws = run.draws()
    report = draws.report
    assert report.rhat > 1.02 or report.ess < 200 or report.acceptance < 0.1 or run.error(draws) > 1


@pytest.mark.parametrize("run", some(right_runs(), QUICK))
def test_a_run_that_is_right_is_not_told_otherwise(run):
    with warnings.catch_warnings():
        warnings.simplefilter("error", gd.RunWarning)
        draws = run.draws()
    assert run.error(draws) < 1


def test_there_are_forty_of_each():
    assert len(wrong_runs()) == len(right_runs()) == 40


def test_signs_of_points_of_a_lifted_simplex_are_no_mode():
    """Chains that start in other orthants never meet there, and have one law of the probabilities."""
    manifold = gd.manifolds.SphericalSimplex(3)
    density = manifold.lift(lambda theta: 8 * jnp.sum(jnp.log(theta)))
    signs = jnp.array([[1, 1, 1], [-1, 1, 1], [1, -1, 1], [-1, -1, -1.0]])
    sampler = gd.samplers.GMC(gd.estimators.Full(density), manifold, step_size=0.15, num_steps=5)
    start = gd.PerChain(manifold.project(signs))
    draws = gd.sample(jax.random.key(0), sampler, num_draws=500, num_warmup=50, num_chains=4, initial=start)
    assert draws.report.rhat < 1.02
    assert gd.diagnostics.rhat(draws.position).max() > 1.5


@pytest.mark.parametrize(("rhat", "shown"), [(1.0214, "1.0214"), (1.0204, "1.0204"), (123.456, "123.46")])
def test_a_warning_tells_an_r_hat_that_is_seen_to_be_above_the_limit(rhat, shown):
    report = RunReport(rhat, 500.0, np.nan, np.nan, 1.0, 0.0, "position[1]")
    (warning,) = report.warnings
    assert warning.startswith(f"R-hat is {shown} (position[1]), above 1.02:")
