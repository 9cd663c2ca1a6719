"""Normals drawn ahead of a loop are those that each step would have drawn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from geodrift.integrators import _normals
from geodrift.manifolds import Euclidean, Hyperbolic, Product, Sphere

STARTS = {
    "two leaves": (
        Product({"a": Euclidean(3), "b": Sphere(4)}),
        {"a": jnp.zeros(3), "b": jnp.array([1.0, 0.0, 0.0, 0.0])},
    ),
    "no normals ahead": (Hyperbolic(2), jnp.array([1.0, 0.0, 0.0])),
}


def log_likelihood(position, batch):
    return -0.5 * jnp.sum((batch - position["a"] - position["b"][:3]) ** 2, axis=-1)


def sampler_of(name, manifold, reuse_batch):
    estimator = gd.estimators.Minibatch(log_likelihood, lambda _: 0.0, 50)
    options = {"num_steps": 4, "reuse_batch": reuse_batch}
    if name == "SGLD":
        return gd.samplers.SGLD(estimator, manifold, 1e-3, **options)
    return gd.samplers.SGGMC(estimator, manifold, 0.01, friction=1.0, composition=name, **options)


@pytest.mark.parametrize("reuse_batch", [True, False])
@pytest.mark.parametrize(
    "name", ["SGLD", *(pytest.param(name, marks=pytest.mark.slow) for name in ("BAOAB", "liu"))]
)
def test_a_draw_is_that_of_normals_drawn_one_by_one(name, reuse_batch, monkeypatch):
    manifold, initial = STARTS["two leaves"]
    data = np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32)
    sampler = sampler_of(name, manifold, reuse_batch)
    state = sampler.init(jax.random.key(1), initial)
    states = []
    for largest in (_normals.LARGEST_AHEAD, 0):
        monkeypatch.setattr(_normals, "LARGEST_AHEAD", largest)
        step = jax.jit(lambda key, state, batch: sampler.step(key, state, batch)[0])
        states.append(step(jax.random.key(3), state, data[0] if reuse_batch else data))
    for ahead, one_by_one in zip(*(jax.tree.leaves(state.position) for state in states), strict=True):
        np.testing.assert_allclose(ahead, one_by_one, atol=1e-6)


def test_what_is_drawn_ahead():
    keys = jax.random.split(jax.random.key(0), 5)
    manifold, position = STARTS["two leaves"]
    drawn = _normals.draw_ahead(keys, manifold, position)
    assert [a.shape for a in drawn.normals] == [(5, 3), (5, 4)]
    for step, key in enumerate(keys):
        for i, (drawn_leaf, leaf) in enumerate(zip(drawn.normals, jax.tree.leaves(position), strict=True)):
            expected = jax.random.normal(jax.random.fold_in(key, i), leaf.shape)
            np.testing.assert_allclose(drawn_leaf[step], expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("manifold", "position"),
    [STARTS["no normals ahead"], (Euclidean(5000), jnp.zeros(5000))],
    ids=["normals are not of the leaf's shape", "large"],
)
def test_what_is_not_drawn_ahead(manifold, position):
    keys = jax.random.split(jax.random.key(0), 5)
    assert _normals.draw_ahead(keys, manifold, position) is keys
