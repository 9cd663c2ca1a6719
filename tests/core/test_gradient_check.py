"""Draws against the gradients of their target: exact draws pass, and others are off by what they are off."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from correctness.target import rejection
from geodrift.distributions import VonMisesFisher
from geodrift.driver._gradient_check import gradient_check
from geodrift.driver._source import source_of
from geodrift.driver._target_gradient import target_gradient
from geodrift.estimators import ControlVariate, Full, Minibatch
from geodrift.manifolds import (
    Ball,
    Box,
    Euclidean,
    HalfSpaces,
    Hyperbolic,
    Ordered,
    PositiveOrthant,
    Product,
    Simplex,
    Sphere,
    Stiefel,
    Torus,
)
from law_checks import some_of

KEY = jax.random.key(11)
CHAINS, DRAWS = 4, 4000


def checked(manifold, log_density, draws):
    sampler = gd.samplers.SGLD(Full(log_density), manifold, 0.1)
    return gradient_check(KEY, sampler, source_of(KEY, sampler, None, None, "rows")[1], draws, 100)


def many(draw):
    return jax.vmap(jax.vmap(draw))(jax.random.split(jax.random.key(2), (CHAINS, DRAWS)))


def assert_passes(found):
    assert abs(found.variance - 1) < 4 * found.variance_error
    assert abs(found.shift) < 4 * found.shift_error
    assert found.variance_error < 0.06
    assert not found.warnings


FACTOR = jnp.array([[1.0, 0.0, 0.0], [-3.0, 5.0, 0.0], [0.1, 0.2, 0.01]])


def normal_density(x):
    return -0.5 * jnp.sum(jnp.linalg.solve(FACTOR, x) ** 2)


@pytest.mark.parametrize("width", [1.0, 1.15, 0.85])
def test_a_normal(width):
    draws = many(lambda key: width * FACTOR @ jax.random.normal(key, (3,)))
    found = checked(Euclidean(3), normal_density, draws)
    assert abs(found.variance / width**2 - 1) < 4 * found.variance_error
    assert bool(found.warnings) == (width != 1.0)


def test_gradients_that_contradict_the_draws_are_told_with_the_number_found():
    # Draws about 0 of a density that grows outwards: by its gradients their variance is about -4.
    draws = many(lambda key: jax.random.normal(key, (2,)))
    found = checked(Euclidean(2), lambda x: 2.0 * jnp.sum(x**2), draws)
    assert abs(found.variance + 4) < 0.5
    (told,) = found.warnings
    assert "contradict where they lie along" in told
    assert f"is {found.variance - 1:.2f}, with an error of {found.variance_error:.2f}" in told
    assert f"at worst {found.variance:.2f} \u00b1" in str(found)


def test_a_shift_of_the_narrowest_direction():
    off = FACTOR @ jnp.array([0.0, 0.0, 0.3])
    found = checked(Euclidean(3), normal_density, many(lambda k: off + FACTOR @ jax.random.normal(k, (3,))))
    assert abs(abs(found.shift) - 0.3) < 4 * found.shift_error
    assert any("mean" in told for told in found.warnings)


@pytest.mark.slow  # frames and the faces of a simplex are curved and bent in CI
@pytest.mark.parametrize("concentration", [0.5, 5.0, 100.0])
def test_von_mises_fisher(concentration):
    mu = jnp.array([0.6, 0.0, 0.8, 0.0])

    def density(x):
        return concentration * mu @ x

    assert_passes(checked(Sphere(4), density, many(VonMisesFisher(mu, concentration).sample)))
    hotter = VonMisesFisher(mu, concentration / 1.5 if concentration > 1 else 3.0)
    assert checked(Sphere(4), density, many(hotter.sample)).warnings


def test_uniform_frames():
    assert_passes(checked(Stiefel(4, 2), lambda x: 0.0 * jnp.sum(x), many(Stiefel(4, 2).random_point)))


@pytest.mark.slow  # the check is the same on the sphere
def test_matrix_langevin():
    parameter = jnp.array([[2.0, 0.4], [0.0, -1.0], [0.6, 2.0], [0.0, 0.0]])
    largest = jnp.sum(jnp.linalg.svd(parameter, compute_uv=False))
    frames = Stiefel(4, 2).random_point
    draws = many(rejection(frames, lambda x: jnp.sum(parameter * x) - largest))
    assert_passes(checked(Stiefel(4, 2), lambda x: jnp.sum(parameter * x), draws))
    assert checked(Stiefel(4, 2), lambda x: 0.6 * jnp.sum(parameter * x), draws).warnings


ALPHA = jnp.array([0.6, 3.0, 5.0])


def dirichlet_density(x):
    return jnp.sum((ALPHA - 1) * jnp.log(x))


def gamma_density(x):
    return jnp.sum((ALPHA - 1) * jnp.log(x) - jnp.array([2.0, 1.0, 0.1]) * x)


@pytest.mark.parametrize("shape", [pytest.param((), marks=pytest.mark.slow), (2,)])
def test_a_dirichlet_law_up_to_the_faces(shape):
    draws = many(lambda key: jax.random.dirichlet(key, ALPHA, shape))
    assert_passes(checked(Simplex(3), dirichlet_density, draws))


@pytest.mark.slow
@pytest.mark.parametrize("width", [1.0, 1.3])
def test_gammas_up_to_zero_beside_a_normal(width):
    manifold = Product({"a": PositiveOrthant(3), "b": Euclidean(1)})

    def draw(key):
        ours, theirs = jax.random.split(key)
        gammas = jax.random.gamma(ours, ALPHA) / jnp.array([2.0, 1.0, 0.1])
        return {"a": gammas, "b": width * jax.random.normal(theirs, (1,))}

    found = checked(manifold, lambda x: gamma_density(x["a"]) - 0.5 * jnp.sum(x["b"] ** 2), many(draw))
    if width == 1.0:
        assert_passes(found)
    else:
        assert abs(found.variance / width**2 - 1) < 4 * found.variance_error
        assert found.variance_along == "['b'][0]"
        assert found.warnings


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_draws_of_another_dirichlet_or_gamma_law_are_off_by_what_they_are_off(factor):
    """Terms of the draws' own parameters and those of the target, in closed form."""
    other = many(lambda key: jax.random.dirichlet(key, factor * ALPHA))
    found = checked(Simplex(3), dirichlet_density, other)
    assert abs(found.variance - 1 / factor) < 4 * found.variance_error
    assert any("variance" in told for told in found.warnings)
    other = many(lambda key: factor * jax.random.gamma(key, ALPHA) / jnp.array([2.0, 1.0, 0.1]))
    found = checked(PositiveOrthant(3), gamma_density, other)
    assert abs(found.variance - factor) < 4 * found.variance_error
    shifts = (factor - 1) * np.sqrt(np.asarray(ALPHA))
    assert np.abs(shifts - found.shift).min() < 4 * found.shift_error
    assert any("mean" in told for told in found.warnings)


@pytest.mark.slow  # walls that are told are in CI
def test_steps_that_edges_bend_are_told_and_are_not_chosen():
    """Of exp(3 x_0 - 2 x_1) on probability vectors the mean is (.571, .175, .254), by sums over a grid."""
    density = Full(lambda x: 3 * x[0] - 2 * x[1])
    sampler = gd.samplers.SGLD(density, Simplex(3), step_size=0.08)
    with pytest.warns(gd.RunWarning, match="mean along .* standard deviations off"):
        draws = gd.sample(KEY, sampler, num_draws=2000, num_warmup=100, num_chains=4)
    assert draws.position[..., 0].mean() < 0.53
    assert "kinetic temperature" not in str(draws.report)
    chosen = gd.samplers.SGGMC(density, Simplex(3), step_size=None)
    draws = gd.sample(KEY, chosen, num_draws=2000, num_warmup=100, num_chains=4)
    assert abs(draws.report.gradients.shift) < 4 * draws.report.gradients.shift_error + 0.03
    np.testing.assert_allclose(draws.position.mean(axis=(0, 1)), [0.571, 0.175, 0.254], atol=0.035)


TRIANGLE = HalfSpaces([[-1.0, 0.0], [0.0, -1.0], [1.0, 2.0]], [0.0, 0.0, 2.0])
SLOPE = jnp.array([1.0, -2.0, 0.5])
REGIONS = {
    "box": (Box([-1.0, 0.0, -jnp.inf], [1.0, jnp.inf, 2.0]), lambda x: -0.5 * jnp.sum((x - SLOPE) ** 2)),
    "ball": (Ball(3), lambda x: jnp.sum(SLOPE * x)),
    "half-spaces": (TRIANGLE, lambda x: 2 * x[0] - 3 * x[1] ** 2),
    "ordered": (Ordered(3), lambda x: -0.5 * jnp.sum((x - SLOPE) ** 2)),
}


@functools.cache
def exact_draws(region):
    """By rejection from the uniform law, or for what has no bounds from a wide normal one, in float64."""
    manifold, density = REGIONS[region]
    rng, found = np.random.default_rng(5), []
    spread = {"box": 2.0, "ordered": 2.0}.get(region)
    n = manifold.point_shape[0]
    while sum(map(len, found)) < CHAINS * DRAWS:
        x = rng.normal(scale=spread, size=(400_000, n)) if spread else rng.uniform(-2, 2, (400_000, n))
        inside = np.asarray(jax.vmap(manifold.residual)(jnp.asarray(x))) <= 0
        x = x[inside]
        log_ratio = np.asarray(jax.vmap(density)(jnp.asarray(x)))
        if spread:
            log_ratio = log_ratio + (x**2).sum(axis=1) / (2 * spread**2)
        found.append(x[np.log(rng.uniform(size=len(x))) < log_ratio - log_ratio.max()])
    return jnp.asarray(np.concatenate(found)[: CHAINS * DRAWS].reshape(CHAINS, DRAWS, n), jnp.float32)


@pytest.mark.slow
@pytest.mark.parametrize("region", some_of(REGIONS, {"half-spaces"}))
def test_exact_draws_within_walls_pass(region):
    manifold, density = REGIONS[region]
    assert_passes(checked(manifold, density, exact_draws(region)))


@pytest.mark.parametrize("region", REGIONS)
def test_draws_within_walls_of_another_density_are_told(region):
    manifold, density = REGIONS[region]
    found = checked(manifold, lambda x: density(x) + x[0], exact_draws(region))
    assert any("mean" in told for told in found.warnings)


CONCENTRATIONS = jnp.array([0.05, 0.5, 4.0, 300.0])


def angles_density(x):
    return jnp.sum(CONCENTRATIONS * jnp.cos(x - 1.0))


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.5])
def test_angles(factor):
    """Draws of other concentrations have another variance by their ratio, where they are concentrated."""
    kappa = factor * np.array(CONCENTRATIONS)
    x = np.random.default_rng(3).vonmises(1.0, kappa, size=(CHAINS, DRAWS, 4))
    found = checked(Torus(4), angles_density, jnp.asarray(x, jnp.float32))
    if factor == 1.0:
        assert_passes(found)
    else:
        assert abs(found.variance - 1 / factor) < 4 * found.variance_error
        assert found.warnings


def test_leaves_without_identities_are_left_out():
    manifold = Product({"a": Sphere(3), "b": Hyperbolic(2)})

    def draw(key):
        one, other = jax.random.split(key)
        return {"a": Sphere(3).random_point(one), "b": Hyperbolic(2).random_point(other)}

    assert_passes(checked(manifold, lambda p: 0.0 * jnp.sum(p["a"]), many(draw)))
    assert checked(Hyperbolic(2), lambda b: 0.0 * jnp.sum(b), many(lambda k: draw(k)["b"])) is None


@pytest.mark.parametrize("kind", [Minibatch, ControlVariate])
def test_gradients_of_minibatches_have_the_mean_of_all_data(kind):
    data = jnp.asarray(np.random.default_rng(0).normal(size=(300, 2)), jnp.float32)

    def log_likelihood(x, batch):
        return -jnp.cosh(batch @ x)

    def log_prior(x):
        return -0.5 * jnp.sum(x**2)

    estimator = kind(log_likelihood, log_prior, data if kind is ControlVariate else 300)
    sampler = gd.samplers.SGLD(estimator, Euclidean(2), 0.1)
    sampler, source = source_of(KEY, sampler, data, 20, "rows")
    target = target_gradient(KEY, sampler.estimator, source, jnp.array([0.1, -0.2]))
    place = jnp.array([0.4, 0.3])
    found = np.asarray(jax.vmap(lambda key: target(key, place))(jax.random.split(KEY, 4000)))
    exact = jax.grad(lambda x: log_prior(x) + jnp.sum(log_likelihood(x, data)))(place)
    error = found.std(axis=0) / np.sqrt(len(found))
    assert np.all(np.abs(found.mean(axis=0) - exact) < 4 * error)
