"""Operators against explicit matrices; Gamma against the Jacobian of the whole matrix, on every structure."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from geodrift import recipe
from geodrift.recipe import Block, Dense, Diagonal, LowRank, Outer, Scalar, SkewLowRank
from law_checks import z_bound

KEY = jax.random.key(3)
CONSTANT = np.random.default_rng(0).normal(size=(8, 2))


class Pair(NamedTuple):
    x: jax.Array
    r: jax.Array


ARRAY = jnp.array([0.3, -0.8, 0.5, 1.1])
TREE = {"a": ARRAY, "b": {"c": jnp.array([[0.2, -0.4, 0.9]]), "d": jnp.array(0.7)}}
PAIR = Pair(jnp.array([0.4, -0.6]), jnp.array([1.2, 0.3]))
UNEVEN = {"r": jnp.array([0.4, -0.6, 0.8]), "s": jnp.array(0.9)}
NESTED = {
    "p": {"x": jnp.array([0.4, -0.6]), "y": jnp.array([0.8])},
    "q": {"x": jnp.zeros(2), "y": jnp.ones(1)},
}


def flat(z):
    return ravel_pytree(z)[0]


def like(z, values):
    return ravel_pytree(z)[1](values)


def columns(z, k):
    """k vectors like z that depend on all of z."""
    x = flat(z)
    vectors = jnp.sin(CONSTANT[: x.size, :k] * jnp.roll(x, 1)[:, None]) + x[:, None] * jnp.sum(x)
    return jnp.stack([vectors[:, i] for i in range(k)], axis=1), factor_like(z, vectors)


def factor_like(z, vectors):
    trees = [like(z, vectors[:, i]) for i in range(vectors.shape[1])]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=-1), *trees)


def own(z):
    """Two vectors like z, each entry a function of its own coordinate."""
    return jnp.stack([jnp.cos(flat(z)), flat(z) ** 2], axis=1)


def scalar(z):
    c = jnp.exp(jnp.sum(flat(z) ** 2) / 9)
    return Scalar(c), c * jnp.eye(flat(z).size)


def diagonal_elementwise(z):
    return Diagonal(jax.tree.map(lambda x: 1 + x**2, z), elementwise=True), jnp.diag(1 + flat(z) ** 2)


def diagonal_general(z):
    entries = 2 + jnp.sin(jnp.roll(flat(z), 1) * flat(z))
    return Diagonal(like(z, entries)), jnp.diag(entries)


def diagonal_broadcast(z):
    entries = jax.tree.map(lambda x: 1 + jnp.mean(x) ** 2, z)
    return Diagonal(entries), jnp.diag(
        flat(jax.tree.map(lambda x: jnp.full(x.shape, 1 + jnp.mean(x) ** 2), z))
    )


def low_rank(z):
    u, factor = columns(z, 2)
    return LowRank(factor, diagonal_general(z)[0].entries), u @ u.T + diagonal_general(z)[1]


def low_rank_elementwise(z):
    u = own(z)
    return LowRank(factor_like(z, u), 0.5, elementwise=True), u @ u.T + 0.5 * jnp.eye(len(u))


def skew_low_rank(z):
    a, left = columns(z, 2)
    b = own(z)
    return SkewLowRank(left, factor_like(z, b)), a @ b.T - b @ a.T


def skew_elementwise(z):
    a, b = own(z), own(z)[:, ::-1] ** 2
    skew = SkewLowRank(factor_like(z, a), factor_like(z, b), elementwise=True)
    return skew, a @ b.T - b @ a.T


def outer(z):
    a, left = columns(z, 1)
    b = own(z)[:, :1]
    return Outer(left, factor_like(z, b), elementwise=True), a @ b.T


def dense(z):
    u = columns(z, 2)[0]
    matrix = jnp.tanh(u @ CONSTANT[: len(u)].T)
    return Dense(matrix), matrix


def negative(z):
    operator, matrix = low_rank(z)
    return -operator, -matrix


def riemannian(z):
    """Blocks between the fields of a NamedTuple, each depending on both."""
    g = jnp.exp(z.x * z.r[::-1])
    m = jnp.outer(z.x, z.r) + jnp.eye(2)
    operator = Block({"x": {"r": -Diagonal(g)}, "r": {"x": Diagonal(g), "r": Dense(m)}})
    return operator, jnp.block([[jnp.zeros((2, 2)), -jnp.diag(g)], [jnp.diag(g), m]])


def thermostat(z):
    """Parts of different shapes."""
    column = z["r"][:, None] * z["s"]
    operator = Block({"r": {"s": Outer(column, jnp.ones(1))}, "s": {"r": Outer(jnp.ones(1), -column)}})
    return operator, jnp.block([[jnp.zeros((3, 3)), column], [-column.T, jnp.zeros((1, 1))]])


def nested(z):
    c = jnp.sum(z["p"]["x"] * z["q"]["x"]) + z["p"]["y"][0] ** 2
    operator = Block({"q": {"p": {"y": {"y": c}, "x": {"x": 2.0, "y": 0}}}, "p": {"p": Scalar(c)}})
    matrix = jnp.zeros((6, 6)).at[jnp.arange(3), jnp.arange(3)].set(c)
    return operator, matrix.at[5, 2].set(c).at[3, 0].set(2.0).at[4, 1].set(2.0)


STRUCTURES = [
    scalar,
    diagonal_elementwise,
    diagonal_general,
    diagonal_broadcast,
    low_rank,
    low_rank_elementwise,
]
STRUCTURES += [skew_low_rank, skew_elementwise, outer, dense, negative]
CASES = [(make, TREE) for make in STRUCTURES] + [(make, ARRAY) for make in (scalar, low_rank, dense)]
CASES += [(riemannian, PAIR), (thermostat, UNEVEN), (nested, NESTED)]
# An array is a tree of one leaf, and these have the structures of others.
FEW = {scalar, diagonal_general, low_rank, skew_elementwise, outer, riemannian, thermostat, nested}
MARKED = [
    pytest.param(
        make,
        z,
        id=f"{make.__name__} on {type(z).__name__}",
        marks=pytest.mark.slow if z is ARRAY or make not in FEW else (),
    )
    for make, z in CASES
]


@pytest.mark.parametrize(("make", "z"), MARKED)
def test_matvec_transpose_and_divergence(make, z):
    make(z)[0].check_fits(z, z, "M")
    v = like(z, jnp.arange(1.0, flat(z).size + 1))

    @jax.jit
    def results(z):
        operator, matrix = make(z)
        both = recipe.gamma(lambda z: make(z)[0], 0, z), recipe.gamma(0, lambda z: make(z)[0], z)
        jacobian = jax.jacfwd(lambda x: make(like(z, x))[1])(flat(z))
        got = operator.matvec(v), operator.transpose().matvec(v), *both
        divergence = jnp.einsum("ijj->i", jacobian)
        expected = matrix @ flat(v), matrix.T @ flat(v), divergence, divergence
        return recipe.dense(operator, z).matrix, matrix, [flat(x) for x in got], expected

    full, matrix, got, expected = results(z)
    assert jnp.max(jnp.abs(expected[-1])) > 0.1
    np.testing.assert_allclose(full, matrix, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("make", [scalar, diagonal_general, diagonal_broadcast, low_rank, dense])
def test_noise_has_twice_the_operator_as_covariance(make):
    operator, matrix = make(TREE)
    if make is dense:
        matrix = matrix @ matrix.T
        operator = Dense(matrix)
    draws = 40_000
    noise = jax.jit(jax.vmap(lambda key: flat(operator.noise(key, TREE)[0])))(jax.random.split(KEY, draws))
    covariance = noise.T @ noise / draws
    variance = 4 * (matrix**2 + jnp.outer(jnp.diag(matrix), jnp.diag(matrix)))
    z = (covariance - 2 * matrix) / jnp.sqrt(variance / draws)
    assert jnp.max(jnp.abs(z)) < z_bound(5 * 36)


def largest_intermediate(fn, *arguments):
    """Number of entries of the largest array anywhere in a computation."""

    def visit(jaxpr):
        sizes = [v.aval.size for equation in jaxpr.eqns for v in equation.outvars if hasattr(v.aval, "size")]
        for equation in jaxpr.eqns:
            for parameter in jax.tree.leaves(
                list(equation.params.values()), is_leaf=lambda p: hasattr(p, "eqns")
            ):
                inner = getattr(parameter, "jaxpr", parameter)
                if hasattr(inner, "eqns"):
                    sizes.append(visit(inner))
        return max(sizes, default=0)

    return visit(jax.make_jaxpr(fn)(*arguments).jaxpr)


@pytest.mark.parametrize("form", ["diagonal", "low rank", "skew", "blocks"])
def test_no_matrix_over_all_coordinates(form):
    size = 1000
    z = {"r": jnp.ones(size), "x": jnp.linspace(-1, 1, size)}

    def diffusion(z):
        x = z["x"]
        if form == "diagonal":
            return Diagonal({"r": z["r"], "x": 1 + x * jnp.roll(x, 1)})
        if form == "low rank":
            return LowRank(jax.tree.map(lambda v: jnp.stack([jnp.sin(v), v * jnp.sum(v)], -1), z), 1.0)
        if form == "blocks":
            return {"r": {"r": Diagonal(1 + x * jnp.roll(x, 1))}}
        return Scalar(1.0)

    def curl(z):
        a, b = (jax.tree.map(lambda v, f=f: f(v)[:, None] * jnp.sum(v), z) for f in (jnp.sin, jnp.cos))
        if form == "skew":
            return SkewLowRank(a, b)
        g = Diagonal(1 + z["x"] ** 2, elementwise=True)
        return {"r": {"x": g}, "x": {"r": -g}} if form == "blocks" else 0

    sampler = recipe.Recipe(lambda z: sum(jnp.sum(v**2) for v in jax.tree.leaves(z)), diffusion, curl, 0.1)
    state = sampler.init(KEY, z)
    assert largest_intermediate(sampler.step, KEY, state) <= 100 * size
