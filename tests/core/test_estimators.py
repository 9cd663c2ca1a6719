"""Unbiasedness and noise variance against exact enumeration of every minibatch of a small problem."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cases import KEY
from geodrift.estimators import SAGA, SVRG, ControlVariate, Full, Minibatch, Rows, find_mode, noise_ratio
from geodrift.manifolds import Euclidean, Product, Sphere
from geodrift.samplers import SGGMC
from law_checks import some_of

N, B = 5, 3
DATA = {"y": jnp.asarray(np.random.default_rng(1).normal(size=(N, 3))), "w": jnp.arange(1.0, N + 1)}
X = Sphere(3).random_point(KEY)
CENTRE = Sphere(3).random_point(jax.random.fold_in(KEY, 1))


def log_likelihood(x, batch):
    return batch["w"] * jnp.sin(batch["y"] @ x) - jnp.sum(batch["y"] ** 2 * x**3, axis=1)


def log_prior(x):
    return jnp.sum(jnp.cos(x) * jnp.arange(3.0))


def log_density(x):
    return log_prior(x) + jnp.sum(log_likelihood(x, DATA))


def batches(replacement):
    """Every minibatch, each of the same probability."""
    if replacement:
        return list(itertools.product(range(N), repeat=B))
    return list(itertools.combinations(range(N), B))


def make(kind, replacement, noise_variance=None):
    if kind == "minibatch":
        return Minibatch(log_likelihood, log_prior, N, noise_variance, replacement=replacement)
    if kind == "SAGA":
        options = {"replacement": replacement, "chunk_size": 2}
        return SAGA(log_likelihood, log_prior, DATA, noise_variance, **options)
    if kind == "SVRG":
        options = {"noise_variance": noise_variance, "replacement": replacement}
        return SVRG(log_likelihood, log_prior, DATA, 2, **options)
    centre = CENTRE if kind == "fixed centre" else None
    return ControlVariate(
        log_likelihood,
        log_prior,
        DATA,
        centre,
        noise_variance=noise_variance,
        replacement=replacement,
        chunk_size=2,
    )


def batch_of(estimator, rows):
    batch = jax.tree.map(lambda a: a[rows], DATA)
    return Rows(rows, batch) if estimator.takes_rows else batch


def evaluate(estimator, start, position):
    """Gradient and noise variance of every minibatch, after a few that moved what the estimator keeps."""
    state = estimator.init(KEY, start)
    for i, rows in enumerate([[0, 1, 1], [3, 2, 0], [4, 4, 4]] if estimator.replacement else [[0, 1, 2]]):
        earlier = Sphere(3).random_point(jax.random.fold_in(KEY, 7 + i))
        _, state = estimator.prepare(KEY, state, earlier, batch_of(estimator, jnp.array(rows)))

    def one(rows):
        batch = batch_of(estimator, rows)
        prepared, _ = estimator.prepare(KEY, state, position, batch)
        return estimator.gradient(position, prepared), estimator.noise_variance(position, prepared)

    return jax.vmap(one)(jnp.array(batches(estimator.replacement)))


KINDS = ["minibatch", "fixed centre", "start as centre", "SVRG", "SAGA"]
kinds = pytest.mark.parametrize("kind", KINDS)
few_kinds = pytest.mark.parametrize("kind", some_of(KINDS, {"SVRG", "SAGA"}))
replacements = pytest.mark.parametrize("replacement", [True, pytest.param(False, marks=pytest.mark.slow)])


@kinds
@replacements
def test_unbiased_over_all_minibatches(kind, replacement):
    gradients, _ = evaluate(make(kind, replacement), CENTRE, X)
    exact = jax.grad(log_density)(X)
    np.testing.assert_allclose(jnp.mean(gradients, axis=0), exact, rtol=1e-12)
    assert np.std(gradients, axis=0).min() > 0.1


@few_kinds
@replacements
def test_fisher_variance_is_unbiased_over_all_minibatches(kind, replacement):
    sphere = Sphere(3)
    gradients, scalar = evaluate(make(kind, replacement, "scalar-fisher").on(sphere), CENTRE, X)
    tangent = jax.vmap(sphere.to_tangent, (None, 0))(X, gradients)
    exact = np.cov(tangent.T, bias=True)
    assert np.mean(scalar) == pytest.approx(np.trace(exact) / 2, rel=1e-12)
    _, diagonal = evaluate(make(kind, replacement, "diagonal-fisher").on(sphere), CENTRE, X)
    np.testing.assert_allclose(np.mean(diagonal, axis=0), np.diag(exact), rtol=1e-12)
    _, ambient = evaluate(make(kind, replacement, "scalar-fisher"), CENTRE, X)
    assert np.mean(ambient) == pytest.approx(np.trace(np.cov(gradients.T, bias=True)) / 3, rel=1e-12)


def test_fisher_variance_leaf_by_leaf():
    manifold = Product({"a": Sphere(3), "b": Euclidean(2)})
    data = jnp.asarray(np.random.default_rng(2).normal(size=(N, 5)))
    position = {"a": jnp.stack([X, CENTRE]), "b": jnp.array([0.3, -0.4])}

    def likelihood(p, batch):
        return batch[:, :3] @ p["a"][0] - 2 * batch[:, 1:4] @ p["a"][1] + jnp.cos(batch[:, 3:] @ p["b"])

    estimator = Minibatch(likelihood, lambda p: 0.0 * p["b"][0], N, "scalar-fisher").on(manifold)

    def one(rows):
        prepared, _ = estimator.prepare(KEY, estimator.init(KEY, position), position, data[rows])
        return manifold.to_tangent(position, estimator.gradient(position, prepared)), prepared.variance

    gradients, variance = jax.vmap(one)(jnp.array(batches(True)))
    for leaf, dim in (("a", 4), ("b", 2)):
        exact = np.sum(np.var(np.asarray(gradients[leaf]), axis=0)) / dim
        assert np.mean(variance[leaf]) == pytest.approx(exact, rel=1e-12)


def test_fisher_variance_is_refreshed_at_the_interval():
    estimator = Minibatch(log_likelihood, log_prior, N, "scalar-fisher", refresh_every=3).on(Sphere(3))
    state, seen = estimator.init(KEY, X), []
    for step in range(7):
        batch = jax.tree.map(lambda a, step=step: a[jnp.array([step % N, (step + 1) % N, 2])], DATA)
        prepared, state = estimator.prepare(KEY, state, X, batch)
        seen.append(float(estimator.noise_variance(X, prepared)))
    assert seen[0] == seen[1] == seen[2] != seen[3]
    assert seen[3] == seen[4] == seen[5] != seen[6]
    assert min(seen) > 0


def test_refreshed_centre_moves_with_its_full_gradient():
    estimator = ControlVariate(log_likelihood, log_prior, DATA, refresh_every=2, chunk_size=2)
    state = estimator.init(KEY, CENTRE)
    batch = jax.tree.map(lambda a: a[:B], DATA)
    path = [Sphere(3).random_point(jax.random.fold_in(KEY, i)) for i in range(5)]
    centres = []
    for position in path:
        _, state = estimator.prepare(KEY, state, position, batch)
        centres.append(state.centre)
        exact = jax.grad(lambda x: jnp.sum(log_likelihood(x, DATA)))(state.centre)
        np.testing.assert_allclose(state.full_gradient, exact, rtol=1e-12)
    expected = [CENTRE, CENTRE, path[2], path[2], path[4]]
    np.testing.assert_array_equal(np.stack(centres), np.stack(expected))


def test_refreshed_centre_has_its_variance_measured_where_the_gradient_is():
    # Refreshed at every batch the centre is the step's start; the gradient is taken a drift away.
    given = (log_likelihood, log_prior, DATA)
    options = {"noise_variance": "scalar-fisher", "replacement": False}
    estimator = ControlVariate(*given, refresh_every=1, **options).on(Sphere(3))
    state = estimator.init(KEY, CENTRE)._replace(count=jnp.asarray(1))
    start = Sphere(3).random_point(jax.random.fold_in(KEY, 2))

    def one(rows):
        prepared, _ = estimator.prepare(KEY, state, start, jax.tree.map(lambda a: a[rows], DATA))
        seen = [estimator.noise_variance(position, prepared) for position in (start, X)]
        return Sphere(3).to_tangent(X, estimator.gradient(X, prepared)), jnp.stack(seen)

    gradients, variance = jax.vmap(one)(jnp.array(batches(False)))
    exact = np.trace(np.cov(gradients.T, bias=True)) / 2
    np.testing.assert_allclose(np.mean(variance, axis=0), [0.0, exact], rtol=1e-12)
    assert exact > 0.1
    with pytest.raises(ValueError, match="refresh_variance_every = 2 with refresh_every = 4"):
        ControlVariate(*given, refresh_every=4, refresh_variance_every=2)


def test_control_variate_has_no_noise_at_its_centre():
    gradients, variance = evaluate(make("start as centre", True, "scalar-fisher").on(Sphere(3)), X, X)
    np.testing.assert_allclose(
        gradients, np.broadcast_to(jax.grad(log_density)(X), gradients.shape), rtol=1e-12
    )
    np.testing.assert_allclose(variance, 0, atol=1e-25)


@pytest.mark.parametrize("shape", [(), (1,), (1, 3)])
def test_a_centre_of_another_shape_is_refused(shape):
    """It was broadcast, and each number's gradient had those of all numbers in it."""
    estimator = ControlVariate(
        lambda x, y: -jnp.sum((y - x) ** 2, axis=-1), log_prior, DATA["y"], jnp.zeros(shape)
    )
    with pytest.raises(ValueError, match=r"centre has shape .*must be that of the position, \(3,\)"):
        estimator.init(KEY, X)


def test_full_gradient_is_that_of_finite_differences():
    estimator = Full(log_density)
    gradient = estimator.gradient(X, ())
    e = 1e-6
    for i, unit in enumerate(np.eye(3)):
        difference = (log_density(X + e * unit) - log_density(X - e * unit)) / (2 * e)
        assert gradient[i] == pytest.approx(float(difference), rel=1e-7)


def test_given_variance_is_passed_on():
    _, variance = evaluate(make("minibatch", True, jnp.array([1.0, 2.0, 3.0])), X, X)
    np.testing.assert_array_equal(variance[0], [1.0, 2.0, 3.0])
    assert (
        make("minibatch", True).noise_variance(
            X, make("minibatch", True).prepare(KEY, make("minibatch", True).init(KEY, X), X, DATA)[0]
        )
        is None
    )


@kinds
@pytest.mark.parametrize(
    "form",
    [
        pytest.param(7.0, marks=pytest.mark.slow),
        pytest.param(jnp.array([1.0, 2.0, 3.0]), marks=pytest.mark.slow),
        pytest.param(jnp.eye(3), marks=pytest.mark.slow),
        "scalar-fisher",
    ],
)
def test_all_data_has_no_noise(kind, form):
    estimator = make(kind, True, form).on_all_data().on(Sphere(3))
    prepared, _ = estimator.prepare(KEY, estimator.init(KEY, X), X, batch_of(estimator, jnp.arange(N)))
    variance = estimator.noise_variance(X, prepared)
    assert variance == 0 if isinstance(form, str) else variance is None


def test_given_variance_of_a_square_leaf_says_what_it_is():
    manifold, position = Product(Euclidean(3)), {"a": jnp.ones((3, 3)), "b": jnp.ones(3)}
    matrix = jnp.diag(jnp.array([0.1, 0.2, 0.3]))
    densities = (lambda p, y: y @ p["b"], lambda p: 0.0 * p["b"][0])

    def velocity(variance):
        estimator = Minibatch(*densities, N, {"a": variance, "b": 0.1})
        sampler = SGGMC(estimator, manifold, 0.1)
        return sampler.step(KEY, sampler.init(KEY, position), DATA["y"])[0].velocity["a"]

    advice = r"\(3, 3\) for a leaf of shape \(3, 3\).* as \(1, 3, 3\) for one .* of shape \(3, 3, 3\)"
    with pytest.raises(ValueError, match=advice):
        velocity(matrix)
    for estimator in (
        Minibatch(*densities, N, matrix),
        ControlVariate(*densities, DATA["y"], None, None, matrix),
    ):
        with pytest.raises(ValueError, match=advice):
            estimator.init(KEY, position)
    each = velocity(jnp.broadcast_to(matrix, (3, 3, 3)))
    np.testing.assert_allclose(velocity(matrix[None]), each, rtol=1e-12)
    np.testing.assert_allclose(velocity(jnp.diag(matrix)), each, rtol=1e-12)


def test_saga_keeps_each_datums_last_gradient():
    estimator = make("SAGA", True)
    state = estimator.init(KEY, CENTRE)
    last = [CENTRE] * N
    for i, rows in enumerate([[0, 1, 1], [3, 1, 0], [4, 4, 4], [2, 3, 2]]):
        position = Sphere(3).random_point(jax.random.fold_in(KEY, i))
        _, state = estimator.prepare(KEY, state, position, batch_of(estimator, jnp.array(rows)))
        for n in rows:
            last[n] = position
    for n, seen in enumerate(last):
        exact = jax.grad(lambda x, n=n: log_likelihood(x, jax.tree.map(lambda a: a[n : n + 1], DATA))[0])(
            seen
        )
        np.testing.assert_allclose(state.table[n], exact, rtol=1e-12)
    np.testing.assert_allclose(state.total, state.table.sum(axis=0), rtol=1e-12)


def test_saga_refuses_a_table_that_is_too_large():
    estimator = SAGA(log_likelihood, log_prior, DATA, max_table_bytes=119)
    assert estimator.table_bytes(X) == N * 3 * 8
    with pytest.raises(
        ValueError, match="takes 120 bytes for each chain, more than max_table_bytes = 119: take SVRG"
    ):
        estimator.init(KEY, X)
    with pytest.raises(ValueError, match=r"estimators.Rows"):
        make("SAGA", True).prepare(KEY, make("SAGA", True).init(KEY, X), X, DATA)


@pytest.mark.parametrize("kind", ["minibatch", "fixed centre", "SAGA"])
@replacements
def test_noise_ratio_is_that_of_all_minibatches(kind, replacement):
    sphere = Sphere(3)

    def spread(kind):
        gradients, _ = evaluate(make(kind, replacement).on(sphere), CENTRE, X)
        return np.trace(np.cov(jax.vmap(sphere.to_tangent, (None, 0))(X, gradients).T, bias=True))

    estimator = make(kind, replacement).on(sphere)
    state = estimator.init(KEY, CENTRE)
    for i, rows in enumerate([[0, 1, 1], [3, 2, 0], [4, 4, 4]] if replacement else [[0, 1, 2]]):
        position = sphere.random_point(jax.random.fold_in(KEY, 7 + i))
        _, state = estimator.prepare(KEY, state, position, batch_of(estimator, jnp.array(rows)))
    ratio = noise_ratio(estimator, state, X, jax.tree.map(np.asarray, DATA), chunk_size=2)
    assert ratio == pytest.approx(spread(kind) / spread("minibatch"), rel=1e-10)
    assert kind == "minibatch" or abs(ratio - 1) > 0.05


def test_noise_ratio_of_other_estimators():
    assert noise_ratio(Full(log_density), (), X, DATA) == 0
    estimator = make("minibatch", True)
    with pytest.raises(ValueError, match="data has 4 rows: the estimator's data_size is 5"):
        noise_ratio(estimator, estimator.init(KEY, X), X, jax.tree.map(lambda a: a[:4], DATA))


def test_there_is_no_noise_ratio_of_gradients_that_are_alike():
    estimator = Minibatch(lambda x, y: y @ x, log_prior, N)
    with pytest.raises(ValueError, match="data: the gradients of all rows are alike"):
        noise_ratio(estimator, None, X, jnp.ones((N, 3)))


def adam(gradient, x, on_sphere, rate, num_steps):
    """Adam (Kingma & Ba, 2015, Algorithm 1) as written, with a rate that falls along a cosine.

    On the sphere along great circles, with one scale for all entries.
    """
    mean, square = np.zeros_like(x), 0.0
    for t in range(1, num_steps + 1):
        g = gradient(x)
        if on_sphere:
            g = g - (g @ x) * x
        mean = 0.9 * mean + 0.1 * g
        if on_sphere:
            mean = mean - (mean @ x) * x
        square = 0.999 * square + 0.001 * (np.mean(g * g) if on_sphere else g * g)
        step = (mean / (1 - 0.9**t)) / np.sqrt(square / (1 - 0.999**t))
        step = step * rate * (1 + np.cos(np.pi * (t - 1) / num_steps)) / 2
        length = np.linalg.norm(step)
        x = np.cos(length) * x + np.sin(length) / length * step if on_sphere else x + step
    return x


@pytest.mark.parametrize("num_steps", [1, 2, 7])
def test_steps_towards_the_mode_are_those_of_adam(num_steps):
    random = np.random.default_rng(5)
    data = {"y": random.normal(size=(20, 3)), "z": random.normal(size=(20, 2)) * [1.0, 30.0]}

    def likelihood(p, batch):
        return batch["y"] @ p["direction"] - 0.5 * jnp.sum((batch["z"] - p["mean"]) ** 2, axis=1)

    manifold = Product({"direction": Sphere(3), "mean": Euclidean(2)})
    start = {"direction": jnp.array([0.0, 1.0, 0.0]), "mean": jnp.zeros(2)}
    found = find_mode(
        KEY,
        Minibatch(likelihood, lambda _: 0.0, 20, replacement=False),  # all data at each step
        manifold,
        data,
        start,
        batch_size=20,
        num_steps=num_steps,
        learning_rate=0.3,
    )
    total_y, total_z = data["y"].sum(axis=0), data["z"].sum(axis=0)
    direction = adam(lambda _: total_y, np.array([0.0, 1.0, 0.0]), True, 0.3, num_steps)
    mean = adam(lambda x: total_z - 20 * x, np.zeros(2), False, 0.3, num_steps)
    np.testing.assert_allclose(found["direction"], direction, rtol=1e-9)
    np.testing.assert_allclose(found["mean"], mean, rtol=1e-9)


@pytest.mark.parametrize("kind", ["minibatch", "SAGA"])
def test_mode_is_found_on_a_product(kind):
    # A von Mises-Fisher mean direction and a normal mean: both modes are known.
    random = np.random.default_rng(3)
    truth = np.array([0.6, 0.0, 0.8])
    data = {"y": truth + 0.5 * random.normal(size=(200, 3)), "z": 5.0 + 0.1 * random.normal(size=(200, 2))}

    def likelihood(p, batch):
        return batch["y"] @ p["direction"] - 50.0 * jnp.sum((batch["z"] - p["mean"]) ** 2, axis=1)

    def prior(p):
        return -0.5 * jnp.sum(p["mean"] ** 2)

    estimator = (
        Minibatch(likelihood, prior, 200)
        if kind == "minibatch"
        else SAGA(likelihood, prior, data, replacement=False)
    )
    manifold = Product({"direction": Sphere(3), "mean": Euclidean(2)})
    start = {"direction": jnp.array([0.0, 1.0, 0.0]), "mean": jnp.zeros(2)}
    options = {"batch_size": 20, "num_steps": 2000}
    mode = find_mode(KEY, estimator, manifold, data, start, **options, learning_rate=0.1)
    total = data["y"].sum(axis=0)
    mean = 100 * data["z"].sum(axis=0) / (1 + 100 * 200)
    # Half of the posterior's standard deviations, 1/sqrt(length of the total) and 0.1/sqrt(200).
    assert (
        np.abs(mode["direction"] - total / np.linalg.norm(total)).max() < 0.5 / np.linalg.norm(total) ** 0.5
    )
    assert np.abs(mode["mean"] - mean).max() < 0.5 * 0.1 / 200**0.5
    with pytest.raises(ValueError, match="batch_size = 201"):
        find_mode(KEY, estimator, manifold, data, start, batch_size=201, num_steps=1)


@pytest.mark.parametrize(
    ("likelihood", "shape"),
    [
        (lambda x, y: jnp.sum(y @ x), r"\(\)"),
        (lambda x, y: (y @ x)[:, None], r"\(3, 1\)"),
        (lambda x, y: jnp.mean(y, axis=0) * x, r"\(3,\)"),
    ],
)
@pytest.mark.parametrize("variance", [None, "scalar-fisher"])
def test_likelihood_that_is_not_one_value_for_each_datum(likelihood, shape, variance):
    data = DATA["y"][:4]
    batch = data[:3] if shape != r"\(3,\)" else data
    for estimator in (
        Minibatch(likelihood, log_prior, 4, variance),
        ControlVariate(likelihood, log_prior, data, X, noise_variance=variance),
    ):
        sampler = SGGMC(estimator, Sphere(3), 0.1)
        with pytest.raises(
            ValueError, match=r"log_likelihood returned shape .* return one value for each datum"
        ):
            sampler.step(KEY, sampler.init(KEY, X), batch)
    with pytest.raises(
        ValueError, match=f"log_likelihood returned shape {shape} for a batch of {len(batch)}"
    ):
        Minibatch(likelihood, log_prior, 4).log_likelihoods(X, batch)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"data_size": 0}, "data_size = 0"),
        ({"data_size": 2.5}, "data_size = 2.5"),
        ({"data_size": 5, "noise_variance": "fisher"}, "scalar-fisher, diagonal-fisher"),
        ({"data_size": 5, "refresh_every": 0}, "refresh_every = 0"),
    ],
)
@pytest.mark.usefixtures("unchecked_types")
def test_wrong_arguments_raise(arguments, match):
    with pytest.raises(ValueError, match=match):
        Minibatch(log_likelihood, log_prior, **arguments)


def test_without_data_the_error_says_so():
    estimator = make("minibatch", True, "scalar-fisher")
    with pytest.raises(ValueError, match="this estimator needs data"):
        estimator.prepare(KEY, estimator.init(KEY, X), X, None)


def test_fisher_needs_two_data():
    estimator = make("minibatch", True, "scalar-fisher")
    with pytest.raises(ValueError, match="a batch of 1"):
        estimator.prepare(KEY, estimator.init(KEY, X), X, jax.tree.map(lambda a: a[:1], DATA))
