"""The step size of a recipe without settings: the linear step is the sampler's, and so are its variances."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from cases import KEY
from geodrift import recipe
from geodrift.estimators import Minibatch
from geodrift.recipe import Dense, Momentum, Recipe
from geodrift.recipe._frozen import frozen
from geodrift.tuning._linear_step import LinearStep
from law_checks import assert_means, some_of

COVARIANCE = np.array([[4.0, 1.0], [1.0, 0.5]])
PRECISION = jnp.asarray(np.linalg.inv(COVARIANCE), jnp.float32)
NONE = np.zeros((2, 2))


def normal(t):
    return t @ PRECISION @ t / 2


def mixed(step_size):
    """Of the position alone, with D and Q of all its numbers."""
    return Recipe(
        normal,
        Dense(jnp.array([[1.0, 0.2], [0.2, 0.5]])),
        Dense(jnp.array([[0.0, 2.0], [-2.0, 0.0]])),
        step_size,
    )


def damped(step_size, discretisation="semi-implicit"):
    """With a momentum of mass 2."""
    diffusion, curl = (
        {"momentum": {"momentum": 0.7}},
        {"momentum": {"position": 1.5}, "position": {"momentum": -1.5}},
    )
    return Recipe(normal, diffusion, curl, step_size, [Momentum(2.0)], discretisation)


SAMPLERS = {
    "mixed": mixed,
    "damped": damped,
    "damped, Euler's": lambda step_size: damped(step_size, "euler"),
}


@pytest.mark.parametrize("name", some_of(SAMPLERS, {"mixed"}))
def test_the_linear_step_is_the_sampler_s(name):
    h = 0.1
    sampler = SAMPLERS[name](h)
    state = sampler.init(KEY, jnp.array([0.5, -0.2]))
    matrix, noise = LinearStep(frozen(KEY, sampler, state.position), COVARIANCE, NONE, NONE).law(h)

    def moved(z, key):
        end, _ = sampler.step(key, state._replace(position=z["position"], auxiliary=z["auxiliary"]))
        return jnp.concatenate([*end.auxiliary.values(), end.position])

    z = {"auxiliary": state.auxiliary, "position": state.position}
    jacobian = jax.jacfwd(moved)(z, KEY)
    blocks = [*jacobian["auxiliary"].values(), jacobian["position"]]
    np.testing.assert_allclose(np.concatenate(blocks, axis=1), matrix, atol=1e-6)
    ends = np.asarray(jax.vmap(lambda key: moved(z, key))(jax.random.split(KEY, 100_000)))
    scale = np.sqrt(np.outer(np.diag(noise), np.diag(noise))) + 1e-12
    np.testing.assert_allclose(np.cov(ends.T) / scale, noise / scale, atol=5 * (2 / 1e5) ** 0.5)


@pytest.mark.slow  # in CI the linear step is the sampler's, and its law exact
@pytest.mark.parametrize(
    "name",
    [
        "mixed",
        pytest.param("damped", marks=pytest.mark.slow),
        pytest.param("damped, Euler's", marks=pytest.mark.slow),
    ],
)
def test_the_bias_is_that_of_the_draws(name):
    at = LinearStep(frozen(KEY, SAMPLERS[name](0.1), jnp.zeros(2)), COVARIANCE, NONE, NONE)
    h = at.largest(0.3, 0.5)
    assert at.bias(h) == pytest.approx(0.3, abs=0.01)
    sampler = SAMPLERS[name](h)
    draws = gd.sample(
        KEY, sampler, num_draws=2000, num_warmup=500, thin=5, num_chains=64, initial=jnp.zeros(2)
    ).position
    # The direction whose variance is most wrong, by the draws themselves: half of the chains tell it.
    root = np.linalg.cholesky(COVARIANCE)
    white = np.linalg.solve(root, np.asarray(draws, np.float64).reshape(-1, 2).T).T.reshape(64, 2000, 2)
    values, axes = np.linalg.eigh(np.cov(white[:32].reshape(-1, 2).T))
    along = white[32:] @ axes[:, np.abs(values - 1).argmax()]
    sign = np.sign(values[np.abs(values - 1).argmax()] - 1)
    assert_means(along**2, 1 + sign * 0.3, slack=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "mixed",
        "damped",
        "damped, Euler's",
    ],
)
def test_without_settings(name):
    # Euler's steps of a momentum have to be small.
    options = {"num_draws": 2000, "thin": 200 if "Euler" in name else 20, "num_chains": 32}
    draws = gd.sample(KEY, SAMPLERS[name](None), initial=jnp.array([50.0, -80.0]), **options)
    assert not draws.report.warnings
    root = np.linalg.cholesky(COVARIANCE)
    white = np.linalg.solve(root, np.asarray(draws.position, np.float64).reshape(-1, 2).T).T
    assert_means(white.reshape(32, -1, 2) ** 2, 1.0, slack=0.05)
    assert_means(white.reshape(32, -1, 2), 0.0)


@pytest.mark.slow  # without minibatches above; the samplers' own rule in test_no_settings
@pytest.mark.parametrize("make", [recipe.sgld, recipe.sghmc])
@pytest.mark.parametrize("stated", [None, "scalar-fisher"])
def test_without_settings_from_minibatches(make, stated):
    # A normal mean of 3 numbers with noise of other sizes; the posterior is normal.
    rng = np.random.default_rng(0)
    sizes = np.array([0.5, 1.0, 1.5])
    data = jnp.asarray(rng.normal(size=(1000, 3)) * sizes, jnp.float32)
    estimator = Minibatch(
        lambda mean, batch: -jnp.sum(((batch - mean) / sizes) ** 2, axis=1) / 2,
        lambda mean: -(mean @ mean) / 2,
        1000,
        noise_variance=stated,
    )
    precision = 1 + 1000 / sizes**2
    draws = gd.sample(
        KEY,
        make(estimator, None),
        data,
        batch_size=50,
        num_draws=1000,
        num_warmup=200,
        thin=20,
        num_chains=32,
        initial=jnp.full(3, 5.0),
    )
    expected = np.asarray(data).sum(axis=0) / sizes**2 / precision
    white = (np.asarray(draws.position, np.float64) - expected) * np.sqrt(precision)
    assert_means(white**2, 1.0, slack=0.06)
    assert_means(white, 0.0)


@pytest.mark.parametrize(
    ("sampler", "options", "match"),
    [
        pytest.param(recipe.hmc(normal, None), {}, "come to rest nowhere", marks=pytest.mark.slow),
        pytest.param(recipe.sgnht(normal, None), {}, "as a thermostat does", marks=pytest.mark.slow),
        (recipe.sgld(lambda t: jnp.sum(t**2), None), {"initial": jnp.zeros(501)}, "z has 501 numbers"),
    ],
)
def test_where_there_is_no_rule(sampler, options, match):
    with pytest.raises(ValueError, match=match):
        gd.sample(KEY, sampler, num_draws=10, **{"initial": jnp.zeros(2), **options})


def test_the_batch_size_is_not_chosen():
    data = jnp.zeros((100, 2))
    estimator = Minibatch(
        lambda t, batch: -jnp.sum((batch - t) ** 2, axis=1), lambda t: -t @ t, 100, noise_variance=None
    )
    with pytest.raises(ValueError, match="give a batch size"):
        gd.sample(
            KEY,
            recipe.sgld(estimator, None),
            data,
            batch_size="auto",
            num_draws=10,
            initial=jnp.zeros(2),
        )
