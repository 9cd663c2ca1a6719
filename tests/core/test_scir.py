"""SCIR and the exponential Ornstein-Uhlenbeck sampler; Baker et al. (2018), sections 2 and 3."""

import importlib.util
import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import geodrift as gd
from cases import KEY
from geodrift.estimators import MinibatchSum, Reference
from geodrift.processes import host_cox_ingersoll_ross, log_simplex
from geodrift.samplers import SCIR, ExponentialOU, HostSCIR
from law_checks import assert_means

ALPHA, N, D = 0.1, 1000, 10
SPARSE = np.array([800, 100, 100, 0, 0, 0, 0, 0, 0, 0])
DATA = jnp.asarray(np.repeat(np.arange(D), SPARSE))


def load_reproduction():
    """The running experiment, as the reproduction has it."""
    path = Path(__file__).parents[2] / "reproductions" / "baker-2018" / "common.py"
    spec = importlib.util.spec_from_file_location("baker_2018_common", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def one_hot(key, position, batch):
    return jax.nn.one_hot(batch, D, dtype=position.dtype)


def variance_of_estimate(batch_size):
    """Var a_hat of minibatches with replacement."""
    p = SPARSE / N
    return N**2 * p * (1 - p) / batch_size


# ---------------------------------------------------------------- section 3, by simulation of the process


def run_scir(rng, theta, a_hats, step_size):
    """Chains from theta with shapes ``[step, chain]``."""
    log_theta = np.full(a_hats.shape[1], np.log(theta))
    for row in a_hats:
        key = jax.random.key(int(rng.integers(2**31)))
        log_theta = host_cox_ingersoll_ross(key, log_theta, row, step_size)
    return np.exp(log_theta)


def test_corollary_3_2():
    theta, a, h, steps, n, p, chains = 50.0, 80.1, 0.1, 30, 10, 0.08, 100_000
    rng = np.random.default_rng(1)
    a_hats = ALPHA + N / n * rng.binomial(n, p, (steps, chains))
    draws = run_scir(rng, theta, a_hats, h)
    decay = np.exp(-steps * h)
    mean = theta * decay + a * (1 - decay)
    process = 2 * theta * (decay - decay**2) + a * (1 - decay) ** 2
    variance = process + (1 - decay**2) * np.tanh(h / 2) * N**2 * p * (1 - p) / n
    assert (mean, process, variance) == pytest.approx((78.6014, 77.05, 443.836), rel=1e-4)
    assert abs(draws.mean() - mean) < 3 * draws.std() / chains**0.5
    kurtosis = ((draws - mean) ** 4).mean() / variance**2
    assert draws.var() == pytest.approx(variance, rel=3 * np.sqrt((kurtosis - 1) / chains))
    # With the shape known the variance is that of the process alone.
    exact = run_scir(rng, theta, np.full((steps, chains), a), h)
    assert exact.var() == pytest.approx(process, rel=3 * np.sqrt(2 / chains) * 1.1)


def moment_generating_function(shapes, theta, s, h, misprinted=False):
    """Theorem 3.1 with a = 0, given the a_hats of steps 1, ..., M."""
    q = 1 - s * (1 - np.exp(-h * np.arange(len(shapes) + 1)))
    exponents = shapes if misprinted else shapes[::-1]
    return np.exp(theta * s * np.exp(-h * len(shapes)) / q[-1]) * np.prod((q[1:] / q[:-1]) ** -exponents)


def test_theorem_3_1_has_its_shapes_in_the_wrong_order():
    shapes, theta, s, h, chains = np.array([0.5, 3.0, 8.0]), 1.5, -0.7, 0.4, 200_000
    rng = np.random.default_rng(2)
    draws = np.exp(s * run_scir(rng, theta, np.repeat(shapes[:, None], chains, axis=1), h))
    error = draws.std() / chains**0.5
    corrected = moment_generating_function(shapes, theta, s, h)
    printed = moment_generating_function(shapes, theta, s, h, misprinted=True)
    assert corrected == pytest.approx(0.10385, abs=5e-6)
    assert printed == pytest.approx(0.287, abs=5e-4)
    assert abs(draws.mean() - corrected) < 3 * error
    assert abs(draws.mean() - printed) > 100 * error


def test_published_inflation_of_the_running_experiment():
    inflation = [1 + np.tanh(h / 2) * variance_of_estimate(10)[0] / 800.1 for h in (1.0, 0.1, 0.05, 0.01)]
    np.testing.assert_allclose(inflation, [10.2, 2.0, 1.5, 1.10], atol=0.05)
    # The rule of the docstring, h < 0.2 n / (N (1 - p)), stands for 10%.
    h = 0.2 * 10 / (N * 0.2)
    assert np.tanh(h / 2) * variance_of_estimate(10)[0] / 800.1 == pytest.approx(0.1, abs=0.001)


# ---------------------------------------------------------------- the samplers


def stationary_start(rng, rows):
    return np.log(rng.gamma(SPARSE + ALPHA, size=(rows, D)) + 1e-300)


def assert_stationary(log_theta, batch_size, step_size, comparisons):
    """Mean and variance of theta ``[chain, draw, d]``, and E log theta of components without data."""
    a = SPARSE + ALPHA
    theta = np.exp(log_theta)
    variance = a + np.tanh(step_size / 2) * variance_of_estimate(batch_size)
    assert_means(theta, a, comparisons=comparisons)
    assert_means((theta - a) ** 2, variance, comparisons=comparisons)
    # Without data a_hat is exact, and so is the whole law.
    assert_means(log_theta[..., 3:], np.full(7, special.digamma(ALPHA)), comparisons=comparisons)


@pytest.mark.slow  # in CI the law of its move, and the driver with others
def test_scir_under_the_driver():
    chains, n, h = 40, 20, 0.4
    sampler = SCIR(MinibatchSum(one_hot, ALPHA, N), h)
    start = gd.PerChain(stationary_start(np.random.default_rng(3), chains))
    draws = gd.sample(
        KEY, sampler, DATA, batch_size=n, num_draws=250, num_warmup=10, num_chains=chains, initial=start
    )
    assert np.all(draws.info.result == gd.Result.OK)
    assert_stationary(draws.position, n, h, comparisons=54)


def rows_of_data(rng, rows, batch_size):
    """A minibatch for each of several chains that are the rows of one position: ``[batch, row]``."""
    return np.asarray(DATA)[rng.integers(N, size=(batch_size, rows))]


@pytest.mark.slow  # SCIR under the driver is in CI
def test_host_scir_has_the_law_of_scir():
    rows, n, h, steps = 60, 20, 0.4, 400
    sampler, rng = HostSCIR(MinibatchSum(one_hot, ALPHA, N), h), np.random.default_rng(4)
    state, draws = sampler.init(KEY, stationary_start(rng, rows)), []
    for count in range(10 + steps):
        state, info = sampler.step(jax.random.fold_in(KEY, count), state, rows_of_data(rng, rows, n))
        draws.append(state.position)
    assert info.result == gd.Result.OK
    assert state.count == 10 + steps
    assert_stationary(np.stack(draws[10:], axis=1), n, h, comparisons=54)


@pytest.mark.slow  # the driver's run and its exact moves have the law in CI
def test_sparse_dirichlet():
    # The bar of the project: mean d_KS of 50 seeds after 1000 steps, of 1000 draws.
    common = load_reproduction()
    shapes, rng = common.SPARSE.shapes, np.random.default_rng(5)
    found = {"exact": common.distance(common.exact(rng, common.SPARSE, 50), shapes).mean()}
    assert found["exact"] <= 0.030
    for n, h, bar in ((10, 0.05, 0.105), (100, 0.1, 0.064)):
        sampler = HostSCIR(MinibatchSum(one_hot, ALPHA, N), h)
        state, draws = sampler.init(KEY, np.log(common.SPARSE.starts(rng, 50))), []
        for key in jax.random.split(jax.random.fold_in(KEY, n), common.BURN_IN + common.STEPS):
            state, _ = sampler.step(key, state, rows_of_data(rng, 50, n))
            draws.append(state.position)
        log_omega = np.asarray(log_simplex(jnp.asarray(np.stack(draws[common.BURN_IN :], axis=1))))
        found[n] = common.distance(log_omega, shapes).mean()
        assert found[n] <= bar, found
    # Noise of the minibatch, and nothing else, keeps it from the exact sampler's.
    assert found["exact"] < found[100] < found[10]
    print(found)


def test_rosenblatt_in_logs_makes_independent_uniforms():
    common = load_reproduction()
    u = common.rosenblatt(common.exact(np.random.default_rng(6), common.SPARSE, 20), common.SPARSE.shapes)
    assert np.all((u >= 0) & (u <= 1))  # the authors' score leaves it for one value in 300
    u = u.reshape(-1, D - 1)
    p = [stats.kstest(column, "uniform").pvalue for column in u.T]
    p += [stats.spearmanr(u[:, i], u[:, j]).pvalue for i, j in itertools.combinations(range(D - 1), 2)]
    assert min(p) > 0.01 / len(p)


def test_exponential_ornstein_uhlenbeck():
    data = jnp.asarray(np.random.default_rng(8).normal(0.3, 2.0, (200, 2)))
    # mu-hat: the batch's mean; its variance with replacement is that of the data over B.
    estimator = MinibatchSum(lambda key, x, batch: batch / 200, 0.0, 200)
    scale, h, n = jnp.array([0.5, 1.2]), 0.8, 4
    sampler = ExponentialOU(estimator, h, scale)
    draws = gd.sample(
        KEY, sampler, data, batch_size=n, num_draws=1500, num_warmup=20, num_chains=60, initial=jnp.zeros(2)
    ).position
    mean = np.asarray(data).mean(axis=0)
    variance = np.asarray(scale) ** 2 + np.tanh(h / 2) * np.asarray(data).var(axis=0) / n
    assert_means(draws, mean, comparisons=4)
    assert_means((draws - mean) ** 2, variance, comparisons=4)


def test_a_schedule_is_followed_and_theta_may_be_zero():
    sampler = HostSCIR(MinibatchSum(one_hot, ALPHA, N), gd.schedules.PolynomialDecay(0.5, b=2.0, c=0.5))
    state = sampler.init(KEY, jnp.full(D, -jnp.inf))
    state = state._replace(count=jnp.asarray(7))
    moved, info = sampler.step(KEY, state, DATA[:50])
    assert info.result == gd.Result.OK
    key_move = jax.random.split(KEY)[1]
    a_hat = ALPHA + N * np.eye(D)[0]
    expected = host_cox_ingersoll_ross(key_move, np.full(D, -np.inf), a_hat, 0.5 / 3)
    np.testing.assert_allclose(moved.position, expected, rtol=1e-12)


@pytest.mark.usefixtures("unchecked_types")
def test_wrong_arguments():
    estimator = MinibatchSum(one_hot, ALPHA, N)
    with pytest.raises(ValueError, match=r"step_size = 0\.0"):
        SCIR(estimator, 0.0)
    with pytest.raises(ValueError, match="scale = "):
        ExponentialOU(estimator, 0.1, -1.0)
    with pytest.raises(ValueError, match="data_size = 0"):
        MinibatchSum(one_hot, ALPHA, 0)
    with pytest.raises(ValueError, match="entries that are NaN"):
        SCIR(estimator, 0.1).init(KEY, jnp.array([0.0, jnp.nan]))
    negative = HostSCIR(MinibatchSum(one_hot, -1.0, N), 0.1)
    _, info = negative.step(KEY, negative.init(KEY, jnp.zeros(D)), DATA)
    assert info.result == gd.Result.NON_FINITE


# ---------------------------------------------------------------- the estimator


def latent_problem(replacement, reference):
    """Five data, allocations that depend on the position, all minibatches of two."""
    weights = jnp.asarray(np.random.default_rng(9).dirichlet(np.ones(3), 5))

    def responsibilities(key, position, batch):
        unnormalised = batch * jnp.exp(position)
        return unnormalised / unnormalised.sum(axis=1, keepdims=True)

    estimator = MinibatchSum(responsibilities, ALPHA, 5, replacement, reference and reference(weights))
    position = jnp.array([0.3, -0.5, 1.0])
    pairs = itertools.product(range(5), repeat=2) if replacement else itertools.combinations(range(5), 2)
    values = [estimator.prepare(KEY, (), position, weights[jnp.array(pair)])[0] for pair in pairs]
    return np.array(values), ALPHA + np.asarray(responsibilities(KEY, position, weights).sum(axis=0))


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("controlled", [True, False])
def test_estimates_are_unbiased_over_all_minibatches(replacement, controlled):
    reference = (lambda weights: Reference(lambda batch: batch, weights.sum(axis=0))) if controlled else None
    values, exact = latent_problem(replacement, reference)
    np.testing.assert_allclose(values.mean(axis=0), exact, rtol=1e-12)


def test_control_variate_reduces_the_variance_and_its_floor_biases():
    plain, _ = latent_problem(True, None)
    controlled, _ = latent_problem(True, lambda w: Reference(lambda batch: batch, w.sum(axis=0)))
    assert np.all(controlled.var(axis=0) < 0.5 * plain.var(axis=0))
    # An allocation far from its reference: a minibatch of such data alone gives a negative shape.
    data = jnp.asarray([[1.0], [0.0], [0.0], [0.0]])
    for lowest, bias in ((-jnp.inf, 0.0), (ALPHA, 1.5)):
        # The datum that the reference puts here is not here now: sum z = 0.
        reference = Reference(lambda batch: batch, jnp.ones(1), lowest)
        estimator = MinibatchSum(lambda key, x, batch: 0 * batch, ALPHA, 4, True, reference)
        values = np.array([estimator.prepare(KEY, (), jnp.zeros(1), row[None])[0] for row in data])
        assert values.min() == pytest.approx(ALPHA - 3 if lowest < 0 else ALPHA)
        assert values.mean() - ALPHA == pytest.approx(bias / 2, abs=1e-12)


def test_no_constant_factor_makes_a_control_variate_positive_and_useful():
    # c + b (sum r - N/n sum_S r) >= 0 for the minibatch of the largest r bounds the factor b: for a component
    # of 100 sure data in 1000 by alpha / (N - 100), 1e-4 at alpha = 0.1, and the variance by its square.
    r = np.repeat([1.0, 0.0], [100, 900])
    largest = ALPHA / (N * r.max() - r.sum())
    assert largest == pytest.approx(1.1e-4, rel=0.02)
    z = r.copy()  # allocations equal to the reference: the best case
    plain, shrunk = N * z, N * z - largest * (N * r - r.sum())
    assert 1 - shrunk.var() / plain.var() < 3e-4


def test_driver_refuses_the_sampler_of_the_host():
    estimator = MinibatchSum(lambda key, position, z: jax.nn.one_hot(z, 3), 0.1, data_size=4)
    match = r"sampler = HostSCIR: .*call sampler.init and sampler.step in a loop .* \(SCIR\)"
    for initial in (jnp.zeros(3), HostSCIR(estimator, 0.1).init(KEY, jnp.zeros(3))):
        with pytest.raises(ValueError, match=match):
            gd.sample(
                KEY, HostSCIR(estimator, 0.1), jnp.arange(4) % 3, batch_size=2, num_draws=1, initial=initial
            )
