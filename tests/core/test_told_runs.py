"""`geodrift.sample` warns of forty runs that cannot be right, and of none of forty that are."""

import warnings

import pytest

import geodrift as gd
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
