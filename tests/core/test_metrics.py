"""Metrics: every closed form against dense automatic differentiation, and Table 1 as corrected."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from geodrift import metrics

K = 5
PI = jnp.array([0.31, 0.07, 0.22, 0.15, 0.25])
ALPHA = jnp.array([0.4, 1.3, 2.0, 0.1, 0.9])
COUNTS = jnp.array([3.0, 0.0, 7.0, 1.0, 2.0])
TOTAL = 13.0
SIMPLEX = {
    "reduced mean": metrics.ReducedMean(TOTAL),
    "reduced natural": metrics.ReducedNatural(TOTAL),
    "expanded mean": metrics.ExpandedMean(),
    "expanded natural": metrics.ExpandedNatural(),
}


def point(name):
    """A position of PI; of scale 3 where there is one."""
    scale = {"expanded mean": lambda x: 3 * x, "expanded natural": lambda x: x + jnp.log(3.0)}
    return scale.get(name, lambda x: x)(SIMPLEX[name].from_simplex(PI))


def fisher(x):
    """A dense metric that depends on every coordinate."""
    rows = jnp.arange(12.0).reshape(4, 3) / 7 - 0.6
    weights = jax.nn.softplus(rows @ x)
    return rows.T @ (weights[:, None] * rows) + 0.5 * jnp.eye(3) + jnp.diag(x**2)


def mixed(x):
    """A diagonal whose entries depend on all coordinates."""
    return 1 + 0.3 * jnp.sin(x + 2 * jnp.roll(x, 1))


X3 = jnp.array([0.4, -0.7, 0.2])
TREE = {"a": jnp.array([[0.3, -0.2], [0.5, 1.1]]), "b": jnp.array(0.7)}
COVARIANCE = jnp.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 0.5]])
CASES = {name: (metric, point(name)) for name, metric in SIMPLEX.items()}
CASES |= {
    "diagonal": (metrics.Diagonal(mixed), X3),
    "separable": (metrics.Diagonal(lambda x: 1 + x**2, separable=True), X3),
    "scalar function": (metrics.Diagonal(lambda x: 1.5 + jnp.sin(x[0] * x[1]) * x[2]), X3),
    "diagonal of a tree": (
        metrics.Diagonal(lambda p: {"a": 1 + p["a"] ** 2 * p["b"] ** 2, "b": jnp.exp(jnp.sum(p["a"]))}),
        TREE,
    ),
    "one number in an array": (metrics.Diagonal(lambda x: 1 + x[1:2] ** 2), X3),
    "a number for each leaf": (metrics.Diagonal(lambda p: {"a": 2.0, "b": 1 + p["b"] ** 2}), TREE),
    "a number for each column": (metrics.Diagonal(lambda x: jnp.exp(x[1] * x[0])), TREE["a"]),
    "dense": (metrics.Dense(fisher), X3),
    "dense, equal eigenvalues": (
        metrics.Dense(lambda x: jnp.diag(1 + x) - 0.1 * jnp.outer(x, x)),
        jnp.zeros(3),
    ),
    "constant": (metrics.Constant({"a": jnp.array([0.5, 2.0]), "b": 3.0}), TREE),
    "constant matrix": (metrics.ConstantDense(COVARIANCE), X3),
}
every = pytest.mark.parametrize("name", CASES)


def matrix(apply, x):
    """The matrix of a linear map on the position's entries."""
    flat, unravel = ravel_pytree(x)
    return jax.vmap(lambda u: ravel_pytree(apply(x, unravel(u)))[0], out_axes=1)(jnp.eye(flat.size))


def dense_divergence(apply, x):
    """``sum_k d_k M_jk`` from the whole matrix of derivatives."""
    flat, unravel = ravel_pytree(x)
    derivative = jax.jacfwd(lambda z: matrix(apply, unravel(z)))(flat)
    return jnp.einsum("jkk->j", derivative)


@every
def test_the_maps_are_those_of_one_symmetric_matrix(name):
    metric, x = CASES[name]
    maps = metric.inverse, metric.inverse_sqrt, metric.apply
    inverse, root, own = jax.jit(lambda x: [matrix(apply, x) for apply in maps])(x)
    np.testing.assert_allclose(inverse, inverse.T, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(root, root.T, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(root @ root, inverse, rtol=1e-11, atol=1e-13)
    assert np.all(np.linalg.eigvalsh(root) > 0)
    np.testing.assert_allclose(own @ inverse, np.eye(len(inverse)), atol=1e-11)
    assert metric.log_determinant(x) == pytest.approx(-np.linalg.slogdet(inverse)[1], abs=1e-11)
    diagonal = metric.inverse_diagonal(x)
    if diagonal is not None:
        np.testing.assert_allclose(np.diag(ravel_pytree(diagonal)[0]), inverse, rtol=1e-13, atol=1e-15)


@every
def test_divergences_are_those_of_the_whole_matrix(name):
    metric, x = CASES[name]
    pairs = (
        (metric.inverse, metric.divergence_inverse),
        (metric.inverse_sqrt, metric.divergence_inverse_sqrt),
    )

    @jax.jit
    def all_three(x):
        parts = [
            (dense_divergence(apply, x), closed(x), metrics.divergence(apply, x)) for apply, closed in pairs
        ]
        return [[ravel_pytree(part)[0] for part in parts_of_one] for parts_of_one in parts]

    for expected, closed, default in all_three(x):
        np.testing.assert_allclose(closed, expected, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(default, expected, rtol=1e-11, atol=1e-12)


def test_root_of_a_matrix_by_finite_differences():
    # Automatic differentiation of the root has a rule of its own, which the tests above use.
    @jax.jit
    def root(t):
        return matrix(CASES["dense"][0].inverse_sqrt, X3 + t * jnp.array([0.3, 1.0, -0.5]))

    step = 1e-5
    expected = (root(step) - root(-step)) / (2 * step)
    np.testing.assert_allclose(jax.jvp(root, (0.0,), (1.0,))[1], expected, atol=1e-9)


@pytest.mark.parametrize("name", SIMPLEX)
def test_charts_of_the_simplex(name):
    metric, x = SIMPLEX[name], point(name)
    np.testing.assert_allclose(metric.to_simplex(x), PI, rtol=1e-13)
    np.testing.assert_allclose(metric.log_simplex(x), np.log(PI), rtol=1e-13)
    np.testing.assert_allclose(metric.to_simplex(metric.from_simplex(PI)), PI, rtol=1e-13)
    # Batched over the axes in front, with one alpha for all.
    batch = jnp.stack([x, 0.5 * x, x])
    apart = [metric.log_posterior(row, ALPHA, COUNTS) for row in batch]
    assert metric.log_posterior(batch, ALPHA, COUNTS) == pytest.approx(float(sum(apart)), rel=1e-13)
    assert metric.log_determinant(batch) == pytest.approx(
        sum(float(metric.log_determinant(r)) for r in batch)
    )
    u = jnp.linspace(-1, 1, batch.size).reshape(batch.shape)
    for method in (metric.apply, metric.inverse, metric.inverse_sqrt):
        rows = [method(*row) for row in zip(batch, u, strict=True)]
        np.testing.assert_allclose(method(batch, u), jnp.stack(rows), rtol=1e-11)
    for method in (eqx.filter_jit(metric.divergence_inverse), eqx.filter_jit(metric.divergence_inverse_sqrt)):
        np.testing.assert_allclose(method(batch), jnp.stack([method(row) for row in batch]), rtol=1e-10)


DRIFT = {
    "reduced mean": lambda pi, a, n, s: ((n + a - (n.sum() + a.sum()) * pi) / n.sum())[:-1],
    "reduced natural": lambda pi, a, n, s: (
        ((n + a) / pi)[:-1] + ((n + a)[:-1].sum() - (n.sum() + a.sum()) * (1 - pi[-1])) / pi[-1]
        - (n.sum() + a.sum())
        - (1 / pi[:-1] - 1 / pi[-1])
    ) / n.sum(),
    "expanded mean": lambda pi, a, n, s: n + a - s * pi - n.sum() * pi,
    "expanded natural": lambda pi, a, n, s: (n + a - 1 - n.sum() * pi) / (s * pi) - 1,
}  # fmt: skip


@pytest.mark.parametrize("name", SIMPLEX)
def test_drift_of_table_1(name):
    # G^-1 grad log p + Gamma, worked out by hand; s is the scale of the expanded charts.
    metric, x = SIMPLEX[name], point(name)
    gradient = jax.grad(metric.log_posterior)(x, ALPHA, COUNTS)
    drift = metric.inverse(x, gradient) + metric.divergence_inverse(x)
    expected = DRIFT[name](np.asarray(PI), np.asarray(ALPHA), np.asarray(COUNTS), 3.0)
    np.testing.assert_allclose(drift, expected, rtol=1e-12, atol=1e-12)


def test_table_1_as_printed_is_not_the_divergence():
    # The curvature row of the reduced-natural chart is printed (1/pi_j^2 - (K - 1)/pi_K^2)/n.
    metric, x = SIMPLEX["reduced natural"], point("reduced natural")
    exact = jax.jit(lambda x: dense_divergence(metric.inverse, x))(x)
    ours = -(1 / PI[:-1] - 1 / PI[-1]) / TOTAL
    printed = -(1 / PI[:-1] ** 2 - (K - 1) / PI[-1] ** 2) / TOTAL
    np.testing.assert_allclose(exact, ours, rtol=1e-11)
    assert np.all(np.abs(printed - exact) > 0.1 * np.abs(exact))

    # The printed entry is the sum over k of the derivative of (G^-1)_jk, G^-1 written in pi, to pi_k.
    def in_pi(pi, u):
        last = 1 - jnp.sum(pi)
        return (u / pi + jnp.sum(u) / last) / TOTAL

    np.testing.assert_allclose(dense_divergence(in_pi, PI[:-1]), printed, rtol=1e-11)


def test_gammas_on_the_posterior_have_a_linear_drift():
    metric, x = SIMPLEX["expanded mean"], point("expanded mean")
    gradient = jax.grad(metric.log_prior)(x, ALPHA + COUNTS)
    drift = metric.inverse(x, gradient) + metric.divergence_inverse(x)
    np.testing.assert_allclose(drift, ALPHA + COUNTS - x, rtol=1e-12)


def test_mirrors():
    x = jnp.array([-0.3, 0.2, 0.0])
    mirrored, signs = metrics.ExpandedMean().reflect(x)
    np.testing.assert_array_equal(mirrored[:2], [0.3, 0.2])
    assert 0 < mirrored[2] < 1e-290
    np.testing.assert_array_equal(signs, [-1, 1, 1])
    # The floor leaves room for a density's gradient.
    floor = metrics.ExpandedMean().reflect(jnp.zeros(1, jnp.float32))[0]
    assert np.isfinite(1e6 / floor)
    assert floor * (1e6 / floor) == pytest.approx(1e6)
    np.testing.assert_array_equal(metrics.ExpandedNatural().reflect(x)[0], x)


@pytest.mark.slow  # samplers with metrics keep it in CI
def test_float32_is_kept():
    for name in ("diagonal", "constant matrix", "reduced mean", "expanded mean"):
        metric, x = CASES[name]
        x = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), x)
        for value in (
            metric.inverse(x, x),
            metric.inverse_sqrt(x, x),
            metric.apply(x, x),
            metric.divergence_inverse(x),
            metric.divergence_inverse_sqrt(x),
            metric.reflect(x),
        ):
            assert {leaf.dtype for leaf in jax.tree.leaves(value)} == {np.dtype("float32")}, name


def test_a_matrix_is_positive_definite_in_any_units():
    units = jnp.array([1e4, 1.0, 1e-5], jnp.float32)
    metric = metrics.ConstantDense(units[:, None] * COVARIANCE.astype(jnp.float32) * units)
    x = jnp.ones(3, jnp.float32)
    root_twice = metric.inverse_sqrt(x, metric.inverse_sqrt(x, x))
    np.testing.assert_allclose(root_twice[:2], metric.inverse(x, x)[:2], rtol=1e-4)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: metrics.Constant(-1.0), r"inverse = -1\.0"),
        (lambda: metrics.ConstantDense(jnp.ones(3)), "square matrix"),
        (lambda: metrics.ConstantDense(-COVARIANCE), "positive definite"),
        (lambda: metrics.ConstantDense(jnp.triu(COVARIANCE)), "symmetric"),
        # In units of 1e-5 the entries are as small as a rounding error of numbers near 1.
        (lambda: metrics.ConstantDense(1e-10 * jnp.triu(COVARIANCE)), "symmetric"),
        (lambda: metrics.ConstantDense(jnp.array([[1e6, 0.0, 0], [0, 2, 1], [0, 0, 2]])), "symmetric"),
        (lambda: metrics.ReducedMean(0.0), r"total = 0\.0"),
        (lambda: metrics.ReducedNatural(float("nan")), "total = nan"),
    ],
)
def test_wrong_arguments_raise(make, match):
    with pytest.raises(ValueError, match=match):
        make()
