"""Exact moves against their transition laws, on both backends."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from scipy import special, stats

from cases import KEY
from geodrift.kernels._cox_ingersoll_ross import WORTH_THREADS, normals
from geodrift.kernels._gamma import _log_acceptance, _squeeze, gamma
from geodrift.kernels._normal_exponential import (
    _EXPONENTIAL_HEIGHT,
    _EXPONENTIAL_WIDTH,
    _NORMAL_HEIGHT,
    _NORMAL_WIDTH,
    _exponential_edge,
    _normal_edge,
    exponential,
)
from geodrift.kernels._poisson import _log_probability, poisson
from geodrift.kernels._random_streams import open_family, open_member
from geodrift.processes import (
    cox_ingersoll_ross,
    host_cox_ingersoll_ross,
    host_ornstein_uhlenbeck,
    log_simplex,
    ornstein_uhlenbeck,
)
from geodrift.processes._gamma import log_gamma
from geodrift.processes._poisson import poisson as jax_poisson
from law_checks import z_bound

# Of every way through the kernel: no Poisson, arrivals, inversion, rejection, non-central.
SHAPES = [0.01, 0.1, 0.49, 0.51, 0.8, 1.0, 1.6, 10.0, 1000.0]
NONCENTRALITIES = [1e-3, 0.1, 1.0, 8.0, 30.0, 200.0, 1e4, 1e6]
DRAWS = 4000


def start_of(noncentrality, step_size):
    """log theta at which nc = 2 theta / (e^h - 1)."""
    return np.log(noncentrality / 2 * np.expm1(step_size))


def uniforms(log_theta, shape, noncentrality, step_size):
    """The transition's distribution function at draws, eq. 2.2: uniform if the draws are right."""
    x = np.exp(log_theta - np.log(-np.expm1(-step_size)))
    u = stats.ncx2.cdf(2 * x, 2 * shape, noncentrality)
    if noncentrality > 2:
        return u
    # Of the sum over N only N = 0 is left where x is small, and x may underflow.
    log_x = log_theta - np.log(-np.expm1(-step_size))
    small = np.exp(shape * np.minimum(log_x, 0) - special.gammaln(shape + 1) - noncentrality / 2)
    return np.where(log_x < -30, small, u)


def assert_uniform(samples, names, comparisons=None):
    """Kolmogorov-Smirnov of every row, at a family-wise error of 1%."""
    p = np.array([stats.kstest(row, "uniform").pvalue for row in samples])
    worst = int(np.argmin(p))
    assert p[worst] > 0.01 / (comparisons or len(p)), f"{names[worst]}: p = {p[worst]:.1e}"


_compiled = jax.jit(cox_ingersoll_ross)
_SIZE = 144_000


def jax_moves(log_theta, shape, step_size, dtype=jnp.float64):
    """JAX moves of any array of up to 144,000 entries, all by one program."""
    rows = np.broadcast_arrays(log_theta, shape, step_size)
    arguments = (jnp.asarray(np.resize(x, _SIZE), dtype) for x in rows)
    draws = _compiled(KEY, *arguments)
    assert draws.dtype == dtype
    return np.asarray(draws, np.float64)[: rows[0].size].reshape(rows[0].shape)


GRID = [(a, nc) for a in SHAPES for nc in NONCENTRALITIES]


def test_host_move_has_the_noncentral_chi_square_law():
    samples = []
    for i, (a, nc) in enumerate(GRID):
        h = (0.01, 0.3, 3.0)[i % 3]
        start = np.full(DRAWS, start_of(nc, h))
        draws = host_cox_ingersoll_ross(jax.random.fold_in(KEY, i), start, a, h)
        samples.append(uniforms(draws, a, nc, h))
    assert_uniform(samples, GRID)


@pytest.mark.slow
def test_host_move_has_the_noncentral_chi_square_law_at_length():
    samples = []
    for i, (a, nc) in enumerate(GRID):
        start = np.full(200_000, start_of(nc, 0.1))
        draws = host_cox_ingersoll_ross(jax.random.fold_in(KEY, 1000 + i), start, a, 0.1)
        samples.append(uniforms(draws, a, nc, 0.1))
    assert_uniform(samples, GRID)


@pytest.mark.slow
def test_jax_move_has_the_same_law_as_the_host_move():
    h = 0.3
    a, nc = (np.array(column)[:, None] for column in zip(*GRID, strict=True))
    start = np.broadcast_to(start_of(nc, h), (len(GRID), 2000))
    draws = jax_moves(start, a, h)
    rows = [uniforms(draws[i], *GRID[i], h) for i in range(len(GRID))]
    assert_uniform(rows, GRID, comparisons=2 * len(GRID))
    host = host_cox_ingersoll_ross(KEY, start, a, h)
    p = np.array([stats.ks_2samp(draws[i], host[i]).pvalue for i in range(len(GRID))])
    assert p.min() > 0.01 / (2 * len(GRID)), GRID[int(np.argmin(p))]


def gamma_uniforms(log_draws, shape):
    """The Gamma distribution function, in logs where the draws underflow."""
    small = np.exp(shape * np.minimum(log_draws, 0) - special.gammaln(shape + 1))
    return np.where(log_draws < -30, small, special.gammainc(shape, np.exp(np.maximum(log_draws, -700))))


TINY = [1e-4, 1e-3, 0.01, 0.05, 0.1, 1.0, 3.0]


@pytest.mark.parametrize("backend", ["host", pytest.param("float64", marks=pytest.mark.slow), "float32"])
def test_gamma_law_from_zero_for_tiny_shapes(backend):
    # No state absorbs: from theta = 0 the move is (1 - e^-h) Gamma(a), in logs to 1e-30000 and beyond.
    h, shapes = 0.2, np.array(TINY)[:, None]
    start = np.full((len(TINY), 20_000), -np.inf)
    if backend == "host":
        draws = host_cox_ingersoll_ross(KEY, start, shapes, h)
    else:
        draws = jax_moves(start, shapes, h, backend)
    draws = draws - np.log(-np.expm1(-h))
    rows = [gamma_uniforms(row, a) for row, a in zip(draws, TINY, strict=True)]
    assert_uniform(rows, TINY, comparisons=3 * len(TINY))
    # How small: log10 of the 0.1%, 1% and 50% quantiles.
    table = {1e-4: (-30017, -19961, -3010), 0.01: (-301, -200, -30), 0.1: (-30, -20, -3.2)}
    for a, expected in table.items():
        found = np.quantile(draws[TINY.index(a)], [0.001, 0.01, 0.5]) / np.log(10)
        # The relative error of a quantile at p of n draws: 1 / sqrt(n p) over log(1 / p).
        np.testing.assert_allclose(found, expected, rtol=0.1)


def moments(log_draws):
    """Mean and variance of theta, with standard errors."""
    x = np.exp(log_draws)
    mean, variance = x.mean(), x.var()
    kurtosis = ((x - mean) ** 4).mean() / variance**2
    return (mean, x.std() / len(x) ** 0.5), (variance, variance * np.sqrt((kurtosis - 1) / len(x)))


@pytest.mark.slow  # the law of its moves is in CI
def test_host_move_has_the_moments_of_the_process():
    # Sharper than a distribution function where a shape is off by a little.
    h, bound = 0.3, z_bound(2 * len(GRID))
    for i, (a, nc) in enumerate(GRID):
        start = np.full(100_000, start_of(nc, h))
        theta, forget = np.exp(start[0]), -np.expm1(-h)
        draws = host_cox_ingersoll_ross(jax.random.fold_in(KEY, 500 + i), start, a, h)
        (m, m_error), (v, v_error) = moments(draws)
        assert abs(m - theta * np.exp(-h) - a * forget) < bound * m_error, (a, nc)
        assert abs(v - 2 * theta * np.exp(-h) * forget - a * forget**2) < bound * v_error, (a, nc)


FLOAT32_LIMITS = [(1.0, 0.1, 1e-8), (1.0, 5.0, 1e-6), (100.0, 0.3, 1e-8), (1e6, 2.0, 0.1), (1e-3, 1e-3, 1e-3)]


def test_float32_at_its_limits():
    # Means of 1e8 and 1e10 are beyond 32-bit counts, and 1 - exp(-1e-8) is 0 in float32.
    theta, a, h = (np.array(column)[:, None] for column in zip(*FLOAT32_LIMITS, strict=True))
    start = np.log(np.broadcast_to(theta, (len(FLOAT32_LIMITS), 28_000)))
    draws = jax_moves(start, a, h, jnp.float32)
    bound = z_bound(4 * len(FLOAT32_LIMITS))
    for i, (theta, a, h) in enumerate(FLOAT32_LIMITS):
        decay, forget = np.exp(-h), -np.expm1(-h)
        exact = np.exp(np.float64(np.float32(np.log(theta))))
        mean = exact * decay + a * forget
        variance = 2 * exact * decay * forget + a * forget**2
        (m, m_error), (v, v_error) = moments(draws[i])
        # Roundings of log theta, of log h and of the log of a Gamma draw of about theta / h.
        resolution = mean * 6e-8 * (1 + 2 * abs(np.log(theta)) + 2 * abs(np.log(h)))
        assert abs(m - mean) < bound * m_error + resolution, FLOAT32_LIMITS[i]
        assert abs(v - variance) < bound * v_error + resolution**2, FLOAT32_LIMITS[i]


def test_host_move_far_beyond_64_bit_counts():
    # nc of 2e20, where NumPy's own sampler returns about 0.
    for a in (0.2, 3.0):
        theta, h = 1e14, 1e-6
        draws = host_cox_ingersoll_ross(KEY, np.full(40_000, np.log(theta)), a, h)
        spread = np.sqrt(2 * h * np.exp(-h) / theta)
        z = (np.expm1(draws - np.log(theta)) - np.expm1(-h)) / spread
        assert stats.kstest(z, "norm").pvalue > 0.005


@numba.njit
def _fill(kind, argument, family, out):
    for i in range(out.shape[0]):
        stream = open_member(family, i)
        if kind == 0:
            out[i] = exponential(stream)[0]
        elif kind == 1:
            out[i] = gamma(argument, stream)[0]
        else:
            out[i] = poisson(argument, stream)[0]


def kernel_draws(kind, argument, size=1_000_000, seed=1):
    out = np.empty(size)
    _fill(
        {"exponential": 0, "gamma": 1, "poisson": 2}[kind], argument, np.uint64(open_family(seed, 0, 0)), out
    )
    return out


def test_ziggurats():
    for width, height in ((_NORMAL_WIDTH, _NORMAL_HEIGHT), (_EXPONENTIAL_WIDTH, _EXPONENTIAL_HEIGHT)):
        # The layers have one area, and the uppermost ends at the mode.
        area = width[1:-1] * np.diff(height[1:])
        np.testing.assert_allclose(area, width[0] * height[1], rtol=1e-9)
        assert height[-1] == 1
    # A wedge or a tail that is wrong shifts the distribution function by less than 1%: many draws are needed.
    z, e = normals(3_000_000, 5), kernel_draws("exponential", 0.0, 3_000_000)
    assert stats.kstest(z, "norm").pvalue > 0.001
    assert stats.kstest(e, "expon").pvalue > 0.001
    for draws, law, edges in (
        (np.abs(z), stats.halfnorm, (3.0, 3.5, 3.66, 4.0)),
        (e, stats.expon, (6, 7.5, 7.7, 9)),
    ):
        expected = len(draws) * np.diff([*law.cdf(edges), 1])
        found = np.histogram(draws, [*edges, np.inf])[0]
        assert (
            stats.chisquare(
                [*found, len(draws) - found.sum()], [*expected, len(draws) - expected.sum()]
            ).pvalue
            > 0.001
        )


@pytest.mark.parametrize(
    ("edge", "width", "density"),
    [
        (_normal_edge, _NORMAL_WIDTH, lambda x: np.exp(-0.5 * x**2)),
        (_exponential_edge, _EXPONENTIAL_WIDTH, lambda x: np.exp(-x)),
    ],
)
def test_wedges_of_the_ziggurats(edge, width, density):
    # A wedge that takes all is 1% of the draws spread over all of them: no test of those sees it.
    for layer in (1, 40, 150, 254):
        x = 0.3 * width[layer] + 0.7 * width[layer + 1]
        low, high = density(width[layer]), density(width[layer + 1])
        share = (density(x) - low) / (high - low)
        streams = np.random.default_rng(layer).integers(2**63, size=4000, dtype=np.uint64)
        taken = sum(edge(layer, x, stream)[0] for stream in streams)
        assert stats.binomtest(int(taken), len(streams), share).pvalue > 0.01 / 8


@pytest.mark.parametrize("shape", [1.0, 1.01, 1.5, 3.0, 40.0, 1e9])
def test_gamma_kernel(shape):
    draws = kernel_draws("gamma", shape)
    assert stats.kstest(draws, stats.gamma(shape).cdf).pvalue > 0.01 / 6


def test_squeeze_of_the_gamma_kernel_lies_below_what_it_stands_for():
    # A squeeze that is too wide takes too much by less than a million draws tell.
    for shape in (1.0, 1.01, 1.5, 3.0, 40.0, 1000.0):
        d = shape - 1 / 3
        x = np.linspace(-0.75 * np.sqrt(9 * d), 12, 4001)[1:] if d < 28 else np.linspace(-12, 12, 4001)
        y = x / np.sqrt(9 * d)
        squeeze = np.array([_squeeze(a, b * b, 1 / (9 * d)) for a, b in zip(y, x, strict=True)])
        probability = np.exp([_log_acceptance(a, b * b, d) for a, b in zip(y, x, strict=True)])
        v = (1 + y) ** 3
        np.testing.assert_allclose(np.log(probability), x * x / 2 + d * (1 - v + np.log(v)), atol=1e-10)
        assert np.all(squeeze <= probability + 1e-12)
        # What it leaves to the logarithms is little.
        left = np.minimum(probability - np.maximum(squeeze, 0), 1) @ stats.norm.pdf(x) * (x[1] - x[0])
        assert left < 0.025


@pytest.mark.slow  # in CI the Poisson law that is drawn with it
def test_log_gamma_in_jax():
    # Enough draws to see an acceptance test that takes all, which is wrong by 1% at shapes near 1.
    shapes = np.array([0.3, 1.0, 1.5])
    draws = jax.jit(log_gamma)(KEY, jnp.broadcast_to(shapes[:, None], (3, 400_000)))
    rows = [gamma_uniforms(row, a) for row, a in zip(np.asarray(draws), shapes, strict=True)]
    assert_uniform(rows, shapes)


def poisson_p_value(draws, mean):
    """Chi-square of the counts, tails pooled."""
    law = stats.poisson(mean)
    low, high = law.ppf(1e-4), law.ppf(1 - 1e-4)
    width = max(1, int((high - low) // 60))
    edges = np.arange(low, high, width)
    found = np.histogram(draws, [-np.inf, *(edges + 0.5), np.inf])[0]
    expected = len(draws) * np.diff([0, *law.cdf(edges), 1])
    return stats.chisquare(found, expected).pvalue


MEANS = [0.01, 0.7, 1.3, 5.0, 9.99, 10.0, 13.0, 70.0, 3e3, 1e6]


def test_poisson_kernel():
    for mean in MEANS:
        assert poisson_p_value(kernel_draws("poisson", mean, seed=2), mean) > 0.01 / len(MEANS), mean


@pytest.mark.parametrize("dtype", [pytest.param("float64", marks=pytest.mark.slow), "float32"])
def test_poisson_in_jax(dtype):
    means = jnp.asarray([m for m in MEANS if m < 1e5], dtype)[:, None]
    draws = jax.jit(jax_poisson)(KEY, jnp.broadcast_to(means, (means.shape[0], 100_000)))
    for row, mean in zip(np.asarray(draws), np.asarray(means, np.float64)[:, 0], strict=True):
        assert poisson_p_value(row, mean) > 0.01 / (2 * len(means)), mean


def test_poisson_log_probability_keeps_its_digits():
    for mean in (12.0, 1e4, 1e9, 1e15):
        k = np.floor(mean + np.array([-3, -1, 0, 2, 4]) * mean**0.5)
        found = [_log_probability(x, mean) for x in k]
        if mean < 1e5:
            np.testing.assert_allclose(found, stats.poisson(mean).logpmf(k), rtol=1e-9)
        else:  # Edgeworth: the normal density with its skewness
            z = (k - mean) / mean**0.5
            normal = -0.5 * z**2 - 0.5 * np.log(2 * np.pi * mean) + (z**3 - 3 * z) / (6 * mean**0.5)
            np.testing.assert_allclose(found, normal, atol=3e-6)


def test_host_draws_do_not_depend_on_the_number_of_threads_or_the_array():
    start = np.log(np.random.default_rng(0).gamma(0.3, size=2 * WORTH_THREADS) + 1e-9)
    shape = np.linspace(0.05, 2, start.size)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        alone = host_cox_ingersoll_ross(KEY, start, shape, 0.1)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(alone, host_cox_ingersoll_ross(KEY, start, shape, 0.1))
    half = start.size // 2
    np.testing.assert_array_equal(alone[:half], host_cox_ingersoll_ross(KEY, start[:half], shape[:half], 0.1))
    folded = host_cox_ingersoll_ross(KEY, start.reshape(2, -1), shape.reshape(2, -1), 0.1)
    np.testing.assert_array_equal(alone, folded.ravel())
    assert not np.array_equal(alone, host_cox_ingersoll_ross(jax.random.key(1), start, shape, 0.1))


def test_two_moves_are_one_of_twice_the_time():
    # Chapman and Kolmogorov, which a wrong step size in either place would break.
    start = np.full(200_000, np.log(2.0))
    half = host_cox_ingersoll_ross(jax.random.key(1), start, 0.4, 0.25)
    twice = host_cox_ingersoll_ross(jax.random.key(2), half, 0.4, 0.25)
    assert stats.kstest(uniforms(twice, 0.4, 4 / np.expm1(0.5), 0.5), "uniform").pvalue > 0.005


def test_square_root_is_a_langevin_diffusion():
    # Theorem 2.1: U = 2 sqrt(theta) has drift (2a - 1)/U - U/2 and dispersion sqrt 2.
    a, u, h = 3.0, 2.5, 1e-3
    draws = host_cox_ingersoll_ross(KEY, np.full(1_000_000, 2 * np.log(u / 2)), a, h)
    change = 2 * np.exp(0.5 * draws) - u
    error = change.std() / 1e3 / h
    assert abs(change.mean() / h - ((2 * a - 1) / u - u / 2)) < 4 * error + 5 * h
    assert change.var() / (2 * h) == pytest.approx(1, abs=4 * 2**0.5 / 1e3 + 2 * h)


@pytest.mark.parametrize("move", [ornstein_uhlenbeck, host_ornstein_uhlenbeck])
def test_ornstein_uhlenbeck(move):
    x, mean, scale, h = np.full(200_000, 3.0), -1.0, 0.7, 0.4
    draws = np.asarray(move(jax.random.key(3), jnp.asarray(x), mean, scale, h))
    exact = stats.norm(mean + 4 * np.exp(-h), scale * np.sqrt(1 - np.exp(-2 * h)))
    assert stats.kstest(draws, exact.cdf).pvalue > 0.005
    rows = np.asarray(
        move(KEY, jnp.zeros((2, 3)), jnp.array([[1e6], [0.0]]), jnp.array([0.0, 0.0, 1e-3]), 50.0)
    )
    np.testing.assert_allclose(rows, [[1e6] * 3, [0] * 3], atol=0.01)


def test_log_simplex_keeps_what_underflows():
    log_omega = log_simplex(jnp.array([[0.0, -3000.0, np.log(3.0)], [-1e4, -1e4, -np.inf]]))
    np.testing.assert_allclose(log_omega[0], [-np.log(4), -3000 - np.log(4), np.log(0.75)], rtol=1e-12)
    np.testing.assert_allclose(log_omega[1], [-np.log(2), -np.log(2), -np.inf])


def test_wrong_arguments():
    with pytest.raises(ValueError, match=r"step_size = 0\.0"):
        host_cox_ingersoll_ross(KEY, np.zeros(3), 1.0, 0.0)
    with pytest.raises(ValueError, match=r"shape has shape \(2,\)"):
        host_cox_ingersoll_ross(KEY, np.zeros(3), np.ones(2), 0.1)
    with pytest.raises(ValueError, match=r"scale has shape \(2,\)"):
        host_ornstein_uhlenbeck(KEY, np.zeros(3), 0.0, np.ones(2), 0.1)
    shapes, start = np.array([0.0, -1.0, np.inf, np.nan, 1.0, 1.0]), np.array([0, 0, 0, 0, np.nan, np.inf])
    assert np.all(np.isnan(host_cox_ingersoll_ross(KEY, start, shapes, 0.1)))
    assert np.all(np.isnan(jax_moves(start, shapes, 0.1)))
