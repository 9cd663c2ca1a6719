"""HMC with a mass, and RMHMC: exact whatever the step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import geodrift as gd
from cases import KEY
from geodrift.manifolds import Euclidean
from geodrift.metrics import Dense, Diagonal
from geodrift.samplers import HMC, RMHMC
from law_checks import assert_means

FLAT = Euclidean(2)


def banana(z):
    """exp(-x^4 / 10) times N(y; x^2 / 4 - 1.2, 1 / 16)."""
    return -(z[0] ** 4) / 10 - (4 * (z[1] + 1.2) - z[0] ** 2) ** 2 / 2


def fisher(z):
    return jnp.array([[5.2 * z[0] ** 2 + 1, -8 * z[0]], [-8 * z[0], 16.0]])


BANANA = gd.estimators.Full(banana)
UNEVEN = Diagonal(lambda z: jnp.array([1.0, 0.3]) / (1 + z**2), separable=True)


def banana_moments(draws):
    x, y = draws[..., 0], draws[..., 1]
    return np.stack([x, y, x**2, x**4, (y + 0.9327961391) ** 2, x**2 * (y + 0.9327961391)], axis=-1)


BANANA_MOMENTS = np.array([0, -0.9327961391, 1.0688154437, 2.5, 0.1473520967, 0.3394083868])


@pytest.mark.slow  # in CI the order of its steps and that they keep volume
@pytest.mark.parametrize("kind", ["HMC", "HMC without settings", "RMHMC", "RMHMC without settings"])
def test_banana(kind):
    sampler = {
        "HMC": HMC(BANANA, FLAT, 0.25, num_steps=8, mass=jnp.array([1.0, 4.0])),
        "HMC without settings": HMC(BANANA, FLAT, None),
        "RMHMC": RMHMC(BANANA, FLAT, 0.35, UNEVEN, num_steps=5),
        "RMHMC without settings": RMHMC(BANANA, FLAT, None, UNEVEN),
    }[kind]
    draws = gd.sample(
        KEY, sampler, num_draws=600, num_warmup=60, num_chains=64, initial=jnp.array([0.5, -1.0])
    )
    assert 0.3 < draws.info.acceptance.mean() < 0.97  # the test is needed
    assert_means(banana_moments(draws.position), BANANA_MOMENTS, comparisons=12)


@pytest.mark.parametrize("metric", [Dense(fisher), UNEVEN], ids=["dense", "diagonal"])
def test_generalised_leapfrog(metric):
    """It solves Hamilton's equations to second order, keeps volume, and takes itself back."""
    sampler = RMHMC(BANANA, FLAT, 0.1, metric)
    start = (jnp.array([0.6, -0.8]), jnp.array([0.7, -1.5]))
    flat, unravel = ravel_pytree(start)

    @jax.jit
    def step(z, h):
        x, p, solved = sampler._leapfrog(*unravel(z), h)
        return ravel_pytree((x, p))[0], solved

    end, solved = step(flat, 0.1)
    assert solved
    back, _ = step(end * jnp.array([1, 1, -1, -1]), 0.1)
    np.testing.assert_allclose(back * jnp.array([1, 1, -1, -1]), flat, atol=1e-11)
    # while_loop has no reverse derivative, and the forward one is that of the iteration: finite differences.
    unit = 1e-5 * jnp.eye(4)
    jacobian = jnp.stack([(step(flat + u, 0.1)[0] - step(flat - u, 0.1)[0]) / 2e-5 for u in unit], axis=1)
    assert jnp.linalg.det(jacobian) == pytest.approx(1, abs=1e-7)

    def hamiltonian(z):
        x, p = unravel(z)
        matrix = jnp.stack([metric.apply(x, e) for e in jnp.eye(2)], axis=1)
        return -banana(x) + p @ jnp.linalg.inv(matrix) @ p / 2 + jnp.linalg.slogdet(matrix)[1] / 2

    skew = jnp.block([[jnp.zeros((2, 2)), jnp.eye(2)], [-jnp.eye(2), jnp.zeros((2, 2))]])

    def exact(t, pieces=200):
        def midpoint(_, z):
            k1 = skew @ jax.grad(hamiltonian)(z)
            return z + t / pieces * skew @ jax.grad(hamiltonian)(z + t / pieces / 2 * k1)

        return jax.lax.fori_loop(0, pieces, midpoint, flat)

    exact = jax.jit(exact)
    errors = [float(jnp.max(jnp.abs(step(flat, h)[0] - exact(h)))) for h in (0.04, 0.02)]
    assert errors[0] / errors[1] == pytest.approx(8, rel=0.25)


def test_unsolved_equations_reject():
    sampler = RMHMC(BANANA, FLAT, 20.0, UNEVEN)
    state, step = sampler.init(KEY, jnp.array([1.0, -1.0])), jax.jit(sampler.step)
    for count in range(5):
        new, info = step(jax.random.fold_in(KEY, count), state)
        assert info.acceptance == 0
        assert info.result == gd.Result.OK
        np.testing.assert_array_equal(new.position, state.position)


@pytest.mark.slow
def test_trajectories_in_a_metric_are_the_same_in_any_unit():
    """In float32, where a position of size 1e-6 is smaller than the rounding of numbers near 1."""

    def draws(unit):
        metric = Diagonal(lambda x: unit**2 * jnp.exp(0.5 * jnp.sin(2 * x / unit + 1)), separable=True)
        target = gd.estimators.Full(lambda x: -jnp.sum((x / unit) ** 2) / 2)
        sampler = RMHMC(target, Euclidean(1), jnp.float32(0.5), metric, num_steps=3)

        def step(state, key):
            state, info = sampler.step(key, state)
            return state, (state.position / unit, info.acceptance)

        start = sampler.init(KEY, unit * jnp.ones(1, jnp.float32))
        return jax.lax.scan(step, start, jax.random.split(KEY, 50))[1]

    plain, small = (jax.jit(draws, static_argnums=0)(unit) for unit in (1.0, 2.0**-20))
    np.testing.assert_allclose(small[0], plain[0], rtol=1e-5)
    assert plain[1].mean() > 0.8


def test_mass_scales_the_velocity():
    """A target of scales s with M = 1 / s^2 gives the trajectories of a standard normal, scaled."""
    scales = jnp.array([0.1, 3.0])
    plain = HMC(gd.estimators.Full(lambda x: -x @ x / 2), FLAT, 0.3, num_steps=4)
    scaled = HMC(gd.estimators.Full(lambda x: -jnp.sum((x / scales) ** 2) / 2), FLAT, 0.3, 4, 1 / scales**2)
    x = jnp.array([0.4, -1.3])
    one, info = plain.step(KEY, plain.init(KEY, x))
    other, other_info = scaled.step(KEY, scaled.init(KEY, x * scales))
    np.testing.assert_allclose(other.position / scales, one.position, rtol=1e-12)
    assert other_info.acceptance == pytest.approx(float(info.acceptance), rel=1e-12)
    assert other_info.kinetic_temperature == pytest.approx(float(info.kinetic_temperature), rel=1e-12)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: HMC(BANANA, FLAT, 0.1, mass=-1.0), "mass = -1.0: must be positive"),
        (lambda: HMC(BANANA, gd.manifolds.Sphere(2), 0.1), "Euclidean"),
        (lambda: RMHMC(gd.estimators.Minibatch(jnp.sum, jnp.sum, 3), FLAT, 0.1, UNEVEN), "needs Full"),
        (lambda: RMHMC(BANANA, FLAT, 0.1, UNEVEN, num_steps=0), "num_steps = 0"),
    ],
)
@pytest.mark.usefixtures("unchecked_types")
def test_wrong_arguments_raise(make, match):
    with pytest.raises(ValueError, match=match):
        make()
