"""Where the points of a check are decides what it can see, as its page says."""

import jax
import jax.numpy as jnp

from geodrift.recipe import Diagonal, check

SIZE = 1e7


def hamiltonian(z):
    return SIZE * jnp.sum(z["x"] - jnp.log(z["x"]))


def diffusion(z):
    return {"x": {"x": Diagonal(z["x"] / SIZE, elementwise=True)}}


def without_gamma(z):
    return {"x": 1 - z["x"]}


def checked(point):
    return check(hamiltonian, diffusion, {}, point, drift=without_gamma)


def test_a_missing_gamma_is_named_at_points_as_wide_as_the_law_alone():
    near = checked(lambda key: {"x": 1 + jax.random.normal(key, (2,)) / SIZE**0.5})
    assert near.wrong == ("the drift of 'x': the term Gamma of D is missing",)
    assert f"{near.residual:.1e}" == "7.0e-05"
    far = checked(lambda key: {"x": jnp.exp(jax.random.normal(key, (2,)))})
    assert far.ok
    assert f"{far.residual:.1e}" == "1.0e-07"
