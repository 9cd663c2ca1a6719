"""Products whose leaves have other units than the sphere beside them: one step size suits all of them."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from cases import KEY
from core.test_tuning import SHORT, assert_within_the_bars
from geodrift.estimators import ControlVariate, Full, Minibatch
from geodrift.manifolds import Euclidean, PositiveOrthant, Product, Sphere
from geodrift.samplers import GMC, GSGNHT, SGGMC, SGLD
from geodrift.tuning import Tuned, tune

STEPS = {SGGMC: 8, GSGNHT: 20, SGLD: 40}
BOTH = Product({"a": Sphere(3), "b": Euclidean(2)})


def sampler_of(kind, target, manifold):
    steps = {} if kind is GMC else {"num_steps": STEPS[kind]}
    return kind(target, manifold, step_size=None, **steps)


def cosine(kappa):
    """Mean and standard deviation of the first number of a von Mises-Fisher law on the sphere of R^3."""
    mean = 1 / np.tanh(kappa) - 1 / kappa
    return mean, np.sqrt(1 - mean**2 - 2 * mean / kappa)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "width"),
    [
        (SGGMC, 0.01),
        *(
            (kind, width)
            for kind, width in itertools.product((GMC, SGGMC, GSGNHT, SGLD), (0.01, 100.0))
            if (kind, width) != (SGGMC, 0.01)
        ),
    ],
)
def test_a_normal_law_of_any_width_beside_a_sphere(kind, width):
    target = Full(lambda p: 5 * p["a"][0] - 0.5 * jnp.sum((p["b"] / width) ** 2))
    draws = gd.sample(KEY, sampler_of(kind, target, BOTH), **SHORT)
    seen = np.concatenate([draws.position["a"][..., :1], draws.position["b"]], axis=-1)
    mean, sd = cosine(5.0)
    assert_within_the_bars(seen, [mean, 0, 0], [sd, width, width])
    assert 0.5 < draws.tuned.units[1] / (width * np.sqrt(5.0)) < 2
    assert draws.tuned.units[0] == 1
    assert draws.report.rhat < 1.05


@pytest.mark.slow
def test_positive_numbers_that_depend_on_a_direction():
    """Of exp(-(2 - a_0) b / 100) the marginal law of a_0 is 1 / (2 - a_0) on (-1, 1)."""
    manifold = Product({"a": Sphere(3), "b": PositiveOrthant(1)})
    target = Full(lambda p: -(2 - p["a"][0]) * p["b"][0] / 100)
    draws = gd.sample(KEY, sampler_of(SGGMC, target, manifold), **SHORT | {"num_draws": 1000}).position
    grid = np.linspace(-1, 1, 20_001)
    weights = 1 / (2 - grid)
    means = np.array([np.average(x, weights=weights) for x in (grid, 100 * weights)])
    squares = np.array([np.average(x, weights=weights) for x in (grid**2, 2e4 * weights**2)])
    seen = np.stack([draws["a"][..., 0], draws["b"][..., 0]], axis=-1)
    assert_within_the_bars(seen, means, np.sqrt(squares - means**2))


ROWS = 400
DIRECTIONS = Sphere(3).project(jax.random.normal(KEY, (ROWS, 3)) + jnp.array([1.0, 0.0, 0.0]))
LENGTHS = 50.0 + 300.0 * jax.random.normal(jax.random.key(5), (ROWS, 2))


def log_likelihood(p, rows):
    directions, lengths = rows
    return 0.5 * directions @ p["a"] - 0.5 * jnp.sum((lengths - p["b"]) ** 2, axis=1) / 300.0**2


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [Minibatch, ControlVariate])
def test_minibatches_of_two_units(estimator):
    data, prior = (DIRECTIONS, LENGTHS), lambda p: 0.0
    if estimator is Minibatch:
        target = Minibatch(log_likelihood, prior, ROWS, "scalar-fisher")
    else:
        centre = {"a": Sphere(3).project(DIRECTIONS.sum(axis=0)), "b": LENGTHS.mean(axis=0)}
        target = ControlVariate(log_likelihood, prior, data, centre)
    draws = gd.sample(KEY, sampler_of(SGGMC, target, BOTH), data, batch_size=100, **SHORT)
    resultant = np.asarray(0.5 * DIRECTIONS.sum(axis=0), float)
    kappa = float(np.linalg.norm(resultant))
    mean, sd = cosine(kappa)
    along = np.asarray(draws.position["a"], float) @ (resultant / kappa)
    seen = np.concatenate([along[..., None], draws.position["b"]], axis=-1)
    middle = np.asarray(LENGTHS, float).mean(axis=0)
    assert_within_the_bars(seen, [mean, *middle], [sd, 15.0, 15.0])


START = {"a": jnp.eye(3)[0], "b": jnp.zeros(2)}


@pytest.mark.slow  # that others get the units they need is in CI
def test_leaves_that_are_alike_keep_their_units():
    target = Full(lambda p: 5 * p["a"][0] - 2 * jnp.sum(p["b"] ** 2))
    assert tune(KEY, sampler_of(SGGMC, target, BOTH), initial=START).units is None


@pytest.mark.slow
def test_leaves_with_a_noise_in_numbers_keep_their_units():
    given = Minibatch(log_likelihood, lambda p: 0.0, ROWS, noise_variance={"a": 1.0, "b": 1e-6})
    found = tune(KEY, sampler_of(SGGMC, given, BOTH), (DIRECTIONS, LENGTHS), batch_size=100, initial=START)
    assert found.units is None


@pytest.mark.slow  # `test_tuning` keeps the choice with the run in CI
def test_the_units_are_kept_with_the_run(tmp_path):
    target = Full(lambda p: 5 * p["a"][0] - 0.5 * jnp.sum((p["b"] / 100) ** 2))
    sampler = sampler_of(SGGMC, target, BOTH)
    short = {"num_warmup": 20, "num_chains": 2}
    whole = gd.sample(KEY, sampler, num_draws=40, checkpoint=tmp_path / "whole", **short)
    gd.sample(KEY, sampler, num_draws=20, checkpoint=tmp_path / "parts", **short)
    parts = gd.sample(KEY, sampler, num_draws=40, checkpoint=tmp_path / "parts", **short)
    np.testing.assert_array_equal(parts.position["b"], whole.position["b"])
    again = Tuned.from_dict(whole.tuned.as_dict())
    assert again.units == whole.tuned.units
    assert "in units of 1, " in str(again)
