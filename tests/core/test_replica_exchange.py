"""Replica exchange on two separated modes of unequal weight, where a chain alone stays in one."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import geodrift as gd
from cases import KEY
from geodrift.estimators._leaf_scales import LeafScales
from geodrift.manifolds import Euclidean
from geodrift.samplers import GMC, SGGMC, SGHMC, SGNHT, ReplicaExchange
from geodrift.samplers._in_coordinates import InCoordinates
from law_checks import assert_means
from noisy import Noisy

FLAT = Euclidean(1)
TEMPERATURES = [1.0, 2.5, 7.0]


def two_modes(x):
    """Weights 3 to 1 at -3 and 3, sd 0.6."""
    return jax.scipy.special.logsumexp(
        jnp.stack([jnp.log(3.0) - (x[0] + 3) ** 2 / 0.72, -((x[0] - 3) ** 2) / 0.72])
    )


FULL = gd.estimators.Full(two_modes)
GRID = np.linspace(-8, 8, 4001)
DENSITY = np.exp(np.asarray(jax.vmap(two_modes)(jnp.asarray(GRID)[:, None])))
MOMENTS = np.array([DENSITY @ f / DENSITY.sum() for f in (GRID > 0, GRID, GRID**2)])


def moments(draws):
    x = draws[..., 0]
    return np.stack([x > 0, x, x**2], axis=-1)


def run(sampler, data=None, batch_size=None, draws=200, chains=100):
    # All start in one mode, whose weight takes some 650 steps to fall by a factor e: 1% of it is left.
    options = {"num_draws": draws, "thin": 10, "num_warmup": 3000, "num_chains": chains}
    return gd.sample(KEY, sampler, data, batch_size=batch_size, initial=jnp.array([-3.0]), **options)


@pytest.mark.slow
@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize(
    "kind",
    ["SGGMC", "GMC", "SGNHT"],
)
def test_exact_energies(kind):
    inner = {
        "SGGMC": SGGMC(FULL, FLAT, 0.15, composition="BAOAB"),
        "GMC": GMC(FULL, FLAT, 0.3, num_steps=2),
        "SGNHT": SGNHT(Noisy(two_modes, variance=1.0, states=False), FLAT, 0.1),
    }[kind]
    draws = run(ReplicaExchange(inner, TEMPERATURES))
    assert_means(moments(draws.position), MOMENTS, slack=np.array([0.004, 0.02, 0.05]), comparisons=12)
    assert 0.1 < np.nanmean(draws.info.acceptance) < 0.9


@pytest.mark.slow
def test_the_report_takes_no_exchange_for_a_step():
    """Of three temperatures one pair or another is tried at every step."""
    inner = SGGMC(FULL, FLAT, 0.15, composition="BAOAB")
    sampler = ReplicaExchange(inner, TEMPERATURES)
    with pytest.warns(gd.RunWarning):  # it is short
        draws = gd.sample(KEY, sampler, num_draws=100, initial=jnp.array([-3.0]))
    assert np.isfinite(np.asarray(draws.info.acceptance)).all()
    assert np.isnan(draws.report.acceptance)
    assert draws.report.gradients is not None


@pytest.mark.parametrize("kind", [SGHMC, pytest.param(SGNHT, marks=pytest.mark.slow)])
def test_velocities_go_on_with_the_kick_of_their_new_temperature(kind):
    """BAOAB leaves N(0, 1) as it is; with the kick of the old temperature the variance is 1.08 and 1.10."""
    normal = gd.estimators.Full(lambda x: -0.5 * jnp.sum(x**2))
    sampler = ReplicaExchange(kind(normal, FLAT, 0.5), [1.0, 4.0])

    def squares(key):
        def step(state, key):
            state, _ = sampler.step(key, state)
            return state, state.position[0] ** 2

        keys = jax.random.split(key, 400)
        return jax.lax.scan(step, sampler.init(key, jnp.zeros(1)), keys)[1][100:]

    found = np.asarray(jax.jit(jax.vmap(squares))(jax.random.split(KEY, 1000)))
    assert_means(found, np.array(1.0), slack=0.02)


@pytest.mark.parametrize("num_steps", [1, 3])
@pytest.mark.parametrize("estimator", [gd.estimators.Minibatch, gd.estimators.SAGA])
def test_the_kick_is_that_of_the_last_batch(estimator, num_steps):
    data = jnp.arange(12.0)
    given = 12 if estimator is gd.estimators.Minibatch else data
    made = estimator(lambda x, y: y * x[0], lambda x: 0.0, given)
    sampler = ReplicaExchange(
        SGHMC(made, FLAT, 0.1, num_steps=num_steps), [1.0, 4.0], difference_variance=0.0
    )
    rows = jnp.arange(2 * num_steps * 2).reshape(2, *sampler.sampler.batch_axes, 2)
    batch = gd.estimators.Rows(rows, data[rows]) if made.takes_rows else data[rows]
    state = sampler.init(KEY, jnp.zeros(1))
    kicks = sampler._pending_kicks(KEY, state.replicas, state.replicas, batch, 0)
    last = data[rows].reshape(2, num_steps, 2)[:, -1].mean(axis=1)
    # The gradients of single data do not depend on the position: of SAGA there is no noise.
    gradient = 12 * last if estimator is gd.estimators.Minibatch else jnp.full(2, data.sum())
    np.testing.assert_allclose(kicks[:, 0], 0.05 * gradient, rtol=1e-6)


def noisy_problem():
    """Data whose sum vanishes: the likelihood is x times noise, and the prior is the target."""
    data = np.random.default_rng(5).normal(size=2000)
    data = 0.004 * (data - data.mean())
    return jnp.asarray(data), gd.estimators.Minibatch(lambda x, y: y * x[0], two_modes, 2000, "scalar-fisher")


@pytest.mark.slow  # in CI the exchanges alone have their law told
@pytest.mark.usefixtures("optimised")
def test_noisy_energies_with_the_correction():
    data, estimator = noisy_problem()
    inner = SGGMC(estimator, FLAT, 0.15, composition="BAOAB")
    right = run(ReplicaExchange(inner, TEMPERATURES, difference_variance="sample"), data, 40, chains=60)
    assert_means(moments(right.position), MOMENTS, slack=np.array([0.004, 0.02, 0.05]), comparisons=12)


@pytest.mark.slow
def test_noisy_energies_without_the_correction_are_biased():
    data, estimator = noisy_problem()
    inner = SGGMC(estimator, FLAT, 0.15, composition="BAOAB")
    wrong = run(ReplicaExchange(inner, TEMPERATURES, difference_variance=0.0), data, 40, draws=600)
    with pytest.raises(AssertionError, match="t = "):
        assert_means(moments(wrong.position), MOMENTS, slack=np.array([0.004, 0.02, 0.05]), comparisons=12)


@pytest.mark.parametrize("variance", [3.0, "sample"])
def test_probability_of_an_exchange(variance):
    """``exp(gap (E_0 - E_1) - u)``: the penalty u of the energies' noise as stated or from the batch."""
    data, estimator = noisy_problem()
    inner = SGGMC(FULL if variance == 3.0 else estimator, FLAT, 0.1)
    sampler = ReplicaExchange(inner, [1.0, 4.0], difference_variance=variance)
    x, rows = jnp.array([[-3.2], [-2.5]]), data[:40]
    replicas = sampler.init(KEY, x[0]).replicas._replace(position=x)
    _, got, noisy = sampler._exchange(KEY, replicas, rows, jnp.asarray(0))
    difference, further = float(two_modes(x[1]) - two_modes(x[0])), 0.0
    if variance == "sample":
        each = np.asarray(rows) * float(x[1, 0] - x[0, 0])
        difference += 2000 * each.mean()
        variance = 2000**2 / 40 * each.var(ddof=1) * (1 if estimator.replacement else 1 - 40 / 2000)
        s2 = 0.75**2 * variance
        further = s2**2 / (4 * 41) + s2**3 / (3 * 41 * 43)
        f = 0.0 if estimator.replacement else 40 / 2000
        k3 = 0.75**3 * 2000**3 / 40**2 * scipy.stats.kstat(each, 3)
        further += k3 * ((1 - f) * (1 - 2 * f) * 5 - (1 - f) ** 2 * 18) / 48
    exponent = 0.75 * difference - 0.75**2 * variance / 2 - further
    assert noisy == 0
    assert -3 < exponent < -0.1
    assert got == pytest.approx(np.exp(exponent), rel=1e-10)


# Skewed data without replacement need both corrections.
@pytest.mark.slow
@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("skewness", [0.0, 0.6])
def test_an_estimated_variance_keeps_detailed_balance(replacement, skewness):
    """The probability of an exchange over that of its reverse is e^X, X = 2, over batches with s^2 = 7.

    By s^2 / 2 alone its logarithm is .07 (with replacement) and .12 (without) too small, of skewed data
    without their correction .31 and .35.
    """
    size, batch_size, count = (2000, 50, 100_000) if replacement else (60, 30, 100_000)
    at = (np.arange(size) + 0.5) / size
    data = jnp.asarray(scipy.stats.pearson3.ppf(at, skewness))
    data = data - jnp.mean(data)
    finite = 1 if replacement else 1 - batch_size / size
    data = data / jnp.std(data, ddof=1) * jnp.sqrt(7 * batch_size / finite) / size
    estimator = gd.estimators.Minibatch(
        lambda x, y: y * x[0], lambda x: 2 * x[0], size, replacement=replacement
    )
    sampler = ReplicaExchange(SGGMC(estimator, FLAT, 0.1), [1.0, 1e9], difference_variance="sample")

    def log_probability(low, high, key):
        x = jnp.array([[low], [high]])
        replicas = sampler.init(KEY, x[0]).replicas._replace(position=x)

        def one(key):
            rows = jax.random.choice(key, data, (batch_size,), replacement)
            return sampler._exchange(key, replicas, rows, jnp.asarray(0))[1]

        found = jax.jit(lambda keys: jax.lax.map(one, keys, batch_size=2000))(jax.random.split(key, count))
        return float(jnp.log(jnp.mean(found))), float(jnp.std(found) / jnp.mean(found) / count**0.5)

    keys = jax.random.split(KEY)
    (there, error), (back, other) = log_probability(0.0, 1.0, keys[0]), log_probability(1.0, 0.0, keys[1])
    assert abs(there - back - 2.0) < 0.02 + 4 * float(np.hypot(error, other))


@pytest.mark.slow
def test_a_run_tells_that_energies_are_too_noisy():
    data, estimator = noisy_problem()
    estimator = gd.estimators.Minibatch(estimator.log_likelihood, two_modes, 2000, noise_variance=None)
    sampler = ReplicaExchange(SGGMC(estimator, FLAT, 0.15), TEMPERATURES, difference_variance="sample")
    options = {"num_draws": 100, "num_chains": 2, "initial": jnp.array([-3.0])}
    with pytest.warns(gd.RunWarning) as told:
        draws = gd.sample(KEY, sampler, 5 * data, batch_size=10, **options)
    assert any("the energies of" in str(w.message) and "larger batch" in str(w.message) for w in told)
    assert any("the energies of" in line for line in draws.report.warnings)
    with pytest.warns(gd.RunWarning) as told:
        draws = gd.sample(KEY, sampler, data, batch_size=40, **options)
    assert not any("the energies of" in str(w.message) for w in told)
    assert np.all(draws.state.noisy < 5)


@pytest.mark.slow  # in CI noisy ones have their law told
def test_all_of_the_data_has_exact_energies():
    data, estimator = noisy_problem()
    inner = SGGMC(estimator, FLAT, 0.15)
    sampler = ReplicaExchange(inner, TEMPERATURES, difference_variance="sample")
    exact = ReplicaExchange(SGGMC(FULL, FLAT, 0.15), TEMPERATURES)
    options = {"num_draws": 30, "initial": jnp.array([-3.0])}
    np.testing.assert_allclose(
        gd.sample(KEY, sampler, data, **options).position,
        gd.sample(KEY, exact, **options).position,
        atol=1e-9,
    )


def test_kept_densities_follow_the_exchange():
    sampler = ReplicaExchange(GMC(FULL, FLAT, 0.3), TEMPERATURES)
    state, step = sampler.init(KEY, jnp.array([-3.0])), jax.jit(sampler.step)
    densities = jax.jit(jax.vmap(two_modes))
    for count in range(20):
        state, _ = step(jax.random.fold_in(KEY, count), state)
        expected = densities(state.replicas.position) / jnp.array(TEMPERATURES)
        np.testing.assert_allclose(state.replicas.log_density, expected, rtol=1e-12)
        np.testing.assert_array_equal(state.position, state.replicas.position[0])


def test_energies_of_a_sampler_in_coordinates_are_those_of_its_positions():
    # In a unit of 4 a step of h is one of 4 h: the same draws.
    unit = LeafScales((jnp.asarray(4.0),))
    moving = InCoordinates(GMC(FULL.in_coordinates(unit), FLAT, 0.2), unit, FLAT)

    @eqx.filter_jit
    def draws(sampler):
        def step(state, key):
            state, info = sampler.step(key, state)
            return state, (state.position, info.acceptance)

        return jax.lax.scan(step, sampler.init(KEY, jnp.array([-3.0])), jax.random.split(KEY, 200))[1]

    plain = GMC(FULL, FLAT, 0.8)
    found, expected = (draws(ReplicaExchange(inner, TEMPERATURES)) for inner in (moving, plain))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9), found, expected)
    assert 0 < np.nanmean(found[1]) < 1


def test_thermostats_of_a_sampler_in_coordinates_stay_with_their_temperatures():
    unit = LeafScales((jnp.asarray(4.0),))
    inner = InCoordinates(SGNHT(FULL.in_coordinates(unit), FLAT, 0.01), unit, FLAT)
    sampler = ReplicaExchange(inner, [1.0, 1.0 + 1e-6])  # of which every exchange is made
    state = sampler.init(KEY, jnp.array([-3.0]))
    apart = jnp.array([5.0, 9.0])
    moving = state.replicas.moving._replace(thermostat=apart)
    state, info = sampler.step(KEY, state._replace(replicas=state.replicas._replace(moving=moving)))
    assert info.acceptance > 0.99
    np.testing.assert_allclose(state.replicas.moving.thermostat, apart, atol=0.2)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: ReplicaExchange(SGGMC(FULL, FLAT, 0.1), [1.0]), "2 or more"),
        (lambda: ReplicaExchange(SGGMC(FULL, FLAT, 0.1), [2.0, 1.0]), "begin with 1"),
        (lambda: ReplicaExchange(SGGMC(FULL, FLAT, 0.1), [1.0, 2.0], swap_every=0), "swap_every = 0"),
        (
            lambda: ReplicaExchange(SGGMC(noisy_problem()[1], FLAT, 0.1), [1.0, 2.0]),
            "energies of minibatches",
        ),
    ],
)
def test_wrong_arguments_raise(make, match):
    with pytest.raises(ValueError, match=match):
        make()
