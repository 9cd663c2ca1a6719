"""Kernel Stein discrepancy: against automatic differentiation, and as a test of draws whose law is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import geodrift as gd
from cases import KEY
from geodrift.diagnostics import kernel_stein_discrepancy
from geodrift.manifolds import Euclidean, Simplex, Sphere
from law_checks import FAMILY_ERROR


def flat_log_density(x):
    return -0.5 * jnp.sum(x**2) - 0.3 * jnp.sum(x**4) + x[0] * x[1]


def sphere_log_density(x):
    return 2 * x[0] + x[1] * x[2] - 0.5 * x[2] ** 3


def flat_by_autodiff(x, y, c, b):
    """Gorham & Mackey (2017), section 2: the Stein kernel by derivatives of the kernel."""
    k = lambda x, y: (c**2 + jnp.sum((x - y) ** 2)) ** b  # noqa: E731
    s = jax.grad(flat_log_density)
    mixed = jnp.trace(jax.jacfwd(jax.grad(k, 0), 1)(x, y))
    return s(x) @ s(y) * k(x, y) + s(x) @ jax.grad(k, 1)(x, y) + s(y) @ jax.grad(k, 0)(x, y) + mixed


def sphere_by_autodiff(x, y, c, b):
    """A_x A_y k, with the Laplacian as the flat one of a function that is constant along rays."""

    def operator(f):
        extended = lambda x: f(x / jnp.linalg.norm(x))  # noqa: E731
        log_p = lambda x: sphere_log_density(x / jnp.linalg.norm(x))  # noqa: E731
        return lambda x: jnp.trace(jax.hessian(extended)(x)) + jax.grad(log_p)(x) @ jax.grad(extended)(x)

    k = lambda x, y: (c**2 + jnp.sum((x - y) ** 2)) ** b  # noqa: E731
    return operator(lambda x: operator(lambda y: k(x, y))(y))(x)


@pytest.mark.slow
@pytest.mark.parametrize("space", ["flat", "sphere"])
def test_closed_form_is_the_stein_kernel(space):
    manifold, log_density, kernel = {
        "flat": (Euclidean(3), flat_log_density, flat_by_autodiff),
        "sphere": (Sphere(3), sphere_log_density, sphere_by_autodiff),
    }[space]
    for c, b in ((1.0, -0.5), (0.6, -0.3)):
        x = manifold.random_point(jax.random.key(1), (6,))
        s = jax.vmap(jax.grad(log_density))(x)
        rows = jax.vmap(jax.vmap(kernel, (None, 0, None, None)), (0, None, None, None))
        table = np.asarray(jax.jit(rows)(x, x, c, b))
        v = kernel_stein_discrepancy(manifold, x, s, scale=c, power=b, statistic="V")
        u = kernel_stein_discrepancy(manifold, x, s, scale=c, power=b)
        assert v == pytest.approx(table.mean(), rel=1e-9)
        assert u == pytest.approx((table.sum() - np.trace(table)) / 30, rel=1e-9)


def replications(space, c, temperature, number):
    """The statistic of many independent samples, at their temperature and seen from temperature 1."""
    keys = jax.random.split(KEY, number)
    if space == "flat":
        scales = jnp.array([1.0, 2.0])
        manifold = Euclidean(2)
        x = jnp.sqrt(temperature) * scales * jax.random.normal(KEY, (number, 60, 2))
        s = -x / scales**2
    else:
        manifold, mu, kappa = Sphere(4), jnp.array([0.0, 0.6, 0.0, 0.8]), 5.0
        draw = lambda k: gd.distributions.sample(k, mu, kappa / temperature, (60,))  # noqa: E731
        x = jax.vmap(draw)(keys)
        s = jnp.broadcast_to(kappa * mu, x.shape)
    return np.asarray(jax.vmap(lambda x, s: kernel_stein_discrepancy(manifold, x, s, scale=c))(x, s))


@pytest.mark.parametrize("space", ["flat", pytest.param("sphere", marks=pytest.mark.slow)])
def test_zero_on_average_for_exact_draws_and_positive_for_others(space):
    exact = replications(space, 0.8, 1.0, 400)
    z = exact.mean() / (exact.std(ddof=1) / np.sqrt(len(exact)))
    assert abs(z) < stats.norm.ppf(1 - FAMILY_ERROR / 4)
    # Power: at a wrong temperature most samples of 60 draws exceed the 95% point of exact ones.
    for temperature in (2.5, 0.3):
        other = replications(space, 0.8, temperature, 100)
        assert np.mean(other > np.quantile(exact, 0.95)) > 0.5


@pytest.mark.parametrize("manifold", [Euclidean(4), Sphere(4)], ids=["flat", "sphere"])
def test_invariance(manifold):
    x = manifold.random_point(KEY, (300,))
    s = jax.random.normal(jax.random.key(5), x.shape)
    value = kernel_stein_discrepancy(manifold, x, s)
    rotation = jnp.linalg.qr(jax.random.normal(KEY, (4, 4)))[0]
    order = jax.random.permutation(KEY, 300)
    np.testing.assert_allclose(
        kernel_stein_discrepancy(manifold, x @ rotation, s @ rotation), value, rtol=1e-9
    )
    np.testing.assert_allclose(kernel_stein_discrepancy(manifold, x[order], s[order]), value, rtol=1e-9)
    if isinstance(manifold, Euclidean):
        # In other units: lengths times a, gradients over a, c times a. The kernel then gains a factor.
        a = 3.0
        scaled = kernel_stein_discrepancy(manifold, a * x, s / a, scale=a)
        np.testing.assert_allclose(scaled * a**3, value, rtol=1e-9)
    else:
        # The part of the gradient along the normal has no meaning on the sphere.
        along = x * jax.random.normal(KEY, (300, 1))
        np.testing.assert_allclose(kernel_stein_discrepancy(manifold, x, s + along), value, rtol=1e-9)


def test_blocks_change_nothing(monkeypatch):
    x = jax.random.normal(KEY, (50, 3))
    whole = kernel_stein_discrepancy(Euclidean(3), x, -x)
    monkeypatch.setattr("geodrift.diagnostics._stein._BLOCK_FLOATS", 350)
    np.testing.assert_allclose(kernel_stein_discrepancy(Euclidean(3), x, -x), whole, rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"manifold": Simplex(3)}, "Sphere or a Euclidean"),
        ({"gradients": jnp.ones((4, 2))}, r"both must be \[draw, n\]"),
        ({"scale": 0.0}, "scale = 0.0"),
        ({"power": -1.0}, "power = -1.0"),
        ({"statistic": "W"}, "statistic = 'W'"),
    ],
)
@pytest.mark.usefixtures("unchecked_types")
def test_wrong_arguments_raise(changes, match):
    arguments = {"manifold": Euclidean(3), "positions": jnp.ones((4, 3)), "gradients": jnp.ones((4, 3))}
    with pytest.raises(ValueError, match=match):
        kernel_stein_discrepancy(**(arguments | changes))
