"""The von Mises-Fisher law against 30-digit quadrature (see make_reference.py) and in law."""

import csv
import functools
import pathlib

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import stats

from geodrift import distributions
from geodrift.distributions import VonMisesFisher, _compiled
from geodrift.distributions._von_mises_fisher import _log1p_minus

with (pathlib.Path(__file__).parent / "reference.csv").open() as _file:
    _ROWS = list(csv.DictReader(_file))
_DIMENSIONS = sorted({int(row["dim"]) for row in _ROWS})
# Every twelfth, from the circle on; the others in the slow suite.
_some_dimensions = [
    pytest.param(dim, marks=() if place % 12 == 0 else pytest.mark.slow)
    for place, dim in enumerate(_DIMENSIONS)
]


def _reference(dim):
    rows = [row for row in _ROWS if int(row["dim"]) == dim]
    names = ("log_normaliser", "mean_resultant_length", "derivative")
    concentration = np.array([float(row["concentration"]) for row in rows])
    return concentration, *([mpmath.mpf(row[name]) for row in rows] for name in names)


def _errors(values, exact, at_least=0.0):
    """Errors relative to max(at_least, |exact|), taken in high precision; an exact zero wants a zero."""
    errors = [abs(mpmath.mpf(float(v)) - e) for v, e in zip(values, exact, strict=True)]
    scales = [max(mpmath.mpf(at_least), abs(e)) for e in exact]
    return np.array([float(e / s) if s else float(e) for e, s in zip(errors, scales, strict=True)])


@pytest.mark.parametrize("dim", _some_dimensions)
@pytest.mark.parametrize("where", ["jax", "host"])
def test_values_and_slopes_against_quadrature(dim, where):
    concentration, log_c, length, slope = _reference(dim)
    if where == "jax":
        value = jax.jit(distributions.log_normaliser, static_argnums=0)(dim, concentration)
        a = jax.jit(distributions.mean_resultant_length, static_argnums=0)(dim, concentration)
        da = jax.vmap(jax.grad(lambda k: distributions.mean_resultant_length(dim, k)))(concentration)
        dlog_c = jax.vmap(jax.grad(lambda k: distributions.log_normaliser(dim, k)))(concentration)
        np.testing.assert_allclose(dlog_c, -a, rtol=1e-14)
    else:
        value = distributions.host_log_normaliser(dim, concentration)
        a = distributions.host_mean_resultant_length(dim, concentration)
        da = distributions.host_mean_resultant_length_derivative(dim, concentration)
    assert _errors(value, log_c, at_least=1.0).max() < 1e-11
    assert _errors(a, length).max() < 1e-14
    assert _errors(da, slope).max() < 1e-11


@pytest.mark.parametrize("dim", _some_dimensions)
def test_float32_accuracy_is_as_documented(dim):
    concentration, log_c, length, _ = _reference(dim)
    # 1e-300 is zero in float32, and the table holds no values at other rounded concentrations.
    keep = (concentration.astype(np.float32) == concentration) & (concentration != 1e-300)
    single = jnp.asarray(concentration[keep], jnp.float32)
    value = distributions.log_normaliser(dim, single)
    a = distributions.mean_resultant_length(dim, single)
    assert value.dtype == a.dtype == jnp.float32
    exact = [e for e, k in zip(log_c, keep, strict=True) if k]
    errors = _errors(value, exact) * np.array([abs(float(e)) for e in exact])
    allowed = 2e-6 * np.array([abs(float(e)) for e in exact]) + 5e-6 + 2e-8 * dim
    assert (errors <= allowed).all()
    assert _errors(a, [e for e, k in zip(length, keep, strict=True) if k]).max() < 1e-6


@pytest.mark.slow
def test_second_derivative_of_the_mean_resultant_length():
    with mpmath.workdps(50):

        def exact(dim, k):
            return mpmath.besseli(mpmath.mpf(dim) / 2, k) / mpmath.besseli(mpmath.mpf(dim) / 2 - 1, k)

        for dim, k in ((2, 1.5), (3, 40.0), (17, 0.5), (200, 90.0)):
            second = jax.grad(jax.grad(lambda x, dim=dim: distributions.mean_resultant_length(dim, x)))(k)
            difference = mpmath.diff(lambda x, dim=dim: exact(dim, x), mpmath.mpf(k), 2)
            assert abs(float(second) / float(difference) - 1) < 1e-9


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("dim", [0, 1, -3, 2.5, "3"])
def test_a_dimension_below_two_is_refused(dim):
    for function in (distributions.log_normaliser, distributions.host_mean_resultant_length):
        with pytest.raises(ValueError, match="dim must be a whole number of at least 2"):
            function(dim, 1.0)


@pytest.mark.parametrize("dim", [2, 3, 50, 5000, 1_000_000])
def test_host_concentration_inverts_the_mean_resultant_length(dim):
    for relative in (1e-3, 0.2, 1.0, 30.0):
        length = float(distributions.host_mean_resultant_length(dim, relative * dim))
        # d kappa / kappa = dA / (kappa A'): rounding of the length moves the concentration by this much.
        slope = float(distributions.host_mean_resultant_length_derivative(dim, relative * dim))
        allowed = 1e-12 + 4e-16 * length / (relative * dim * slope)
        assert abs(distributions.host_concentration(dim, length) / (relative * dim) - 1) < allowed


# -------------------------------------------------------------------------------- the sampler

_LAWS = [(2, 0.0), (2, 0.7), (2, 1e8), (3, 1e-3), (3, 20.0), (5, 1e4), (50, 35.0), (1000, 3e3), (10_000, 0.0)]
_LAWS += [(10_000, 2e4), (10_000, 1e8)]
_NUM_DRAWS = {10_000: 500, 1000: 2000}
# Six comparisons a law in float64 and two in float32, 1% family-wise over all of them.
_LEVEL = 0.01 / (8 * len(_LAWS))


def _some(*laws):
    """All laws, the others in the slow suite."""
    return [pytest.param(*law, marks=() if law in laws else pytest.mark.slow) for law in _LAWS]


def _mean_direction(dim, dtype):
    mean = np.random.default_rng(dim).normal(size=dim)
    return jnp.asarray(mean / np.linalg.norm(mean), dtype)


@functools.cache
def _height_distribution(dim, concentration):
    """CDF of u = 1 - mu'x, whose density is exp(-kappa u) (u (2 - u))^((d-3)/2)."""
    slope = dim - 1.0
    w = 2 * concentration / (slope + np.hypot(slope, 2 * concentration))
    s0 = np.arctanh(w) if w < 0.9 else 0.5 * np.log(2 * (2 * concentration) / slope)
    width = (
        min(1.0, 1 / np.sqrt(slope * (1 - w) * (1 + w) + 1e-300)) if w < 0.9 else min(1.0, 2 / np.sqrt(slope))
    )
    s = s0 + width * np.linspace(-45, 45, 60_001)
    u = 2 / (1 + np.exp(np.minimum(2 * s, 700)))
    log_density = -concentration * u - slope * (np.logaddexp(s, -s) - np.log(2))
    density = np.exp(log_density - log_density.max())
    cumulative = np.cumsum(density)
    cumulative /= cumulative[-1]

    def cdf(x):
        x = np.clip(x, 1e-15, 2 - 1e-15)  # rounding of a float32 draw may leave [0, 2]
        return 1 - np.interp(0.5 * (np.log(2 - x) - np.log(x)), s, cumulative)

    return cdf


# One program for all concentrations of a dimension.
_compiled_sample = jax.jit(distributions.sample, static_argnums=3)


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize(("dim", "concentration"), _some((5, 1e4)))
def test_draws_have_the_law(dim, concentration):
    mean = _mean_direction(dim, jnp.float64)
    n = _NUM_DRAWS.get(dim, 10_000)
    x = np.asarray(_compiled_sample(jax.random.key(dim), mean, concentration, (n,)))
    mu = np.asarray(mean)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, atol=1e-12)
    u = 0.5 * np.sum((x - mu) ** 2, axis=1)  # 1 - mu'x with its digits kept
    threshold = stats.norm.isf(_LEVEL / 2)
    expected = 1 - float(distributions.host_mean_resultant_length(dim, concentration))
    variance = float(distributions.host_mean_resultant_length_derivative(dim, concentration))
    # 1 - A as a float64 difference has an error of 1e-16, which at kappa = 1e8 is 1e-8 of its value: far
    # below the noise.
    assert abs(u.mean() - expected) < threshold * np.sqrt(variance / n)
    error_of_variance = np.sqrt((np.mean((u - u.mean()) ** 4) - variance**2) / n)
    assert abs(u.var(ddof=1) - variance) < threshold * error_of_variance
    assert stats.kstest(u, _height_distribution(dim, concentration)).pvalue > _LEVEL
    # Across the mean: two coordinates are uncorrelated with the height, have variance 1/(d-1), and no mean.
    across = x - (1 - u[:, None]) * mu
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    basis = np.linalg.svd(mu[None])[2][1] if dim <= 50 else np.eye(dim)[3] - mu[3] * mu
    basis /= np.linalg.norm(basis)
    coordinate = across @ basis
    assert abs(coordinate.mean()) < threshold / np.sqrt(n * (dim - 1))
    assert abs(np.corrcoef(coordinate**2 if dim > 2 else coordinate, u)[0, 1]) < threshold / np.sqrt(n)
    if dim == 2:
        np.testing.assert_allclose(np.abs(coordinate), 1, atol=1e-6)
    else:
        beta = stats.beta(
            0.5, (dim - 2) / 2
        )  # law of the square of one coordinate of a uniform direction in R^(d-1)
        assert stats.kstest(coordinate**2, beta.cdf).pvalue > _LEVEL


@pytest.mark.slow  # the law of draws in float64, and float32's accuracy, are in CI
@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize(("dim", "concentration"), _some((10_000, 2e4)))
def test_float32_draws_have_the_law_of_the_height(dim, concentration):
    mean = _mean_direction(dim, jnp.float32)
    n = _NUM_DRAWS.get(dim, 10_000)
    x = _compiled_sample(jax.random.key(dim + 1), mean, concentration, (n,))
    assert x.dtype == jnp.float32
    u = 0.5 * np.sum((np.asarray(x, np.float64) - np.asarray(mean, np.float64)) ** 2, axis=1)
    expected = 1 - float(distributions.host_mean_resultant_length(dim, concentration))
    variance = float(distributions.host_mean_resultant_length_derivative(dim, concentration))
    # Rounding of the coordinates: |x - mu| is off by up to 2e-7, u by 2e-7 |x - mu|.
    rounding = 2e-7 * np.sqrt(2 * expected) + 2e-14
    assert abs(u.mean() - expected) < stats.norm.isf(_LEVEL / 2) * np.sqrt(variance / n) + rounding
    if concentration < 1e8:
        assert stats.kstest(u, _height_distribution(dim, concentration)).pvalue > _LEVEL


@pytest.mark.parametrize("dim", [2, 3, 4, 50])
def test_the_compiled_constant_and_ratio_are_those_of_bessel_functions(dim):
    """In three dimensions they have a closed form, and a series below a square of 0.05."""
    concentrations = [1e-6, 0.01, 0.2236, 0.2237, 0.7, 3.0, 40.0, 700.0]
    found = [_compiled.log_normaliser_of_square(k * k, *_compiled.debye_table(dim)) for k in concentrations]
    with mpmath.workdps(50):
        for concentration, told in zip(concentrations, found, strict=True):
            k, nu = mpmath.mpf(concentration), mpmath.mpf(dim) / 2 - 1
            log_c = nu * mpmath.log(k) - (nu + 1) * mpmath.log(2 * mpmath.pi)
            log_c -= mpmath.log(mpmath.besseli(nu, k))
            ratio = mpmath.besseli(nu + 1, k) / mpmath.besseli(nu, k) / k
            assert abs(told[0] - log_c) < 1e-13 * max(1, abs(log_c))
            assert abs(told[1] / ratio - 1) < 2e-14


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_log_of_the_acceptance_ratio_keeps_its_digits(dtype):
    y = np.array([-0.9, -0.011, -0.0099, -1e-3, -1e-6, 0.0, 1e-9, 2e-4, 0.0099, 0.0101, 0.3, 50.0], dtype)
    with mpmath.workdps(50):
        exact = [mpmath.log1p(mpmath.mpf(float(v))) - mpmath.mpf(float(v)) for v in y]
    # The branch without the series loses the digits of 1 / y at worst, a factor 200 at |y| = 0.01.
    assert _errors(_log1p_minus(jnp.asarray(y)), exact).max() < 400 * np.finfo(dtype).eps


@pytest.mark.slow  # in CI the draws' law
def test_batches_of_laws_broadcast_and_are_independent():
    means = jnp.eye(3)[:2]
    x = distributions.sample(jax.random.key(5), means, jnp.array([5.0, 500.0]), (4000,))
    assert x.shape == (4000, 2, 3)
    lengths = np.einsum("nbd,bd->nb", x, means).mean(axis=0)
    for length, kappa in zip(lengths, (5.0, 500.0), strict=True):
        variance = float(distributions.host_mean_resultant_length_derivative(3, kappa))
        assert abs(length - float(distributions.host_mean_resultant_length(3, kappa))) < 4 * np.sqrt(
            variance / 4000
        )
    assert abs(np.corrcoef(x[:, 0, 2], x[:, 1, 2])[0, 1]) < 4 / np.sqrt(4000)


def test_draws_have_unit_norm_where_the_mean_has_three_digits():
    means = jnp.array([[0.577, 0.577, 0.577], [0.0, 0.6, 0.7991]])
    x = distributions.sample(jax.random.key(0), means, 0.5, (200,))
    np.testing.assert_allclose(np.linalg.norm(x, axis=-1), 1, rtol=1e-12)


def test_a_concentration_that_is_not_finite_ends_and_shows_in_the_draw():
    x = jax.jit(distributions.sample)(jax.random.key(0), jnp.array([1.0, 0.0]), jnp.nan)
    assert np.isnan(x).all()


# ----------------------------------------------------------------------------- fit and density


@pytest.mark.slow  # that the fit is the maximum of the likelihood is in CI
@pytest.mark.parametrize(
    ("dim", "concentration"),
    [
        pytest.param(2, 3.0, marks=pytest.mark.slow),
        pytest.param(3, 1e6, marks=pytest.mark.slow),
        (40, 100.0),
        pytest.param(3000, 6e3, marks=pytest.mark.slow),
    ],
)
def test_fit_recovers_the_law(dim, concentration):
    n = 2000
    mean = _mean_direction(dim, jnp.float64)
    law = VonMisesFisher.fit(VonMisesFisher(mean, concentration).sample(jax.random.key(dim), (n,)))
    slope = float(distributions.host_mean_resultant_length_derivative(dim, concentration))
    # sqrt(n) (kappa_hat - kappa) -> N(0, 1 / A'), with a bias of (d - 1) kappa / n from the free mean
    # direction at large kappa.
    error = float(law.concentration) - concentration
    assert abs(error) < 4 / np.sqrt(n * slope) + 1.2 * (dim - 1) / n * concentration
    assert float(mean @ law.mean) > 1 - 3 * dim / (n * concentration)


@pytest.mark.slow  # in CI the values and slopes that it takes
def test_fit_maximises_the_weighted_likelihood():
    x = distributions.sample(jax.random.key(3), _mean_direction(6, jnp.float64), 4.0, (50,))
    weights = np.random.default_rng(0).uniform(size=50)
    mean, concentration = distributions.fit(x, weights)

    def likelihood(mean, log_concentration):
        law = VonMisesFisher(mean / jnp.linalg.norm(mean), jnp.exp(log_concentration))
        return jnp.sum(weights * law.log_prob(x)) / weights.sum()

    gradients = jax.grad(likelihood, argnums=(0, 1))(jnp.asarray(mean), jnp.log(concentration))
    assert max(float(jnp.abs(g).max()) for g in gradients) < 1e-10
    np.testing.assert_allclose(
        distributions.fit(np.repeat(x, 2, axis=0)).concentration, distributions.fit(x).concentration
    )


def test_density_integrates_to_one_on_the_circle_and_matches_the_definition():
    angle = 2 * np.pi * np.arange(4000) / 4000
    law = VonMisesFisher(jnp.array([0.6, 0.8]), 30.0)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert abs(np.exp(law.log_prob(points)).mean() * 2 * np.pi - 1) < 1e-12
    x = law.sample(jax.random.key(1), (5,))
    expected = distributions.log_normaliser(2, 30.0) + 30.0 * (x @ law.mean)
    np.testing.assert_allclose(law.log_prob(x), expected, rtol=1e-12)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("x", "weights", "message"),
    [
        (np.zeros((0, 3)), None, "shape"),
        (np.ones(3), None, "shape"),
        (np.ones((2, 3)), None, "unit norm"),
        (np.array([[np.nan, 1.0]]), None, "unit norm"),
        (np.array([[0.0, 1.0], [0.0, -1.0]]), None, "undefined"),
        (np.array([[0.0, 1.0], [0.0, 1.0]]), None, "coincide"),
        (np.array([[0.0, 1.0]]), None, "coincide"),
        (np.eye(2), [0.0, 0.0], "weights"),
        (np.eye(2), [1.0, -1.0], "weights"),
        (np.eye(2), [1.0], "weights"),
    ],
)
def test_degenerate_input_to_fit_is_refused(x, weights, message):
    with pytest.raises(ValueError, match=message):
        distributions.fit(x, weights)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("mean", "concentration", "message"),
    [
        ([1.0], 1.0, "shape"),
        (1.0, 1.0, "shape"),
        ([1.0, 1.0], 1.0, "unit norm"),
        ([np.nan, 1.0], 1.0, "unit norm"),
        ([1.0, 0.0], -1.0, "concentration"),
        ([1.0, 0.0], np.inf, "concentration"),
    ],
)
def test_bad_parameters_are_refused(mean, concentration, message):
    with pytest.raises(ValueError, match=message):
        VonMisesFisher(mean, concentration)
