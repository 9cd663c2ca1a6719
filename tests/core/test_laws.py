"""Do the samplers have the right law? Closed forms, with Monte Carlo errors from independent chains."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

import geodrift as gd
from cases import FLAT_SAMPLERS, KEY, MANIFOLD_SAMPLERS
from geodrift.manifolds import Euclidean, Product, Simplex, Sphere, SphericalSimplex
from law_checks import assert_means, mean_and_error, some

DATA_SIZE, BATCH = 200, 50
# Of every sampler one; its compositions and thermostats have tests of their steps in CI.
ON_THE_SPHERE = {"GMC", "SGGMC", "GSGNHT leaf"}
# A momentum under friction, and one with a thermostat.
FLAT = {"SGNHT", "SGRHMC"}
ALPHA = jnp.array([0.7, 1.5, 3.0])


def vmf_mean(d, concentration):
    """E[mu.x] of a von Mises-Fisher law."""
    return special.ive(d / 2, concentration) / special.ive(d / 2 - 1, concentration)


def vmf_posterior(d, concentration):
    """Unit vectors of resultant N/2, and the likelihood that gives the posterior this concentration."""
    mu = np.eye(d)[0]
    away = np.random.default_rng(d).normal(size=(DATA_SIZE, d))
    away[:, 0] = 0
    data = 0.5 * mu + np.sqrt(0.75) * away / np.linalg.norm(away, axis=1, keepdims=True)
    total = data.sum(axis=0)
    kappa = concentration / np.linalg.norm(total)
    return jnp.asarray(data), lambda x, y: kappa * y @ x, total / np.linalg.norm(total)


def flat_prior(x):
    return 0.0 * x[0]


def relative_bias(make, d, noise_variance, **settings):
    """Relative bias of E[mu.x] and its standard error, for a posterior of concentration d."""
    mean, error = mean_and_error(posterior_draws(make, d, noise_variance, **settings)[0])
    exact = vmf_mean(d, d)
    return mean / exact - 1, error / exact


def posterior_draws(make, d, noise_variance, *, chains, draws, warmup, replacement=True):
    """mu.x of each draw, and the configurational temperature of all, with exact gradients."""
    data, log_likelihood, mu = vmf_posterior(d, float(d))
    estimator = gd.estimators.Minibatch(
        log_likelihood, flat_prior, DATA_SIZE, noise_variance, replacement=replacement
    )
    options = {"num_draws": draws, "num_warmup": warmup, "num_chains": chains, "batch_size": BATCH}
    result = gd.sample(KEY, make(estimator, Sphere(d)), data, **options)
    flat = result.position.reshape(-1, d)
    gradients = np.broadcast_to(d * mu, flat.shape)
    temperature = gd.diagnostics.configurational_temperature(Sphere(d), flat, gradients, mu)
    return result.position @ mu, temperature


@pytest.mark.parametrize("case", some(MANIFOLD_SAMPLERS, ON_THE_SPHERE))
def test_every_sampler_on_the_sphere(case):
    mu, concentration = jnp.array([0.0, 0.6, 0.8]), 2.0
    sampler = case.make(gd.estimators.Full(lambda x: concentration * mu @ x), Sphere(3), 0.2)
    draws = gd.sample(KEY, sampler, num_draws=600, num_warmup=60, num_chains=128).position
    exact = vmf_mean(3, concentration)
    assert_means(draws @ mu, exact, slack=0.002, comparisons=3 * len(MANIFOLD_SAMPLERS))
    # E[x x'] across mu: the rest of the trace, evenly.
    across = np.stack([draws[..., 0] ** 2, (draws @ np.array([0.0, 0.8, -0.6])) ** 2], axis=-1)
    assert_means(
        across, np.full(2, exact / concentration), slack=0.002, comparisons=3 * len(MANIFOLD_SAMPLERS)
    )


@pytest.mark.parametrize("case", some(FLAT_SAMPLERS, FLAT))
def test_every_flat_sampler_on_a_correlated_gaussian(case):
    precision = jnp.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.5]])
    mean = jnp.array([0.5, -1.0, 0.0])
    full = gd.estimators.Full(lambda x: -(x - mean) @ precision @ (x - mean) / 2)
    sampler = case.make(full, Euclidean(3), 0.1)
    draws = gd.sample(KEY, sampler, num_draws=1500, num_warmup=150, num_chains=128).position
    comparisons = 9 * len(FLAT_SAMPLERS)
    assert_means(draws, np.asarray(mean), slack=0.003, comparisons=comparisons)
    centred = draws - np.asarray(mean)
    products = np.stack([centred[..., i] * centred[..., j] for i in range(3) for j in range(i, 3)], axis=-1)
    covariance = np.linalg.inv(precision)[np.triu_indices(3)]
    assert_means(products, covariance, slack=0.015, comparisons=comparisons)


@pytest.mark.slow  # `test_tuning` has a lifted Dirichlet law, `test_manifold_laws` this sampler in CI
@pytest.mark.parametrize("form", ["flat", "lifted"])
def test_dirichlet_by_gmc(form):
    def log_density(theta):
        return jnp.sum((ALPHA - 1) * jnp.log(theta))

    manifold = Simplex(3) if form == "flat" else SphericalSimplex(3)
    density = log_density if form == "flat" else manifold.lift(log_density)
    sampler = gd.samplers.GMC(
        gd.estimators.Full(density), manifold, 0.15 if form == "lifted" else 0.05, num_steps=6
    )
    draws = gd.sample(KEY, sampler, num_draws=1500, num_warmup=200, num_chains=100).position
    theta = draws if form == "flat" else np.asarray(manifold.to_simplex(draws))
    total, alpha = float(ALPHA.sum()), np.asarray(ALPHA)
    mean = alpha / total
    assert_means(theta, mean, comparisons=12)
    assert_means(theta**2, alpha * (alpha + 1) / (total * (total + 1)), comparisons=12)


@pytest.mark.slow  # `test_gradient_check` has the mean of such a tilt in CI
def test_dirichlet_by_sggmc_with_reflection():
    # The uniform law under friction and noise, and a linear tilt against quadrature.
    tilt = jnp.array([2.0, 0.0, -1.0])
    sampler = gd.samplers.SGGMC(gd.estimators.Full(lambda t: tilt @ t), Simplex(3), 0.1)
    draws = gd.sample(KEY, sampler, num_draws=2000, num_warmup=100, num_chains=100).position
    grid = (np.arange(400) + 0.5) / 400
    a, b = np.meshgrid(grid, grid)
    inside = a + b < 1
    theta = np.stack([a[inside], b[inside], 1 - a[inside] - b[inside]], axis=1)
    weight = np.exp(theta @ np.asarray(tilt))
    assert_means(draws, weight @ theta / weight.sum(), slack=0.002)


@pytest.mark.slow  # `test_dimension_counts_batch_axes` is in CI
@pytest.mark.parametrize("thermostat", ["global", "leaf"])
def test_thermostat_counts_the_dimension_of_a_batched_leaf(thermostat):
    # Counting 15 or 2 dimensions where there are 10 sets a temperature of 1.5 or 0.2.
    mu = jnp.array([0.0, 0.6, 0.8])
    manifold = Product({"topics": Sphere(3), "offset": Euclidean()})

    def log_density(p):
        return 2 * jnp.sum(p["topics"] @ mu) - jnp.sum(p["offset"] ** 2)

    start = {"topics": jnp.broadcast_to(mu, (5, 3)), "offset": jnp.zeros(2)}
    sampler = gd.samplers.GSGNHT(gd.estimators.Full(log_density), manifold, 0.2, thermostat=thermostat)
    draws = gd.sample(KEY, sampler, num_draws=800, num_warmup=100, num_chains=100, initial=start)
    assert_means(draws.position["topics"] @ mu, np.full(5, vmf_mean(3, 2.0)), slack=0.002, comparisons=7)
    assert_means(draws.position["offset"] ** 2, np.full(2, 0.5), slack=0.002, comparisons=7)
    leaves = 1 if thermostat == "global" else 2
    assert len(jax.tree.leaves(draws.state.thermostat)) == leaves


def sggmc(step_size, num_steps=1, **options):
    return lambda e, m: gd.samplers.SGGMC(e, m, step_size, num_steps=num_steps, **options)


def gsgnht(step_size, num_steps=1, **options):
    return lambda e, m: gd.samplers.GSGNHT(e, m, step_size, num_steps=num_steps, **options)


@pytest.mark.slow  # minibatches without replacement, and two manifolds, tell the same law in CI
def test_noise_subtracted_is_right_and_noise_ignored_is_hot():
    short, exact = {"chains": 64, "draws": 2500, "warmup": 200}, vmf_mean(50, 50)
    draws, temperature = posterior_draws(sggmc(0.03), 50, "scalar-fisher", **short)
    mean, error = mean_and_error(draws)
    assert abs(mean / exact - 1) < 0.005
    assert error / exact < 0.0016
    assert abs(temperature - 1) < 0.015
    draws, temperature = posterior_draws(sggmc(0.03), 50, None, **short)
    mean, error = mean_and_error(draws)
    assert (mean + 3 * error) / exact - 1 < -0.01
    assert 1.03 < temperature < 1.12


@pytest.mark.slow  # the table of closed forms has it in CI
@pytest.mark.usefixtures("optimised")
def test_thermostat_absorbs_noise_of_unknown_variance():
    # Five relaxation times of the thermostat, 1/C each, are 5 / 0.03 steps.
    bias, error = relative_bias(gsgnht(0.03), 50, None, chains=64, draws=1500, warmup=170)
    assert abs(bias) < 0.005
    assert error < 0.0012


@pytest.mark.slow  # `test_fed_runs_have_the_right_law` has them in CI
@pytest.mark.usefixtures("optimised")
def test_minibatches_without_replacement():
    bias, error = relative_bias(
        sggmc(0.06, 2), 20, "scalar-fisher", chains=64, draws=1500, warmup=100, replacement=False
    )
    assert abs(bias) < 0.005 + 2 * error
    assert error < 0.003


@pytest.mark.slow
def test_reused_batch_is_biased_as_documented():
    # The noise of ten steps with one batch adds up coherently; V subtracted as if it were white leaves it
    # hot.
    settings = {"chains": 64, "draws": 100, "warmup": 20}
    fresh, error = relative_bias(sggmc(0.03, 10), 50, "scalar-fisher", **settings)
    reused, _ = relative_bias(sggmc(0.03, 10, reuse_batch=True), 50, "scalar-fisher", **settings)
    assert abs(fresh) < 0.005 + 3 * error
    assert reused < -0.02


@pytest.mark.slow
@pytest.mark.parametrize("num_steps", [1, 10])
@pytest.mark.parametrize(
    ("kind", "d", "step_size", "settings"),
    [
        ("sggmc", 3, 0.2, {"chains": 1024, "draws": 4000, "warmup": 100}),
        ("gsgnht", 3, 0.2, {"chains": 1024, "draws": 4000, "warmup": 100}),
        ("sggmc", 50, 0.03, {"chains": 128, "draws": 4000, "warmup": 170}),
        ("gsgnht", 50, 0.03, {"chains": 128, "draws": 4000, "warmup": 170}),
        ("sggmc", 1000, 0.005, {"chains": 32, "draws": 3000, "warmup": 1000}),
        ("gsgnht", 1000, 0.005, {"chains": 32, "draws": 3000, "warmup": 1000}),
    ],
)
def test_vmf_mean_from_minibatches(kind, d, step_size, settings, num_steps):
    make = sggmc(step_size, num_steps) if kind == "sggmc" else gsgnht(step_size, num_steps)
    variance = "scalar-fisher" if kind == "sggmc" else None
    scaled = settings | {name: -(-settings[name] // num_steps) for name in ("draws", "warmup")}
    bias, error = relative_bias(make, d, variance, **scaled)
    print(f"{kind} d={d} L={num_steps}: relative bias {bias:.3%} +- {error:.3%}")
    assert abs(bias) < 0.005
    assert error < 0.0015


@pytest.mark.slow
@pytest.mark.parametrize(
    ("composition", "friction"), [("ABOBA", 1.0), ("BAOAB", 1.0), ("OBABO", 1.0), ("liu", 2.5)]
)
def test_second_order_on_the_sphere(composition, friction):
    # Liu's splitting cools by (C h)^2 / 6; at a small friction its other errors nearly cancel that.
    mu = jnp.array([0.0, 0.0, 1.0])
    biases, errors = [], []
    for h in (0.5, 0.25):
        sampler = gd.samplers.SGGMC(
            gd.estimators.Full(lambda x: 3 * mu @ x), Sphere(3), h, composition=composition, friction=friction
        )
        draws = gd.sample(KEY, sampler, num_draws=60_000, num_warmup=50, num_chains=200).position[..., 2]
        mean, error = mean_and_error(draws)
        biases.append(mean - vmf_mean(3, 3.0))
        errors.append(error)
    ratio = biases[0] / biases[1]
    spread = abs(ratio) * np.hypot(errors[0] / biases[0], errors[1] / biases[1])
    print(f"{composition}: biases {biases}, ratio {ratio:.2f} +- {spread:.2f}")
    # The next order still adds to the ratio at these steps; a first-order method would have 2.
    assert abs(ratio - 4) < 1 + 3 * spread
    assert ratio - 3 * spread > 2


@pytest.mark.slow
def test_noise_ignored_is_of_first_order():
    settings = {"chains": 256, "draws": 6000, "warmup": 300}
    biases = [relative_bias(sggmc(h), 50, None, **settings)[0] for h in (0.04, 0.02)]
    print(f"V ignored: biases {biases}")
    assert biases[0] / biases[1] == pytest.approx(2, abs=0.3)
