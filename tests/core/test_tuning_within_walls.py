"""Steps that the pilot chooses within walls, where a density without curvature has a width all the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from cases import KEY
from core.test_tuning import SHORT, assert_within_the_bars
from geodrift.estimators import Full
from geodrift.manifolds import (
    Ball,
    Box,
    Euclidean,
    HalfSpaces,
    Ordered,
    PositiveOrthant,
    Product,
    Simplex,
)
from geodrift.samplers import GMC, GSGNHT, SGGMC, SGLD
from geodrift.tuning._width import width

SLOW = pytest.mark.slow
KINDS = [SGGMC, pytest.param(GSGNHT, marks=SLOW), pytest.param(SGLD, marks=SLOW)]


STEPS = {SGGMC: 8, GSGNHT: 40, SGLD: 60}


def draws_of(kind, manifold, log_density, initial=None):
    sampler = kind(Full(log_density), manifold, step_size=None, num_steps=STEPS[kind])
    return gd.sample(KEY, sampler, initial=initial, **SHORT)


def on_a_line(log_density, grid):
    """Mean and standard deviation of a law, by sums over a grid."""
    weights = np.exp(log_density(grid))
    mean = np.average(grid, weights=weights)
    return mean, np.sqrt(np.average((grid - mean) ** 2, weights=weights))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", [*(pytest.param(rate, marks=SLOW) for rate in (0.01, 1.0)), 300.0])
def test_an_exponential_law_of_any_unit(kind, rate):
    """From a start at 20 times the mean."""
    if kind is GSGNHT and rate < 1:
        pytest.skip("the thermostat has a unit of time, and takes long where 1 is a short one")
    rates = rate * jnp.array([1.0, 2.0])
    draws = draws_of(kind, PositiveOrthant(2), lambda x: -jnp.sum(rates * x), 20 / rates)
    mean = 1 / np.asarray(rates)
    assert_within_the_bars(draws.position, mean, mean)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slope", [*(pytest.param(slope, marks=SLOW) for slope in (0.0, 2.0)), 5.0])
def test_an_exponential_law_in_a_box(kind, slope):
    box = Box(jnp.zeros(2), jnp.array([1.0, 2.0]))
    draws = draws_of(kind, box, lambda x: -slope * x[0])
    grid = (np.arange(200_000) + 0.5) / 200_000
    mean, sd = on_a_line(lambda x: -slope * x, grid)
    assert_within_the_bars(draws.position, [mean, 1.0], [sd, 2 / np.sqrt(12)])


@pytest.mark.slow  # in CI a box
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slope", [*(pytest.param(slope, marks=SLOW) for slope in (0.0, 4.0)), 50.0])
def test_a_slope_in_a_ball(kind, slope):
    draws = draws_of(kind, Ball(3), lambda x: slope * x[0])
    grid = np.linspace(-1, 1, 200_001)[1:-1]
    mean, sd = on_a_line(lambda x: slope * x + np.log(1 - x**2), grid)
    assert_within_the_bars(draws.position[..., :1], mean, sd)


def test_the_centre_of_a_ball_is_a_start_like_others():
    """There the way to the wall has no derivative; what the ball's size adds is all there is."""
    apply, of_walls = width(Ball(3), jnp.zeros(3), jnp.array([2.0, 0.0, 0.0]))
    np.testing.assert_allclose(apply(jnp.ones(3)), 5 * np.ones(3))
    assert of_walls == 0


@SLOW  # as walls of a box and a ball are
@pytest.mark.parametrize("kind", KINDS)
def test_a_slope_on_a_simplex(kind):
    draws = draws_of(kind, Simplex(3), lambda x: 3 * x[0] - 2 * x[1])
    x, y = np.meshgrid(*2 * [(np.arange(2000) + 0.5) / 2000])
    inside = x + y < 1
    points = np.stack([x[inside], y[inside]], axis=1)
    weights = np.exp(3 * points[:, 0] - 2 * points[:, 1])
    mean = np.average(points, axis=0, weights=weights)
    sd = np.sqrt(np.average((points - mean) ** 2, axis=0, weights=weights))
    assert_within_the_bars(draws.position[..., :2], mean, sd)


@SLOW  # as walls of a box and a ball are
@pytest.mark.parametrize("kind", KINDS)
def test_half_spaces_with_a_slope(kind):
    """exp(-20 x) on the triangle 0 < y < x < 1, of which the marginal law of x is x exp(-20 x)."""
    triangle = HalfSpaces([[0.0, -1.0], [-1.0, 1.0], [1.0, 0.0]], [0.0, 0.0, 1.0])
    draws = draws_of(kind, triangle, lambda x: -20 * x[0])
    grid = (np.arange(200_000) + 0.5) / 200_000
    mean, sd = on_a_line(lambda x: np.log(x) - 20 * x, grid)
    assert_within_the_bars(draws.position[..., :1], mean, sd)


@SLOW
@pytest.mark.parametrize("kind", KINDS)
def test_ordered_numbers_that_are_pressed_together(kind):
    """Their gap has the exponential law of rate 30, their mean a normal one."""
    draws = draws_of(kind, Ordered(2), lambda x: -30 * (x[1] - x[0]) - 8 * jnp.sum(x) ** 2)
    low, high = np.moveaxis(np.asarray(draws.position), -1, 0)
    assert_within_the_bars(np.stack([high - low, low + high], axis=-1), [1 / 30, 0], [1 / 30, 0.25])


@SLOW
def test_walls_that_are_far_from_the_mass_change_little():
    """The step of a normal law on R^n, where the walls are ten standard deviations away."""

    def log_density(x):
        return -0.5 * jnp.sum((x - 10) ** 2)

    free = draws_of(SGGMC, Euclidean(2), log_density, jnp.full(2, 9.0)).tuned
    walled = draws_of(SGGMC, PositiveOrthant(2), log_density, jnp.full(2, 9.0)).tuned
    assert 0.8 * free.step_size < walled.step_size <= free.step_size


@pytest.mark.slow  # in CI a law of any unit, from a far start
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=SLOW)])
def test_a_pole_at_a_wall_does_not_throw_the_pilot_away(seed):
    """Gamma(4, 201) from 98 standard deviations above the mean: the first steps end at the wall."""
    sampler = GMC(Full(lambda x: 3 * jnp.log(x[0]) - 201 * x[0]), PositiveOrthant(1), step_size=None)
    draws = gd.sample(jax.random.key(seed), sampler, initial=jnp.ones(1), **SHORT)
    assert_within_the_bars(draws.position, [4 / 201], [2 / 201])


@pytest.mark.slow  # in CI walls and far starts
@pytest.mark.parametrize("kind", [SGGMC, pytest.param(GMC, marks=SLOW), pytest.param(GSGNHT, marks=SLOW)])
def test_the_mean_and_the_spread_of_data_that_are_far_from_the_start(kind):
    """The pilot goes on until it has come there, which takes more rounds than there are in any case."""
    data = 30 * np.random.default_rng(0).standard_normal(20) + 1000
    manifold = Product({"mean": Euclidean(), "sd": PositiveOrthant(1)})

    def log_density(x):
        # The prior of the standard deviation is flat, that of the mean as good as flat.
        scaled = (data - x["mean"]) / x["sd"]
        return -0.5 * jnp.sum(scaled**2) - 20 * jnp.log(x["sd"][0]) - 0.5 * (x["mean"] / 1e4) ** 2

    start = {"mean": jnp.zeros(()), "sd": jnp.ones(1)}
    steps = {} if kind is GMC else {"num_steps": STEPS[kind]}
    draws = gd.sample(KEY, kind(Full(log_density), manifold, step_size=None, **steps), initial=start, **SHORT)
    squares = ((data - data.mean()) ** 2).sum()
    mean, sd = on_a_line(
        lambda s: -19 * np.log(s / 28) - squares / (2 * s**2) + 12, np.linspace(8, 200, 200_000)
    )
    assert_within_the_bars(draws.position["sd"], [mean], [sd])
