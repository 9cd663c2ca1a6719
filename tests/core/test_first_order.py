"""Samplers without inertia: the mean and covariance of one step are the recipe's, and the protocol holds."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import geodrift as gd
from cases import KEY
from geodrift import metrics
from geodrift.estimators import Estimator, Full, Minibatch
from geodrift.manifolds import Euclidean, Product, Sphere
from geodrift.samplers import RMLD, SGFS, SGLD, SGRLD, PreconditionedSGLD
from law_checks import z_bound

FLAT = Product(Euclidean())
X = jnp.array([0.7, 1.1, 0.6])
COVARIANCE = jnp.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 0.5]])
NOISE = jnp.array([[1.5, 0.4, 0.0], [0.4, 1.0, -0.3], [0.0, -0.3, 2.0]])


def log_density(x):
    x = ravel_pytree(x)[0]
    return -jnp.sum(x**4) / 4 + x[0] * x[1] - 0.3 * jnp.cos(x[2] * x[0])


def fisher(x):
    return COVARIANCE + jnp.outer(x, x) + jnp.diag(x**2)


def mixed(x):
    return 2 + 0.6 * jnp.sin(x + 2 * jnp.roll(x, 1))


class Noisy(Estimator):
    """The exact gradient plus normal noise of covariance V, which is stated as ``stated``."""

    covariance: Any
    stated: Any

    def init(self, key, position):
        del key, position
        return ()

    def prepare(self, key, state, position, batch):
        flat, unravel = ravel_pytree(position)
        noise = jax.random.multivariate_normal(key, jnp.zeros(flat.size), self.covariance)
        return unravel(noise), state

    def gradient(self, position, prepared):
        return jax.tree.map(jnp.add, jax.grad(log_density)(position), prepared)

    def noise_variance(self, position, prepared):
        return self.stated


def recipe_move(inverse_metric, x):
    """``-(D + Q) grad H + Gamma`` and D at x, for D = G^-1 and Q = 0, from the whole matrix field."""
    diffusion = inverse_metric(x)
    gamma = jnp.einsum("jkk->j", jax.jacfwd(inverse_metric)(x))
    return diffusion @ jax.grad(log_density)(x) + gamma, diffusion


def assert_one_step(sampler, state, mean, covariance, number=50_000, batch=None):
    """Mean and covariance of the position after one step, over many keys."""
    step = jax.jit(jax.vmap(lambda key: ravel_pytree(sampler.step(key, state, batch)[0].position)[0]))
    ends = np.asarray(step(jax.random.split(KEY, number))) - np.asarray(mean)
    products = ends[:, :, None] * ends[:, None, :]
    for got, expected in ((ends, 0.0), (products, np.asarray(covariance))):
        error = got.std(axis=0) / np.sqrt(number)
        worst = np.max(np.abs(got.mean(axis=0) - expected) / error)
        assert worst < z_bound(12), f"t = {worst:.1f}: {got.mean(axis=0)}, expected {expected}"


METRICS = {
    "none": (None, lambda x: jnp.eye(3)),
    "constant": (
        metrics.Constant(jnp.array([0.5, 1.0, 2.0])),
        lambda x: jnp.diag(jnp.array([0.5, 1.0, 2.0])),
    ),
    "constant matrix": (metrics.ConstantDense(COVARIANCE), lambda x: COVARIANCE),
    "diagonal": (metrics.Diagonal(mixed), lambda x: jnp.diag(mixed(x))),
    "dense": (metrics.Dense(fisher), lambda x: jnp.linalg.inv(fisher(x))),
    "reduced mean": (metrics.ReducedMean(2.0), lambda x: (jnp.diag(x) - jnp.outer(x, x)) / 2.0),
    "expanded mean": (metrics.ExpandedMean(), jnp.diag),
    "expanded natural": (metrics.ExpandedNatural(), lambda x: jnp.diag(jnp.exp(-x))),
    "rmsprop": (
        metrics.RMSProp(jnp.array([1.0, 0.5, 2.0]), jax.grad(log_density), 0.6, 0.1),
        lambda x: jnp.diag(
            1 / (0.1 + jnp.sqrt(0.6 * jnp.array([1.0, 0.5, 2.0]) + 0.4 * jax.grad(log_density)(x) ** 2))
        ),
    ),
}
VARIANCES = {
    "V = 0": (1e-12 * jnp.eye(3), None),
    "V a number": (1.3 * jnp.eye(3), 1.3),
    "V diagonal": (jnp.diag(jnp.array([0.5, 1.0, 1.5])), jnp.array([0.5, 1.0, 1.5])),
    "V a matrix": (NOISE, NOISE),
}


# Of each kind of metric one, and of each form of V one.
ONE_STEP = [("none", "V a number"), ("diagonal", "V diagonal"), ("dense", "V a matrix"), ("rmsprop", "V = 0")]
MORE = [(name, variance) for name in METRICS for variance in VARIANCES if (name, variance) not in ONE_STEP]


@pytest.mark.parametrize(
    ("name", "variance"), ONE_STEP + [pytest.param(*case, marks=pytest.mark.slow) for case in MORE]
)
def test_one_step_is_that_of_the_recipe(name, variance):
    # D = G^-1, Q = 0, H = -log p: mean x + h (-(D + Q) grad H + Gamma), covariance 2hD, whatever the noise V
    # of the gradient, which is in the step and is stated.
    metric, inverse_metric = METRICS[name]
    x = jnp.array([0.3, 0.25, 0.2]) if name == "reduced mean" else X
    h = 0.01 if name == "expanded mean" else 0.1  # mirrors out of reach
    sampler = SGLD(Noisy(*VARIANCES[variance]), FLAT, h, metric)
    drift, diffusion = recipe_move(inverse_metric, x)
    assert_one_step(sampler, sampler.init(KEY, x), x + h * drift, 2 * h * diffusion)


def test_one_step_on_a_tree_of_positions():
    # The same dynamics as on the flat array, in two parts.
    tree = {"a": X[:2], "b": X[2:]}
    stated = {"a": NOISE[:2, :2], "b": NOISE[2, 2]}
    covariance = jnp.zeros((3, 3)).at[:2, :2].set(NOISE[:2, :2]).at[2, 2].set(NOISE[2, 2])
    for metric, inverse_metric in (METRICS["none"], METRICS["constant matrix"]):
        sampler = SGLD(Noisy(covariance, stated), FLAT, 0.1, metric)
        drift, diffusion = recipe_move(inverse_metric, X)
        assert_one_step(sampler, sampler.init(KEY, tree), X + 0.1 * drift, 0.2 * diffusion)


def test_inner_steps_are_steps():
    # L inner steps of exact gradients are L steps; a batch for each is passed through in order.
    sampler = SGLD(Full(log_density), FLAT, 1e-3, num_steps=4)
    reused = SGLD(Full(log_density), FLAT, 1e-3, num_steps=4, reuse_batch=True)
    drift, _ = recipe_move(METRICS["none"][1], X)
    for each in (sampler, reused):
        assert_one_step(each, each.init(KEY, X), X + 4e-3 * drift, 8e-3 * jnp.eye(3), number=20_000)

    def likelihood(x, batch):
        return batch[:, 0] * x[0]

    take = SGLD(Minibatch(likelihood, lambda x: 0.0 * x[0], 1, None), FLAT, 1.0, num_steps=2)
    start = take.init(KEY, X)
    zero, one = (
        take.step(KEY, start, jnp.array(b))[0].position for b in ([[[0.0]], [[0.0]]], [[[1.0]], [[5.0]]])
    )
    np.testing.assert_allclose(one - zero, [6.0, 0, 0], atol=1e-12)


def test_preconditioned_step_is_that_of_the_recipe_once_frozen():
    # D = 1 / (damping + sqrt(v)) does not depend on x, hence Gamma = 0.
    sampler = PreconditionedSGLD(Noisy(*VARIANCES["V a matrix"]), FLAT, 0.1, 50, damping=0.2)
    v = jnp.array([4.0, 1.0, 0.3])
    state = sampler.init(KEY, X)._replace(mean_square=v, count=jnp.asarray(50))
    drift, diffusion = recipe_move(lambda x: jnp.diag(1 / (0.2 + jnp.sqrt(v))), X)
    assert_one_step(sampler, state, X + 0.1 * drift, 0.2 * diffusion)
    np.testing.assert_array_equal(sampler.step(KEY, state)[0].mean_square, v)


def test_preconditioner_is_the_weighted_mean_of_squared_gradients():
    sampler = PreconditionedSGLD(Full(log_density), FLAT, 0.05, 4, decay=0.7)
    state, squares, learnt = sampler.init(KEY, X), [], []
    for count in range(6):
        squares.append(np.asarray(jax.grad(log_density)(state.position)) ** 2)
        state, _ = sampler.step(jax.random.fold_in(KEY, count), state)
        learnt.append(state.mean_square)
    for n in range(1, 5):
        weights = 0.7 ** np.arange(n)[::-1]
        np.testing.assert_allclose(
            learnt[n - 1], np.average(squares[:n], axis=0, weights=weights), rtol=1e-12
        )
    np.testing.assert_array_equal(learnt[5], learnt[3])


SCORES = jax.random.normal(jax.random.key(5), (40, 3)) @ jnp.array(
    [[1.0, 0.5, 0], [0, 1.0, 0.3], [0, 0, 1.0]]
)


def linear_model(replacement=True):
    """A likelihood whose scores are SCORES wherever x is."""
    return Minibatch(lambda x, y: y @ x, log_density, 40, replacement=replacement)


@pytest.mark.parametrize("form", ["full", "diagonal"])
@pytest.mark.parametrize(
    "preconditioner", [2.0, jnp.array([1.0, 2.0, 3.0]), COVARIANCE], ids=["1", "d", "dxd"]
)
def test_fisher_scoring_step(form, preconditioner):
    # On all the data: no gradient noise, and M = N I + 2B/h.
    if form == "diagonal" and jnp.ndim(preconditioner) == 2:
        pytest.skip("the diagonal form takes no matrix")
    h = 0.1
    sampler = SGFS(linear_model(), Euclidean(), h, form, preconditioner).on_all_data()
    b = np.asarray(preconditioner) if np.ndim(preconditioner) == 2 else np.diag(preconditioner * np.ones(3))
    information = np.cov(SCORES.T) if form == "full" else np.diag(np.var(SCORES, axis=0, ddof=1))
    inverse = np.linalg.inv(40 * information + 2 * b / h)
    gradient = np.asarray(jax.grad(log_density)(X) + SCORES.sum(axis=0))
    covariance = 4 * inverse @ (2 * b / h) @ inverse
    assert_one_step(sampler, sampler.init(KEY, X), X + 2 * inverse @ gradient, covariance, batch=SCORES)


def test_fisher_scoring_with_a_small_step_is_that_of_the_recipe():
    # D = B^-1, Q = 0, Gamma = 0.
    sampler = SGFS(linear_model(), Euclidean(), 1e-6, "full", COVARIANCE).on_all_data()
    gradient = jax.grad(log_density)(X) + SCORES.sum(axis=0)
    diffusion = jnp.linalg.inv(COVARIANCE)
    state = sampler.init(KEY, X)
    assert_one_step(sampler, state, X + 1e-6 * diffusion @ gradient, 2e-6 * diffusion, batch=SCORES)


@pytest.mark.parametrize("replacement", [True, False])
def test_fisher_scoring_counts_the_noise_of_the_minibatch(replacement):
    # N^2/n I, less the share n/N without replacement: read off the mean of a step with a huge h.
    sampler = SGFS(linear_model(replacement), Euclidean(), 1e9, "full")
    batch = SCORES[:10]
    state = sampler.init(KEY, X)
    got = sampler.step(KEY, state, batch)[0].position - X
    factor = 40 + 160 * (1 if replacement else 0.75)
    gradient = jax.grad(log_density)(X) + 4 * batch.sum(axis=0)
    np.testing.assert_allclose(got, 2 * np.linalg.solve(factor * np.cov(batch.T), gradient), rtol=1e-4)


def test_fisher_information_is_the_mean_over_the_steps():
    sampler = SGFS(linear_model(), Euclidean(), 0.1, "full")
    state = sampler.init(KEY, X)
    for n in range(4):
        state, _ = sampler.step(KEY, state, SCORES[10 * n : 10 * n + 10])
        seen = np.mean([np.cov(SCORES[10 * i : 10 * i + 10].T) for i in range(n + 1)], axis=0)
        np.testing.assert_allclose(state.fisher, seen, rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in METRICS if name != "none"])
def test_drift_of_the_proposal_is_that_of_the_recipe(name):
    metric, inverse_metric = METRICS[name]
    x = jnp.array([0.3, 0.25, 0.2]) if name == "reduced mean" else X
    state = RMLD(Full(log_density), FLAT, 0.1, metric).init(KEY, x)
    np.testing.assert_allclose(state.drift, recipe_move(inverse_metric, x)[0], rtol=1e-11)


def likelihood(x, y):
    return -0.5 * jnp.sum((y - x) ** 2, axis=-1)


DATA = jax.random.normal(jax.random.key(8), (30, 3)) + 4
MINIBATCH = Minibatch(likelihood, lambda x: -jnp.sum((x - 4) ** 2), 30, "diagonal-fisher", refresh_every=3)
WITH_DATA = {
    "SGLD": SGLD(MINIBATCH, Euclidean(), 1e-3, num_steps=2),
    "SGLD metric": SGLD(MINIBATCH, Euclidean(), 1e-3, metrics.ConstantDense(COVARIANCE)),
    "SGRLD": SGRLD(MINIBATCH, Euclidean(), 1e-3, metrics.ExpandedMean()),
    "PreconditionedSGLD": PreconditionedSGLD(MINIBATCH, Euclidean(), 1e-2, 5),
    "SGFS": SGFS(MINIBATCH, Euclidean(), 1e-3),
    "SGFS diagonal": SGFS(MINIBATCH, Euclidean(), 1e-3, "diagonal"),
}
EXACT = {
    "RMLD": RMLD(Full(lambda x: -jnp.sum((x - 4) ** 2)), Euclidean(), 0.1, metrics.ExpandedMean()),
}
ALL = WITH_DATA | EXACT


def options(name):
    return {"data": DATA, "batch_size": 6} if name in WITH_DATA else {}


@pytest.mark.slow  # `test_run` has it of other samplers in CI
@pytest.mark.parametrize("name", ["SGFS"])  # the others are in tests/cases.py
def test_going_on_from_a_state_is_one_longer_run(name):
    common = {"num_chains": 2, "thin": 2, **options(name)}
    start = jnp.full(3, 4.0)
    whole = gd.sample(KEY, ALL[name], num_draws=7, num_warmup=3, initial=start, **common)
    first = gd.sample(KEY, ALL[name], num_draws=3, num_warmup=3, initial=start, **common)
    second = gd.sample(KEY, ALL[name], num_draws=4, initial=first.state, **common)
    np.testing.assert_array_equal(whole.position[:, 3:], second.position)
    for left, right in zip(jax.tree.leaves(whole.state), jax.tree.leaves(second.state), strict=True):
        np.testing.assert_array_equal(left, right)
    alone = gd.sample(KEY, ALL[name], num_draws=7, num_warmup=3, initial=start, **common | {"num_chains": 1})
    np.testing.assert_allclose(whole.position[0], alone.position[0], atol=1e-6)
    assert np.abs(whole.position[0] - whole.position[1]).max() > 1e-3


QUICK = ("SGFS",)


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ALL]
)
def test_dtype_and_code_of_a_step(name):
    sampler, start = ALL[name], jnp.full(3, 4.0, jnp.float32)
    rows = {(): DATA[:6], (2,): jnp.stack([DATA[:6], DATA[6:12]])}[sampler.batch_axes]
    state, info = jax.jit(sampler.step)(KEY, sampler.init(KEY, start), rows.astype(jnp.float32))
    assert state.position.dtype == jnp.float32
    assert info.result == gd.Result.OK
    assert state.count == 1
    exact, _ = sampler.step(KEY, sampler.init(KEY, start.astype(float)), rows)
    assert jax.tree.structure(exact) == jax.tree.structure(state)
    broken = sampler.init(KEY, start)._replace(position=jnp.full(3, jnp.nan, jnp.float32))
    if name != "RMLD":  # which would reject
        assert sampler.step(KEY, broken, rows.astype(jnp.float32))[1].result == gd.Result.NON_FINITE


@pytest.mark.parametrize(
    "stated", [500.0, jnp.array([1.0, 500.0, 1.0]), 500 * NOISE], ids=["number", "diagonal", "matrix"]
)
@pytest.mark.parametrize("name", ["none", "diagonal", pytest.param("dense", marks=pytest.mark.slow)])
def test_noise_above_all_that_is_injected_is_refused(name, stated):
    sampler = SGLD(Noisy(jnp.eye(3), stated), FLAT, 0.1, METRICS[name][0])
    assert sampler.step(KEY, sampler.init(KEY, X))[1].result == gd.Result.NEGATIVE_NOISE_VARIANCE
    sampler = SGLD(Noisy(jnp.eye(3), jnp.asarray(stated) / 1000), FLAT, 0.1, METRICS[name][0])
    assert sampler.step(KEY, sampler.init(KEY, X))[1].result == gd.Result.OK


FULL = Full(log_density)
PLAIN = Euclidean(3)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: SGLD(FULL, PLAIN, 0.0), r"step_size = 0\.0"),
        (lambda: SGLD(FULL, PLAIN, 0.1, num_steps=0), "num_steps = 0"),
        (lambda: SGLD(FULL, Sphere(3), 0.1, metrics.Constant(1.0)), r"manifold = Sphere\(n=3\)"),
        (lambda: SGRLD(FULL, PLAIN, 0.1), "metric = None"),
        (lambda: SGRLD(FULL, PLAIN, 0.1, metrics.ExpandedMean()).init(KEY, -X), "inside its chart"),
        (lambda: PreconditionedSGLD(FULL, Sphere(3), 0.1, 10), "manifold = Sphere"),
        (lambda: PreconditionedSGLD(FULL, PLAIN, 0.1, 0), "adaptation_steps = 0"),
        (lambda: PreconditionedSGLD(FULL, PLAIN, 0.1, 10, decay=1.0), r"decay = 1\.0"),
        (lambda: PreconditionedSGLD(FULL, PLAIN, 0.1, 10, damping=-1.0), r"damping = -1\.0"),
        (lambda: SGFS(FULL, PLAIN, 0.1), "SGFS needs Minibatch"),
        (lambda: SGFS(linear_model(), PLAIN, 0.1, "dense"), "form = 'dense'"),
        (lambda: SGFS(linear_model(), PLAIN, 0.1, "diagonal", COVARIANCE), "the diagonal form takes"),
        (lambda: SGFS(linear_model(), PLAIN, 0.1, "full", -COVARIANCE), "positive definite"),
        (lambda: SGFS(linear_model(), PLAIN, 0.1, "full", 1e-10 * jnp.triu(COVARIANCE)), "symmetric"),
        (lambda: SGFS(linear_model(), PLAIN, 0.1, preconditioner=0.0), r"preconditioner = 0\.0"),
        (lambda: WITH_DATA["SGFS"].step(KEY, WITH_DATA["SGFS"].init(KEY, X), SCORES[:1]), "a batch of 1"),
        (lambda: RMLD(linear_model(), PLAIN, 0.1, metrics.Constant(1.0)), "RMLD needs Full"),
        (lambda: RMLD(FULL, PLAIN, 0.1, metrics.ExpandedMean()).init(KEY, -X), "inside its chart"),
        (lambda: metrics.RMSProp(1.0, decay=0.0), r"decay = 0\.0"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("unchecked_types")
def test_wrong_arguments_raise(make, match):
    with pytest.raises(ValueError, match=match):
        make()
