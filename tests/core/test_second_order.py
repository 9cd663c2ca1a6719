"""Samplers with a momentum on R^n and in charts: their equations, their bias, their order."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy import linalg, stats

import geodrift as gd
from cases import KEY
from core.test_integrators import stationary
from geodrift.integrators import COMPOSITIONS, Phase, integrate
from geodrift.manifolds import Euclidean, Sphere
from geodrift.metrics import Constant, Dense, Diagonal, ExpandedMean
from geodrift.samplers import SGHMC, SGNHT, SGRHMC
from law_checks import assert_means, some_of
from noisy import Noisy


def gaussian(x):
    return -jnp.sum(x**2) / 2


def wave(x):
    return (1 + 0.5 * jnp.sin(x)) ** 2


def shear(x):
    return jnp.array([[2.0 + x[0] ** 2, 0.5 * x[1]], [0.5 * x[1], 1.0 + x[1] ** 2]])


FULL = gd.estimators.Full(lambda x: -(x[0] ** 4) / 4 - x[0] * x[1] - x[1] ** 2)
FLAT = Euclidean()
X, R = jnp.array([0.7, -0.4]), jnp.array([1.2, 0.5])
C = 0.8


def blocks(*rows):
    return jnp.block([[jnp.asarray(entry) for entry in row] for row in rows])


def langevin(damping):
    """D and Q over (x, r)."""
    zero, one = jnp.zeros((2, 2)), jnp.eye(2)
    return lambda z: (blocks((zero, zero), (zero, damping * one)), blocks((zero, -one), (one, zero)))


def thermostatted(z):
    zero, one, r = jnp.zeros((2, 2)), jnp.eye(2), z[2:4, None]
    d = jax.scipy.linalg.block_diag(zero, C * one, jnp.zeros((1, 1)))
    q = blocks((zero, -one, 0 * r), (one, zero, r / 2), (0 * r.T, -r.T / 2, jnp.zeros((1, 1))))
    return d, q


def thermostatted_by_coordinate(z):
    zero, one, r = jnp.zeros((2, 2)), jnp.eye(2), jnp.diag(z[2:4])
    q = blocks((zero, -one, zero), (one, zero, r), (zero, -r, zero))
    return jax.scipy.linalg.block_diag(zero, C * one, zero), q


def riemannian(matrix):
    def d_and_q(z):
        inverse = jnp.linalg.inv(matrix(z[:2]))
        root, zero = gd.metrics._dense.symmetric_sqrt(inverse), jnp.zeros((2, 2))
        return blocks((zero, zero), (zero, C * inverse)), blocks((zero, -root), (root, zero))

    return d_and_q


def energy(z, stiffness):
    thermostat = z[4:]
    return -FULL.log_density(z[:2]) + z[2:4] @ z[2:4] / 2 + stiffness / 2 * jnp.sum((thermostat - C) ** 2)


DIAGONAL = Diagonal(lambda x: jnp.exp(jnp.stack([x[1], x[0] * x[1]])))  # no entry of its own coordinate alone
RECIPES = {
    "SGHMC": (lambda h: SGHMC(FULL, FLAT, h, friction=C), langevin(C), 0),
    "SGHMC ABOBA": (lambda h: SGHMC(FULL, FLAT, h, friction=C, composition="ABOBA"), langevin(C), 0),
    "SGHMC chen": (lambda h: SGHMC(FULL, FLAT, h, friction=C, composition="chen"), langevin(C), 0),
    "SGNHT": (lambda h: SGNHT(FULL, FLAT, h, friction=C), thermostatted, 2),
    "SGNHT chen": (lambda h: SGNHT(FULL, FLAT, h, friction=C, composition="chen"), thermostatted, 2),
    "SGNHT coordinate": (
        lambda h: SGNHT(FULL, FLAT, h, friction=C, thermostat="coordinate"),
        thermostatted_by_coordinate,
        1,
    ),
    "SGRHMC diagonal": (
        lambda h: SGRHMC(FULL, FLAT, h, DIAGONAL, friction=C),
        riemannian(lambda x: jnp.diag(1 / DIAGONAL.inverse_diagonal(x))),
        0,
    ),
    "SGRHMC dense": (lambda h: SGRHMC(FULL, FLAT, h, Dense(shear), friction=C), riemannian(shear), 0),
    "SGRHMC ma": (
        lambda h: SGRHMC(FULL, FLAT, h, Dense(shear), friction=C, composition="ma"),
        riemannian(shear),
        0,
    ),
}


def increments(make, h, keys):
    """``z' - z`` of one step from a fixed z, for each key."""
    sampler = make(h)
    state = sampler.init(KEY, X)
    moment = "velocity" if hasattr(state, "velocity") else "momentum"
    state = state._replace(**{moment: R})
    if hasattr(state, "thermostat"):
        state = state._replace(thermostat=state.thermostat + 0.3)

    def flat(state):
        parts = (state.position, getattr(state, moment), getattr(state, "thermostat", ()))
        return ravel_pytree(parts)[0]

    start = flat(state)
    return jax.jit(jax.vmap(lambda key: flat(sampler.step(key, state)[0]) - start))(keys), start


@pytest.mark.parametrize("name", some_of(RECIPES, {"SGHMC", "SGRHMC dense"}))
def test_a_small_step_is_the_recipe(name):
    """Drift ``-(D + Q) grad H + Gamma`` and covariance ``2 D h``, against dense matrices and autodiff."""
    make, d_and_q, stiffness = RECIPES[name]
    h, keys = 1e-6, jax.random.split(KEY, 10_000)
    long, z = increments(make, h, keys)
    short, _ = increments(make, h / 4, keys)
    matrix = jax.jacfwd(lambda z: sum(d_and_q(z)))(z)
    expected = -sum(d_and_q(z)) @ jax.grad(energy)(z, stiffness) + jnp.einsum("ijj->i", matrix)
    # The same noise enters with the root of the step, so it cancels here and the drift stays.
    drift = jnp.mean(2 * (long - 2 * short) / h, axis=0)
    np.testing.assert_allclose(drift, expected, atol=1e-3)
    white = np.asarray(long / np.sqrt(h)).reshape(50, 200, -1)
    covariance = 2 * np.asarray(d_and_q(z)[0])
    noisy = np.diag(covariance) > 0
    products = white[..., noisy][..., :, None] * white[..., noisy][..., None, :]
    assert_means(products, covariance[np.ix_(noisy, noisy)], slack=1e-3, comparisons=9 * 4)
    assert np.max(np.abs(white[..., ~noisy])) < 0.02


@pytest.mark.parametrize("v", [0.0, 0.7])
def test_chen_is_its_own_formula(v):
    """x <- x + h r, r <- (1 - C h) r - h A x + N(0, 2 C h - h^2 V), with the new x and noise V."""
    h, c, curvature = 0.1, 1.3, np.array([[2.0, 0.5], [0.5, 1.0]])
    one = np.eye(2)
    move = np.block([[one, h * one], [-h * curvature, (1 - c * h) * one - h * h * curvature]])
    expected = linalg.solve_discrete_lyapunov(move, np.diag([0, 0, 2 * c * h, 2 * c * h]))
    ours = stationary("chen", c, h, noise=v, subtracted=v) if v else stationary("chen", c, h)
    np.testing.assert_allclose(ours, expected, atol=1e-12)
    # For a Gaussian it happens to be of second order in the positions.
    biases = [np.abs(stationary("chen", c, t)[:2, :2] - np.linalg.inv(curvature)).max() for t in (0.1, 0.05)]
    assert biases[0] / biases[1] == pytest.approx(4, abs=0.3)


@pytest.mark.parametrize("composition", ["BAOAB", "ABOBA", "OBABO", "liu", "chen"])
def test_exact_bias_of_sghmc_at_the_published_setting(composition):
    """E x^2 of N(0, 1) at h = 0.02, C = 1 and V = 4, from the Lyapunov equation of the discrete chain."""
    settings = {"curvature": np.eye(2), "noise": 4.0}
    subtracted = stationary(composition, 1.0, 0.02, subtracted=4.0, **settings)[0, 0]
    assert abs(subtracted - 1) < 0.001
    ignored = stationary(composition, 1.0, 0.02, **settings)[0, 0]
    assert ignored - 1 == pytest.approx(4 * 0.02 / 2, rel=0.05)  # V h / 2C


@pytest.mark.parametrize("variance", [None, "scalar", "matrix"])
@pytest.mark.usefixtures("unchecked_types")
def test_thermostat_of_each_coordinate_damps_and_heats_exactly(variance):
    h, c = 0.5, 1.2
    xi, v = jnp.array([0.7, 0.0, -0.4]), jnp.array([1.0, -2.0, 0.5])
    noise = {
        None: None,
        "scalar": jnp.asarray(0.3),
        "matrix": jnp.diag(jnp.array([[0.3, 0.1, 0.2]])[0])[None],
    }
    phase = Phase(jnp.zeros(3), v, xi)
    end, _ = integrate(
        KEY,
        COMPOSITIONS["OBABO"],
        Euclidean(3),
        phase,
        jnp.asarray(h),
        c,
        jnp.zeros_like,
        lambda p: noise[variance],
    )
    heated = xi + h * (v**2 - 1)
    np.testing.assert_allclose(end.thermostat, heated, rtol=1e-12)
    decay = np.exp(-heated * h)
    strength = c * (1 - np.exp(-2 * heated * h)) / heated
    lost = {None: 0.0, "scalar": 0.3, "matrix": np.array([0.3, 0.1, 0.2])}[variance]
    strength = strength - lost * h * h * (1 + decay) ** 2 / 4
    white = np.asarray(jax.random.normal(KEY, (3,)))
    if variance == "matrix":
        assert np.all(np.abs(end.velocity - decay * v) < 5 * np.sqrt(strength))
        return
    np.testing.assert_allclose(end.velocity, decay * v + np.sqrt(strength) * white, rtol=1e-11)


@pytest.mark.slow
def test_thermostat_of_each_coordinate_absorbs_noise_that_differs():
    # One thermostat for all settles at the mean of the variances: hot where V is 40, cold where it is 0.
    scales = jnp.array([0.5, 1.0, 2.0])
    noise = jnp.array([40.0, 10.0, 0.0])
    estimator = Noisy(lambda x: -jnp.sum((x / scales) ** 2) / 2, variance=noise, states=False)
    ratios = {}
    for thermostat in ("coordinate", "global"):
        sampler = SGNHT(estimator, FLAT, 0.05, friction=2.0, thermostat=thermostat)
        draws = gd.sample(
            KEY, sampler, num_draws=200, thin=10, num_warmup=400, num_chains=100, initial=jnp.zeros(3)
        )
        ratios[thermostat] = draws.position**2 / np.asarray(scales) ** 2
    assert_means(ratios["coordinate"], np.ones(3), slack=0.02)
    assert ratios["global"].mean(axis=(0, 1))[0] > 1.1
    assert ratios["global"].mean(axis=(0, 1))[2] < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("states", [True, False], ids=["V subtracted", "V absorbed"])
@pytest.mark.parametrize("thermostat", ["global", "coordinate"])
def test_thermostat_leaves_positions_right_whatever_share_of_the_noise_is_of_the_gradient(states, thermostat):
    # Where the two drifts of BAOAB count alike, positions are too cold: by 7% with V subtracted, and by 10%
    # where the thermostat absorbs it.
    estimator = Noisy(lambda x: -jnp.sum(x**2) / 2, variance=8.4, states=states)
    sampler = SGNHT(estimator, Euclidean(20), 0.28, friction=3.2, thermostat=thermostat)
    draws = gd.sample(
        KEY, sampler, num_draws=500, thin=8, num_warmup=300, num_chains=50, initial=jnp.zeros(20)
    )
    assert_means((draws.position**2).mean(axis=2, keepdims=True), np.ones(1), slack=0.01)


@pytest.mark.slow  # `test_told_runs` is in CI
@pytest.mark.parametrize("states", [True, False], ids=["V subtracted", "V absorbed"])
def test_the_kinetic_temperature_is_that_of_the_positions_and_nobody_is_warned_of_it(states, recwarn):
    # Above 128 numbers no gradients speak for the draws. After the kick velocities have 1.3.
    estimator = Noisy(lambda x: -jnp.sum(x**2) / 2, variance=8.4, states=states)
    sampler = SGNHT(estimator, Euclidean(200), 0.28, friction=3.2)
    draws = gd.sample(
        KEY, sampler, num_draws=60, thin=8, num_warmup=300, num_chains=8, initial=jnp.zeros(200)
    )
    assert draws.report.gradients is None
    assert np.mean(draws.info.kinetic_temperature) == pytest.approx(1, abs=0.02)
    assert np.mean(draws.position**2) == pytest.approx(1, abs=0.02)
    assert not [told for told in recwarn if "temperature" in str(told.message)]


def test_momentum_persists_unless_a_refresh_is_asked_for():
    def ends(every, count):
        sampler = SGHMC(FULL, FLAT, 0.1, composition="ABOBA", refresh_every=every)
        step = jax.jit(sampler.step)
        states = [
            sampler.init(KEY, X)._replace(velocity=v * R, count=jnp.asarray(count)) for v in (1.0, -1.0)
        ]
        return [step(KEY, state)[0].velocity for state in states]

    for every, count, forgets in ((None, 0, False), (2, 1, False), (2, 4, True)):
        one, other = ends(every, count)
        assert bool(jnp.allclose(one, other)) == forgets
    # What it draws is N(0, 1): no friction to speak of, no force, so the refreshed momentum is what is left.
    free = SGHMC(
        gd.estimators.Full(lambda x: 0.0 * x[0]), FLAT, 0.1, 1e-12, composition="ABOBA", refresh_every=1
    )
    state = free.init(KEY, X)
    drawn = jax.jit(jax.vmap(lambda key: free.step(key, state)[0].velocity))(jax.random.split(KEY, 2000))
    assert stats.kstest(np.asarray(drawn).ravel(), "norm").pvalue > 0.01


def second_moment(sampler, *, time, chains, dim=1, warmup=10.0, start=1.0):
    """Mean of x^2 over steps, coordinates and chains, and its error; started from N(0, start^2).

    Only each chain's sum is kept.
    """
    h = float(sampler.step_size(0))
    discarded, steps = round(warmup / h), round(time / h)

    def chain(key):
        key_start, key_init, key_steps = jax.random.split(key, 3)

        def one(count, carry):
            state, total = carry
            state, _ = sampler.step(jax.random.fold_in(key_steps, count), state)
            return state, total + jnp.where(count < discarded, 0, jnp.mean(state.position**2))

        state = sampler.init(key_init, start * jax.random.normal(key_start, (dim,)))
        return jax.lax.fori_loop(0, discarded + steps, one, (state, jnp.zeros(())))[1] / steps

    means = np.asarray(jax.jit(jax.vmap(chain))(jax.random.split(KEY, chains)))
    return means.mean(), means.std(ddof=1) / np.sqrt(chains)


# How many percent E x^2 of exp(-x^4 + 2 x^2) is off at h = 0.2 and C = 1, with V = 0 and with V = 4.
WELL = {
    "BAOAB": (-0.4, -0.6),
    "ABOBA": (-2.1, -2.1),
    "OBABO": (-0.9, -0.9),
    "liu": (-2.1, -2.1),
    "chen": (-1.0, -1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("variance", [0.0, 4.0])
@pytest.mark.parametrize("composition", WELL)
def test_figures_of_the_double_well(composition, variance):
    """Those of docs/explanation/conventions.md, which are rounded to 0.1%."""
    estimator = Noisy(lambda x: jnp.sum(2 * x**2 - x**4), variance=variance)
    sampler = SGHMC(estimator, FLAT, 0.2, composition=composition)
    mean, error = second_moment(sampler, time=400, chains=4000, warmup=20.0, start=0.5)
    off, error = 100 * (mean / 0.8327454870943 - 1), 100 * error / 0.8327454870943
    print(f"{composition}, V = {variance}: {off:.2f}% +- {error:.2f}%")
    assert error < 0.08
    assert abs(off - WELL[composition][variance > 0]) < 4 * error + 0.05


class _Scripted(SGRHMC):
    """Its white noise is given instead of drawn, so that a step's law can be integrated by quadrature."""

    def one_step(self, x, r, white, gradient_noise, h, v):
        before = h / 2 if self.composition == "ABOBA" else h
        x, r = self._drift(x, r, before)
        gradient = jax.grad(self.estimator.log_density)(x) + jnp.sqrt(v) * gradient_noise
        noise = jnp.sqrt(2 * self.friction * h - h * h * v) * white
        r, _ = self._kick(None, x, r, gradient, noise, h)
        return self._drift(x, r, h / 2) if self.composition == "ABOBA" else (x, r)

    def _noise(self, key, x, variance, h):
        return variance, jnp.zeros((), bool)  # what one_step gave


@pytest.mark.parametrize(
    "metric",
    [
        pytest.param("diagonal", marks=pytest.mark.slow),
        "not known to be diagonal",
        pytest.param("constant", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("composition", "order"), [("ABOBA", 2), pytest.param("ma", 1, marks=pytest.mark.slow)]
)
@pytest.mark.usefixtures("unchecked_types")
def test_order_of_sgrhmc(composition, order, metric):
    """One step from the exact law N(0, 1) x N(0, 1) changes its moments by a multiple of h^(order + 1).

    All four normals (position, momentum, injected noise, gradient noise of variance 2) are integrated by
    Gauss-Hermite quadrature: no Monte Carlo error.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(24)
    few, few_weights = np.polynomial.hermite_e.hermegauss(8)
    x, r, white, noise = (a.reshape(-1, 1) for a in np.meshgrid(nodes, nodes, few, few, indexing="ij"))
    weight = np.einsum("i,j,k,l->ijkl", weights, weights, few_weights, few_weights).ravel()
    weight /= weight.sum()
    chosen = {
        "diagonal": Diagonal(wave, separable=True),
        "not known to be diagonal": Dense(lambda x: jnp.diag(1 / wave(x))),
        "constant": Constant(0.7),
    }[metric]
    sampler = _Scripted(
        gd.estimators.Full(gaussian), FLAT, 0.1, chosen, friction=1.3, composition=composition
    )
    changes = []
    for h in (0.05, 0.025, 0.0125):
        step = jax.jit(jax.vmap(lambda *z, h=h: sampler.one_step(*z, jnp.asarray(h), 2.0)))
        end_x, end_r = (np.asarray(a)[:, 0] for a in step(x, r, white, noise))
        moments = np.stack([end_x**2, end_r**2, end_x * end_r, end_x**4], axis=1)
        changes.append(weight @ moments - np.array([1, 1, 0, 3]))
    size = np.abs(changes).max(axis=1)
    print(f"{composition}, {metric}: {size}")
    assert np.all(size[:-1] / size[1:] > 0.85 * 2 ** (order + 1))
    if metric != "constant":
        assert size[1] / size[2] < 1.15 * 2 ** (order + 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("composition", "order", "steps", "chains"),
    [("ABOBA", 2, (0.4, 0.2), 12_000), ("ma", 1, (0.1, 0.05), 4000)],
)
def test_bias_of_sgrhmc_falls_as_its_order_says(composition, order, steps, chains):
    """On N(0, 1) with G^-1/2 = 1 + sin(x) / 2, with a gradient noise of 2 subtracted; or faster.

    Terms of higher order are felt at steps whose bias can be measured at all.
    """
    biases, errors = [], []
    for h in steps:
        estimator, metric = Noisy(gaussian, variance=2.0), Diagonal(wave, separable=True)
        sampler = SGRHMC(estimator, FLAT, h, metric, friction=1.5, composition=composition)
        mean, error = second_moment(sampler, time=400, chains=chains)
        biases.append(mean - 1)
        errors.append(error)
    print(f"{composition}: {biases} +- {errors}")
    error = 4 * np.hypot(errors[0], 2**order * errors[1])
    assert 2**order * abs(biases[1]) < abs(biases[0]) + error
    assert abs(biases[0]) > error  # one order less would be seen


@pytest.mark.slow  # in CI SGRHMC on flat space
@pytest.mark.parametrize("alpha", [1.5, pytest.param(3.0, marks=pytest.mark.slow)])
def test_sgrhmc_mirrors_position_and_momentum(alpha):
    """Gamma(alpha, 1) in the chart theta > 0 with G^-1 = theta."""
    metric = ExpandedMean()
    full = gd.estimators.Full(lambda x: metric.log_prior(x, jnp.asarray(alpha)))
    sampler = SGRHMC(full, FLAT, 0.1, metric)
    draws = gd.sample(
        KEY, sampler, num_draws=500, thin=4, num_warmup=100, num_chains=400, initial=jnp.array([alpha])
    ).position
    assert draws.min() > 0
    assert_means(draws[..., 0], alpha, slack=0.01 * alpha, comparisons=4)
    assert_means(np.log(draws[..., 0]), stats.loggamma(alpha).mean(), slack=0.02, comparisons=4)


BARS = {
    "SGHMC": (lambda e: SGHMC(e, FLAT, 0.02), 0.01),
    "SGHMC chen": (lambda e: SGHMC(e, FLAT, 0.02, composition="chen"), 0.01),
    "SGNHT": (lambda e: SGNHT(e, FLAT, 0.02), 0.01),
    "SGNHT coordinate": (lambda e: SGNHT(e, FLAT, 0.02, thermostat="coordinate"), 0.01),
    "SGRHMC constant": (lambda e: SGRHMC(e, FLAT, 0.02, Constant(1.5)), 0.015),
    "SGRHMC": (lambda e: SGRHMC(e, FLAT, 0.02, Diagonal(wave, separable=True)), 0.015),
    "SGRHMC ma": (lambda e: SGRHMC(e, FLAT, 0.02, Diagonal(wave, separable=True), composition="ma"), 0.015),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BARS)
def test_second_moment_with_the_gradient_noise_subtracted(name):
    """N(0, I_10), h = 0.02, C = 1, V = 4."""
    make, bar = BARS[name]
    mean, error = second_moment(make(Noisy(gaussian, variance=4.0)), time=100, chains=1500, dim=10)
    print(f"{name}: E[x^2] = {mean:.4f} +- {error:.4f}")
    assert error <= 0.002
    assert abs(mean - 1) < bar


@pytest.mark.parametrize("case", ["SGHMC", "SGRHMC diagonal", "SGRHMC dense"])
def test_noise_beyond_what_is_injected_is_reported(case):
    make = {
        "SGHMC": lambda e: SGHMC(e, FLAT, 0.1),
        "SGRHMC diagonal": lambda e: SGRHMC(e, FLAT, 0.1, DIAGONAL),
        "SGRHMC dense": lambda e: SGRHMC(e, FLAT, 0.1, Dense(shear)),
    }[case]
    step = eqx.filter_jit(lambda sampler, state: sampler.step(KEY, state)[1].result)
    for variance, result in ((15.0, gd.Result.OK), (25.0, gd.Result.NEGATIVE_NOISE_VARIANCE)):
        sampler = make(Noisy(FULL.log_density, variance=jnp.asarray(variance)))
        assert step(sampler, sampler.init(KEY, X)) == result


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: SGHMC(FULL, FLAT, 0.0), "step_size = 0.0: must be positive"),
        (lambda: SGHMC(FULL, FLAT, 0.1, friction=-1.0), "friction"),
        (lambda: SGHMC(FULL, FLAT, 0.1, composition="ABO"), "chen"),
        (lambda: SGHMC(FULL, FLAT, 0.1, composition="ABOBA", refresh_every=0), "refresh_every = 0"),
        (lambda: SGHMC(FULL, FLAT, 0.1, refresh_every=2), "half a kick"),
        (lambda: SGNHT(FULL, FLAT, 0.1, thermostat="each"), "global, leaf, coordinate"),
        (
            lambda: gd.samplers.GSGNHT(FULL, Sphere(2), 0.1, thermostat="coordinate").init(
                KEY, jnp.array([0.6, 0.8])
            ),
            "coordinates of a curved manifold",
        ),
        (lambda: SGRHMC(FULL, FLAT, 0.1, DIAGONAL, composition="BAOAB"), "ABOBA, ma"),
        (lambda: SGRHMC(FULL, FLAT, 0.1, DIAGONAL, friction=jnp.eye(2)), "friction has shape"),
        (lambda: SGRHMC(FULL, FLAT, 0.1, DIAGONAL, num_steps=0), "num_steps = 0"),
        (
            lambda: SGRHMC(FULL, FLAT, 0.1, ExpandedMean()).init(KEY, jnp.array([1.0, -1.0])),
            "inside its chart",
        ),
    ],
)
def test_wrong_arguments_raise(make, match):
    with pytest.raises(ValueError, match=match):
        make()
