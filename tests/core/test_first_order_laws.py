"""Do the samplers without inertia have the right law, and the bias and order that theory gives them?

Where a step is linear, the law of the discretised chain has a closed form; in one dimension the stationary
law of its kernel is solved for on a grid. Both are compared with the sampler without any slack.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, linalg, stats

import geodrift as gd
from cases import KEY
from geodrift import metrics
from geodrift.estimators import Full, Minibatch
from geodrift.manifolds import Euclidean, Product
from geodrift.samplers import RMLD, SGFS, SGLD, SGRLD, PreconditionedSGLD
from law_checks import FAMILY_ERROR, assert_means, mean_and_error

FLAT = Euclidean()
EXPANDED = metrics.ExpandedMean()
NORMAL = Full(lambda x: -0.5 * jnp.sum(x * x))


def draw(sampler, initial, **options):
    """Positions [chain, draw, ...]."""
    return gd.sample(KEY, sampler, initial=initial, **options).position


def kernel_law(edges, mean, scale, fold=False):
    """Grid points and stationary weights of the chain ``N(mean(x), scale(x)^2)``, mirrored at 0 or not."""
    x = (edges[1:] + edges[:-1]) / 2
    bounds = edges.copy()
    bounds[-1] = np.inf
    if not fold:
        bounds[0] = -np.inf
    m, s = mean(x)[:, None], scale(x)[:, None]
    mass = np.diff(stats.norm.cdf((bounds - m) / s), axis=1)
    if fold:
        mass += np.diff(stats.norm.sf((-bounds - m) / s), axis=1)
    equations = mass.T / mass.sum(axis=1) - np.eye(len(x))
    equations[-1] = 1
    return x, np.linalg.solve(equations, np.eye(len(x))[-1])


# --- N(0, 1): E x^2 = 1 / (1 - h/2)


@pytest.mark.slow  # `test_step_halving` has this variance in CI
@pytest.mark.parametrize("h", [0.2, 0.1])
def test_sgld_on_a_normal_law(h):
    draws = draw(SGLD(NORMAL, FLAT, h), jnp.zeros(10), num_draws=300, num_warmup=60, num_chains=100, thin=2)
    assert_means(draws**2, np.full(10, 1 / (1 - h / 2)), comparisons=20)
    assert np.abs(np.mean(draws**2) - 1) > 0.5 * (h / 2)


DATA_SIZE, BATCH = 40, 8
MIXING = jnp.array([[1.0, 0.8, 0], [0, 1, 0], [0, 0, 2]])
DATA = 0.5 + jax.random.normal(jax.random.key(1), (DATA_SIZE, 3)) @ MIXING
SHARE = 1 / DATA_SIZE  # one datum has N(x, 1) to the power 1/N: the posterior is N(mean, 1)


def location(variance, replacement=True):
    return Minibatch(
        lambda x, y: -0.5 * SHARE * jnp.sum((y - x) ** 2, axis=-1),
        lambda x: 0.0 * x[0],
        DATA_SIZE,
        variance,
        replacement=replacement,
    )


# The gradient's noise: N^2/B times the covariance of the scores, here constant in x.
V = np.cov(DATA.T, bias=True) / BATCH
PRECONDITIONER = jnp.array([[1.0, 0.4, 0.0], [0.4, 0.7, 0.1], [0.0, 0.1, 0.4]])


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        pytest.param("exact", "none", marks=pytest.mark.slow),
        pytest.param("ignored", "none", marks=pytest.mark.slow),
        pytest.param("diagonal-fisher", "none", marks=pytest.mark.slow),
        ("exact", "matrix"),
    ],
)
def test_gradient_noise_is_subtracted_exactly(kind, form):
    # x' = x - h G^-1 (x - mean + n) + noise: the covariance S solves S = K S K + 2h G^-1 with K = 1 - h G^-1.
    # The noise of the minibatch is not felt, but for what of V is not stated, which adds h^2 G^-1 V G^-1. V
    # estimated from the same batch is right on average.
    h = 0.2
    metric = None if form == "none" else metrics.ConstantDense(PRECONDITIONER)
    inverse = np.eye(3) if form == "none" else np.asarray(PRECONDITIONER)
    keep, fresh = np.eye(3) - h * inverse, 2 * h * inverse
    variance, felt = {
        "exact": (V, np.zeros((3, 3))),
        "ignored": (None, V),
        "diagonal-fisher": (kind, V - np.diag(np.diag(V))),
    }[kind]
    expected = linalg.solve_discrete_lyapunov(keep, fresh + h * h * inverse @ felt @ inverse)
    options = {"data": DATA, "batch_size": BATCH, "num_draws": 400, "num_warmup": 100, "num_chains": 128}
    draws = draw(SGLD(location(variance), FLAT, h, metric), DATA.mean(axis=0), **options)
    away = draws - np.asarray(DATA.mean(axis=0))
    assert_means(away[..., :, None] * away[..., None, :], expected, comparisons=36)


# --- a double well with a metric: the bias, the order, and the divergence that the law needs

WELL_MOMENTS = {"square": 0.8327454870943, "fourth": 1.0827454870943}  # of exp(-x^4 + 2 x^2), by quadrature


def well(x):
    return x**4 - 2 * x**2


def well_metric(c):
    """Ma et al. (2015), F.1: G^-1 = sqrt|U + C| / 2; they print C = 0.5, and the minimum of U is -1."""
    return lambda x: 0.5 * jnp.sqrt(jnp.abs(well(x) + c))


def well_law(h, c=1.5, gamma=1.0, top=2.3, cells=900):
    """Grid and weights of the Euler chain of the recipe, with ``gamma`` times the divergence."""

    def inverse(x):
        return 0.5 * np.sqrt(np.abs(well(x) + c))

    def drift(x):
        slope = 4 * x**3 - 4 * x
        return -inverse(x) * slope + gamma * 0.125 * np.sign(well(x) + c) * slope / inverse(x)

    edges = np.linspace(-top, top, cells + 1)
    return kernel_law(edges, lambda x: x + h * drift(x), lambda x: np.sqrt(2 * h * inverse(x)))


def test_the_recipe_needs_its_divergence():
    # No sampler here: the bias of the Euler chain itself, on a grid, halves with h as first order says;
    # without the divergence or with its sign turned it settles elsewhere.
    exact = WELL_MOMENTS["square"]
    weight = integrate.quad(lambda x: np.exp(-well(x)), -4, 4)[0]
    second = integrate.quad(lambda x: x * x * np.exp(-well(x)), -4, 4)[0] / weight
    assert second == pytest.approx(exact, abs=1e-9)
    biases = {}
    for gamma in (1.0, 0.0, -1.0):
        laws = [well_law(h, gamma=gamma) for h in (0.02, 0.01, 0.005)]
        biases[gamma] = [weights @ x**2 - exact for x, weights in laws]
    right = np.array(biases[1.0])
    np.testing.assert_allclose(right[:-1] / right[1:], 2, atol=0.25)
    assert abs(2 * right[2] - right[1]) < 1e-3
    for wrong in (biases[0.0], biases[-1.0]):
        assert abs(2 * wrong[2] - wrong[1]) > 0.01


@pytest.mark.slow  # `test_one_step_is_that_of_the_recipe` has its steps in CI
@pytest.mark.parametrize(
    "kind",
    [
        "SGLD",
        pytest.param("SGRLD", marks=pytest.mark.slow),
        pytest.param("separable", marks=pytest.mark.slow),
    ],
)
def test_langevin_on_a_metric(kind):
    h = 0.02
    metric = metrics.Diagonal(well_metric(1.5), separable=kind == "separable")
    sampler = (SGRLD if kind == "SGRLD" else SGLD)(Full(lambda x: -jnp.sum(well(x))), FLAT, h, metric)
    # Independent coordinates, each a chain of its own.
    draws = draw(sampler, jnp.ones(8), num_draws=200, num_warmup=500, num_chains=100, thin=10)
    x, weights = well_law(h)
    got = np.stack([draws**2, draws**4], axis=-1).mean(axis=2)
    assert_means(got, [weights @ x**2, weights @ x**4], comparisons=6)


def test_a_metric_that_vanishes_costs_accuracy():
    # With the printed C = 0.5 the inverse metric is 0 at |x| = 0.541 and 1.307, its divergence infinite.
    broken, sound = (metrics.Diagonal(lambda x, c=c: well_metric(c)(x), separable=True) for c in (0.5, 1.5))
    zeros = np.sqrt(1 + np.array([-1, 1]) * np.sqrt(0.5))
    np.testing.assert_allclose(zeros, [0.541, 1.307], atol=1e-3)
    near = jnp.asarray(zeros + 1e-8)
    assert np.all(np.abs(broken.divergence_inverse(near)) > 1e3)
    assert np.all(np.abs(sound.divergence_inverse(near)) < 1)
    laws = [well_law(0.01, c) for c in (0.5, 1.5)]
    biases = [weights @ x**2 - WELL_MOMENTS["square"] for x, weights in laws]
    assert abs(biases[0]) > 2 * abs(biases[1])


# --- a banana with a dense metric: x ~ N(0, 1), y | x ~ N(x^2/2, 1)


def banana(p):
    return -0.5 * p[0] ** 2 - 0.5 * (p[1] - p[0] ** 2 / 2) ** 2


def banana_information(p):
    return jnp.array([[1 + p[0] ** 2, -p[0]], [-p[0], 1.0]])


BANANA_MOMENTS = np.array([0.0, 0.5, 1.0, 1.5 + 0.25, 1.5])  # of x, y, x^2, y^2, x^2 y


def banana_moments(draws):
    x, y = draws[..., 0], draws[..., 1]
    return np.stack([x, y, x * x, y * y, x * x * y], axis=-1)


@pytest.mark.slow  # `test_tuning_in_metrics` has the metric in CI
def test_langevin_on_a_dense_metric_is_of_first_order():
    # |b(h) - 2 b(h/2)| within the Monte Carlo error of both, and the second order that is left.
    metric = metrics.Dense(banana_information)
    bias, error = {}, {}
    for h, thin in ((0.1, 5), (0.05, 10)):
        sampler = SGRLD(Full(banana), FLAT, h, metric)
        draws = draw(sampler, jnp.zeros(2), num_draws=300, num_warmup=20 * thin, num_chains=200, thin=thin)
        means = banana_moments(draws).mean(axis=1)
        bias[h], error[h] = means.mean(axis=0) - BANANA_MOMENTS, means.std(axis=0) / np.sqrt(200)
    tolerance = stats.norm.ppf(1 - FAMILY_ERROR / 10) * np.hypot(error[0.1], 2 * error[0.05])
    left_over = np.abs(bias[0.1] - 2 * bias[0.05])
    assert np.all(left_over < tolerance + 0.1**2), (bias, tolerance)
    assert np.all(error[0.05] < 0.04)


@pytest.mark.slow  # its Metropolis step is exact on the charts of the simplex in CI
@pytest.mark.parametrize("h", [0.2, 1.0])
def test_metropolis_on_a_dense_metric_is_exact(h):
    sampler = RMLD(Full(banana), FLAT, h, metrics.Dense(banana_information))
    options = {"num_draws": 400, "num_warmup": 60, "num_chains": 150, "thin": 2}
    result = gd.sample(KEY, sampler, initial=jnp.zeros(2), **options)
    assert 0.3 < result.info.acceptance.mean() < 0.97
    assert_means(banana_moments(result.position), BANANA_MOMENTS, comparisons=10)


# --- Dirichlet posteriors

ALPHA, COUNTS = jnp.array([0.7, 1.5, 2.0]), jnp.array([3.0, 0.0, 4.0])
POSTERIOR = np.asarray(ALPHA + COUNTS)
OBSERVED = jnp.repeat(jnp.arange(3), jnp.array([3, 0, 4]), total_repeat_length=7)


def dirichlet_moments(pi):
    return np.concatenate([pi, pi**2], axis=-1)


def dirichlet_exact(a):
    return np.concatenate([a / a.sum(), a * (a + 1) / (a.sum() * (a.sum() + 1))])


CHARTS = {"reduced natural": metrics.ReducedNatural(10.0), "expanded natural": metrics.ExpandedNatural()}


@pytest.mark.slow  # in CI on a dense metric
@pytest.mark.parametrize(
    "name",
    [
        "expanded mean",
        *(pytest.param(name, marks=pytest.mark.slow) for name in (*CHARTS, "expanded mean, posterior")),
    ],
)
def test_metropolis_on_the_charts_of_the_simplex_is_exact(name):
    # On the expanded mean alpha = (0.7, 1.5, 2): the first density is infinite at 0, and proposals are
    # mirrored there. The natural charts' proposals are no good so near the boundary.
    metric, counts = CHARTS.get(name, EXPANDED), jnp.array([0.0, 0.0, 4.0])
    alpha, h = (ALPHA + 2, 0.15) if name in CHARTS else (ALPHA, 0.3)
    if name.endswith("posterior"):
        full = Full(lambda x: EXPANDED.log_prior(x, alpha + counts))
    else:
        full = Full(lambda x: metric.log_posterior(x, alpha, counts))
    start = metric.from_simplex(jnp.full(3, 1 / 3))
    options = {"num_draws": 500, "num_warmup": 300, "num_chains": 150, "thin": 3}
    result = gd.sample(KEY, RMLD(full, FLAT, h, metric), initial=start, **options)
    assert 0.3 < result.info.acceptance.mean() < 0.95
    pi = np.asarray(metric.to_simplex(jnp.asarray(result.position)))
    assert_means(dirichlet_moments(pi), dirichlet_exact(np.asarray(alpha + counts)), comparisons=24)


@pytest.mark.slow  # in CI gradient noise is subtracted exactly
@pytest.mark.parametrize(
    ("variance", "share"), [pytest.param(None, 1.0, marks=pytest.mark.slow), ("diagonal-fisher", 0.0)]
)
def test_gammas_on_the_posterior_from_minibatches(variance, share):
    # The drift is linear: E theta = a and Var theta = (2 h a + h^2 Var n_hat) / (2h - h^2), whatever the
    # noise; with V measured and subtracted the last term goes.
    h, size = 0.05, 4
    prior = lambda x: EXPANDED.log_prior(x, ALPHA + 6)  # noqa: E731 - away from the mirror
    estimator = Minibatch(lambda x, z: jnp.log(x)[z], prior, 7, variance)
    sampler = SGRLD(estimator, FLAT, h, EXPANDED)
    options = {"num_draws": 200, "num_warmup": 150, "num_chains": 150, "thin": 5}
    draws = draw(sampler, jnp.asarray(POSTERIOR + 6), data=OBSERVED, batch_size=size, **options)
    a, p = POSTERIOR + 6, np.asarray(COUNTS) / 7
    noise = 49 / size * p * (1 - p)
    expected = (2 * h * a + share * h * h * noise) / (2 * h - h * h)
    moments = np.concatenate([draws, (draws - a) ** 2], axis=-1)
    assert_means(moments, np.concatenate([a, expected]), comparisons=12)


@pytest.mark.slow
@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("form", ["prior", "posterior"])
def test_expanded_mean_posterior_from_minibatches(form):
    # Both forms, to first order in h: |b(h) - 2 b(h/2)| is noise and second order.
    alpha = ALPHA + 2
    chart = EXPANDED.log_simplex if form == "prior" else jnp.log
    estimator = Minibatch(lambda x, z: chart(x)[z], lambda x: EXPANDED.log_prior(x, alpha), 7)
    exact = dirichlet_exact(np.asarray(alpha + COUNTS))
    bias, error = {}, {}
    for h, thin in ((0.04, 10), (0.02, 20)):
        sampler = SGRLD(estimator, FLAT, h, EXPANDED)
        options = {"num_draws": 250, "num_warmup": 15 * thin, "num_chains": 200, "thin": thin}
        draws = draw(sampler, alpha + COUNTS, data=OBSERVED, batch_size=3, **options)
        pi = draws / draws.sum(axis=-1, keepdims=True)
        means = dirichlet_moments(pi).mean(axis=1)
        bias[h], error[h] = means.mean(axis=0) - exact, means.std(axis=0) / np.sqrt(200)
        scale, scale_error = mean_and_error(draws.sum(axis=-1))
        expected = float(jnp.sum(alpha)) if form == "prior" else float(jnp.sum(alpha + COUNTS))
        assert abs(scale - expected) < 4 * scale_error + 0.01
    tolerance = stats.norm.ppf(1 - FAMILY_ERROR / 24) * np.hypot(error[0.04], 2 * error[0.02])
    assert np.all(np.abs(bias[0.04] - 2 * bias[0.02]) < tolerance + 0.04**2), (bias, tolerance)
    assert np.all(error[0.02] < 0.003)


@pytest.mark.slow  # `test_one_step_on_a_tree_of_positions` has several rows in CI
def test_topics_move_independently():
    # A position [topic, word]: each row has the law of its own posterior.
    counts = jnp.array([[3.0, 0.0, 4.0], [9.0, 5.0, 1.0]])
    estimator = Full(lambda x: EXPANDED.log_prior(x, ALPHA + 6 + counts))
    sampler = SGRLD(estimator, Product(Euclidean()), 0.05, EXPANDED)
    draws = draw(sampler, ALPHA + 6 + counts, num_draws=200, num_warmup=100, num_chains=100, thin=5)
    a = np.asarray(ALPHA + 6 + counts)
    assert_means(draws, a, comparisons=12)
    assert_means((draws - a) ** 2, a / (1 - 0.025), comparisons=12)


# --- a density that is infinite at the boundary


def mirrored_gamma(shape, h):
    """The mean of the chain ``|x + h (shape - x) + sqrt(2hx) z|``."""
    edges = np.linspace(0, 12.0 ** (1 / 8), 1001) ** 8
    x, weights = kernel_law(edges, lambda x: x + h * (shape - x), lambda x: np.sqrt(2 * h * x), fold=True)
    return weights @ x


@pytest.mark.slow
def test_a_sparse_component_is_too_large_however_small_the_step():
    # Gamma(0.1): the excess of the mean falls by less than half for each tenfold smaller step.
    excess = {}
    for h, chains, warmup in ((0.1, 200, 60), (0.01, 60, 500)):
        sampler = SGRLD(Full(lambda x: EXPANDED.log_prior(x, 0.1)), FLAT, h, EXPANDED)
        options = {"num_draws": 20, "num_warmup": warmup, "num_chains": chains, "thin": round(1 / h)}
        draws = draw(sampler, jnp.full(40, 0.1), **options)
        mean, error = mean_and_error(draws.mean(axis=2))
        excess[h] = mean - 0.1
        assert abs(mean - mirrored_gamma(0.1, h)) < 4 * error + 1e-3
        assert error < 0.004
    assert excess[0.1] == pytest.approx(0.27, abs=0.02)
    assert excess[0.01] == pytest.approx(0.14, abs=0.02)
    assert mirrored_gamma(0.1, 0.001) - 0.1 == pytest.approx(0.09, abs=0.005)


@pytest.mark.slow
def test_metropolis_on_a_sparse_posterior_hardly_moves():
    # Ten categories, seven of them empty, alpha = 0.1, epsilon = 2h = 0.1. What Patterson & Teh's figure 1
    # shows is the chain without a Metropolis test: with it almost nothing is accepted, without it E pi_4 is
    # too large.
    counts, h = jnp.array([90.0, 5.0, 5.0, *[0.0] * 7]), 0.05
    full = Full(lambda x: EXPANDED.log_posterior(x, 0.1, counts))
    options = {"initial": counts + 0.1, "num_draws": 200, "num_warmup": 5000, "num_chains": 20, "thin": 5}
    tested = gd.sample(KEY, RMLD(full, FLAT, h, EXPANDED), **options)
    assert tested.info.acceptance.mean() < 0.02
    assert np.mean(tested.position[:, 1:] == tested.position[:, :-1]) > 0.9
    free = gd.sample(KEY, SGRLD(full, FLAT, h, EXPANDED), **options).position
    assert np.all(free[:, 1:] != free[:, :-1])
    share = (free / free.sum(axis=-1, keepdims=True))[..., 3:].mean(axis=2)
    mean, error = mean_and_error(share)
    assert mean - 4 * error > 4 * 0.1 / 101


# --- preconditioned SGLD


@pytest.mark.slow  # in CI its step is that of the recipe
@pytest.mark.parametrize("h", [0.1, pytest.param(0.01, marks=pytest.mark.slow)])
def test_preconditioned_sgld_is_exact_once_frozen(h):
    # Each chain has a preconditioner g of its own, and then E x^2 = 1 / (1 - h g/2).
    sampler = PreconditionedSGLD(NORMAL, FLAT, h, 300)
    options = {"num_draws": 200, "num_warmup": 300 + round(10 / h), "num_chains": 150, "thin": round(1 / h)}
    result = gd.sample(KEY, sampler, initial=jnp.ones(10), **options)
    inverse = 1 / (1e-5 + np.sqrt(result.state.mean_square))
    assert inverse.std() > 0.02
    scaled = np.mean(result.position**2 * (1 - h * np.asarray(inverse)[:, None] / 2), axis=2)
    assert_means(scaled, 1.0, comparisons=2)
    assert mean_and_error(scaled)[1] < 0.005


@pytest.mark.slow
def test_a_preconditioner_that_goes_on_adapting_is_wrong():
    # The published algorithm, with and without its Gamma, on N(0, 1): further off at the smaller step. The
    # figures without Gamma are those measured of a package that runs it so, whose step is twice h.
    def variance(h, gamma, steps=6000, decay=0.99):
        def one(carry, key):
            x, v = carry
            v = decay * v + (1 - decay) * x * x
            inverse = 1 / (1e-5 + jnp.sqrt(v))
            derivative = -(inverse**2) * (1 - decay) * x / jnp.sqrt(v)
            x = (
                x
                + h * (-inverse * x + gamma * derivative)
                + jnp.sqrt(2 * h * inverse) * jax.random.normal(key, x.shape)
            )
            return (x, v), jnp.mean(x * x)

        start = (jax.random.normal(KEY, (1000,)), jnp.ones(1000))
        return float(jnp.mean(jax.lax.scan(one, start, jax.random.split(KEY, steps))[1][steps // 3 :]))

    assert variance(0.05, 0.0) == pytest.approx(1.120, abs=0.015)
    assert variance(0.005, 0.0) == pytest.approx(1.470, abs=0.03)
    assert variance(0.005, 1.0) > 1.4


@pytest.mark.slow
def test_a_preconditioner_of_the_current_gradient_has_its_divergence():
    # v fixed and half of the weight on g(x): on N(0, 1) the chain of G^-1 = 1 / (0.1 + sqrt(0.5 + x^2/2)).
    h = 0.1

    def inverse(x):
        return 1 / (0.1 + np.sqrt(0.5 + x**2 / 2))

    def drift(x):
        return -inverse(x) * x - inverse(x) ** 2 * x / (2 * np.sqrt(0.5 + x**2 / 2))

    def variance(h):
        edges = np.linspace(-7, 7, 801)
        x, weights = kernel_law(edges, lambda x: x + h * drift(x), lambda x: np.sqrt(2 * h * inverse(x)))
        return weights @ x**2

    metric = metrics.RMSProp(1.0, jax.grad(NORMAL.log_density), 0.5, 0.1)
    sampler = SGRLD(NORMAL, FLAT, h, metric)
    draws = draw(sampler, jnp.zeros(6), num_draws=200, num_warmup=100, num_chains=100, thin=10)
    assert_means(np.mean(draws**2, axis=2), variance(h))
    assert 2 * variance(h / 4) - variance(h / 2) == pytest.approx(1, abs=0.005)


# --- Fisher scoring

PRECISION = np.array([[1.0, 0.6], [0.6, 2.0]])  # N I, of the posterior N(0, PRECISION^-1)


def scored_data(number=20):
    """Symmetric data whose scores ``PRECISION y / N`` have exactly the covariance ``PRECISION / N``."""
    half = np.random.default_rng(3).normal(size=(number // 2, 2))
    white = np.concatenate([half, -half])
    white = white @ np.linalg.inv(np.linalg.cholesky(white.T @ white / number)).T
    return jnp.asarray(np.sqrt(number) * white @ np.linalg.cholesky(np.linalg.inv(PRECISION)).T)


def gaussian_posterior(prior_precision=0.0, replacement=True):
    weight = PRECISION / 20
    return Minibatch(
        lambda x, y: -0.5 * jnp.einsum("bi,ij,bj->b", y - x, weight, y - x),
        lambda x: -0.5 * prior_precision * jnp.sum(x * x),
        20,
        replacement=replacement,
    )


@pytest.mark.slow  # in CI its step is that of the recipe
@pytest.mark.parametrize("replacement", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("h", [pytest.param(0.2, marks=pytest.mark.slow), 20.0])
@pytest.mark.parametrize("form", ["full", pytest.param("diagonal", marks=pytest.mark.slow)])
def test_fisher_scoring_on_a_gaussian_posterior(form, h, replacement):
    # Full form: exactly the posterior at any step size. Diagonal form: the solution of the step's equation.
    size = 5
    noise_factor = 20 / size * (1 if replacement else 1 - (size - 1) / 19)
    stated_factor = 20 / size * (1 if replacement else 1 - size / 20)
    # Without replacement the sample variance with divisor n - 1 estimates that with divisor N - 1.
    information = PRECISION * (1 if replacement else 20 / 19)
    kept = information if form == "full" else np.diag(np.diag(information))
    matrix = np.linalg.inv((1 + stated_factor) * kept + 2 / h * np.eye(2))
    added = 4 * matrix @ (noise_factor * PRECISION + 2 / h * np.eye(2)) @ matrix
    expected = linalg.solve_discrete_lyapunov(np.eye(2) - 2 * matrix @ PRECISION, added)
    if form == "full" and replacement:
        np.testing.assert_allclose(expected, np.linalg.inv(PRECISION), rtol=1e-9)
    sampler = SGFS(gaussian_posterior(replacement=replacement), FLAT, h, form)
    draws = draw(sampler, jnp.zeros(2), data=scored_data(), batch_size=size, num_draws=500, num_warmup=1000,
                 num_chains=100, thin=2)  # fmt: skip
    assert_means(draws[..., :, None] * draws[..., None, :], expected, slack=5e-4, comparisons=32)


@pytest.mark.slow
def test_fisher_scoring_leaves_out_the_curvature_of_the_prior():
    # In one dimension the variance is too wide by 1 + P / (V + 2B/h - P), as documented.
    data = jnp.asarray(np.sqrt(20) * np.repeat([1.0, -1.0], 10))[:, None]
    prior, h, size = 0.8, 4.0, 5
    estimator = Minibatch(
        lambda x, y: -0.5 / 20 * jnp.sum((y - x) ** 2, axis=-1), lambda x: -0.5 * prior * x[0] ** 2, 20
    )
    draws = draw(SGFS(estimator, FLAT, h), jnp.zeros(1), data=data, batch_size=size, num_draws=500,
                 num_warmup=1000, num_chains=100, thin=3)  # fmt: skip
    expected = (1 + prior / (20 / size + 2 / h - prior)) / (1 + prior)
    assert_means(draws**2, [expected], slack=1e-3)
    assert expected > 1.2 / (1 + prior)
