"""`GSGNHT.run_warnings`: chains whose thermostats still hold the energy of a far start are told."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from geodrift.manifolds import Euclidean, Product, Sphere
from geodrift.samplers import GSGNHT
from geodrift.samplers._gsgnht import GSGNHTState

KAPPA, SIZE = 5.0, 1000
SPACE = Product({"flat": Euclidean(3), "round": Sphere(4)})
# Of each kind, the manifold, a position of it, and the directions of each of the leaves.
KINDS = {
    "global": (SPACE, {"flat": jnp.zeros(3), "round": jnp.eye(4)[0]}, [6]),
    "leaf": (SPACE, {"flat": jnp.zeros(3), "round": jnp.eye(4)[0]}, [3, 3]),
    "coordinate": (Euclidean(3), jnp.zeros(3), [1]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_thermostats_at_rest_are_not_told_and_those_that_are_not_are(kind):
    space, position, dims = KINDS[kind]
    sampler = GSGNHT(gd.estimators.Full(lambda x: 0.0), space, 0.1, friction=20.0, thermostat=kind)
    one = sampler.init(jax.random.key(0), position)
    position, xi = jax.tree.map(lambda x: np.stack([x] * 4), (one.position, one.thermostat))
    rng = np.random.default_rng(0)

    def told(shifts):
        leaves, structure = jax.tree.flatten(xi)
        shifts = shifts.reshape(4, *[1] * (leaves[0].ndim - 1))
        moved = [x + rng.normal(0, m**-0.5, x.shape) + shifts for x, m in zip(leaves, dims, strict=True)]
        return sampler.run_warnings(GSGNHTState(position, None, structure.unflatten(moved), None, 0))

    assert not any(told(np.zeros(4)) for _ in range(500))
    for _ in range(50):
        (warning,) = told(np.array([0, 0, 5.0, 8.0]))
        assert "forget it in about 200 draws" in warning


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3, 4])
def test_a_run_from_a_far_start_is_told_and_one_from_the_mode_is_not(seed):
    """The tutorial's target: chains from afar have .8 to 1 times the spread, which no other check says."""
    sphere = Sphere(3)
    truth = sphere.project(jnp.array([1.0, 2.0, -1.0]))
    data = gd.distributions.VonMisesFisher(truth, KAPPA).sample(jax.random.key(seed), (SIZE,))
    estimator = gd.estimators.Minibatch(
        lambda mean, batch: KAPPA * batch @ mean, lambda mean: 0.0, SIZE, noise_variance="scalar-fisher"
    )
    sampler = GSGNHT(estimator, sphere, step_size=3e-3, friction=100.0, num_steps=10)
    settings = {"batch_size": 100, "num_draws": 2000, "num_warmup": 500, "num_chains": 4}
    key, mode = jax.random.key(seed), sphere.project(data.sum(axis=0))
    assert any("thermostats" in text for text in gd.sample(key, sampler, data, **settings).report.of_sampler)
    assert not gd.sample(key, sampler, data, initial=mode, **settings).report.of_sampler
