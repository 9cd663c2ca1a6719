"""The pilot: what it measures, what it chooses, and the law that its choice gives."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

import geodrift as gd
from cases import KEY
from geodrift.estimators._affine import Affine, Layout
from geodrift.manifolds import Euclidean, Product, Simplex, Sphere, SphericalSimplex, Stiefel
from geodrift.samplers import GMC, GSGNHT, SGGMC, SGLD
from geodrift.tuning import tune
from geodrift.tuning._choice import MAX_HEATING, MAX_SUBTRACTED, Measured, choose
from geodrift.tuning._curvature import extremes, hessian_product, lanczos
from geodrift.tuning._noise import Noise, measure_noise
from geodrift.tuning._pilot_data import PilotData
from geodrift.tuning._posterior_noise import posterior_noise
from law_checks import assert_means, z_bound

# What an automatic step has to reach: every mean within 0.1 sd, every sd within 5%.
MEAN_BAR, SD_BAR = 0.1, 0.05
LARGEST_ERROR = 0.03  # of a mean in sd, and of an sd ratio


def assert_within_the_bars(draws, mean, sd):
    """Means and standard deviations over chains ``[chain, draw, quantity]``, with the chains' errors."""
    x = (np.asarray(draws) - mean) / sd
    number = len(x)
    for values, error_of, bar in ((x.mean(axis=1), 1.0, MEAN_BAR), ((x**2).mean(axis=1) - 1, 2.0, SD_BAR)):
        # The sd ratio is the root of 1 + the mean of x^2 - 1: half of it, to first order.
        off, error = values.mean(axis=0) / error_of, values.std(axis=0, ddof=1) / np.sqrt(number) / error_of
        assert np.max(error) < LARGEST_ERROR
        assert np.all(np.abs(off) < bar + z_bound(2 * off.size, number - 1) * error), (off, error)


def curvatures(log_density, manifold, position):
    estimator = gd.estimators.Full(log_density)

    def found(key, x):
        return lanczos(key, manifold, x, lambda u: hessian_product(estimator, manifold, x, (), u))

    return extremes(*jax.jit(found)(KEY, position))


def test_curvature_of_a_gaussian():
    scales = jnp.array([0.5, 1.0, 3.0, 40.0])
    rotation = jnp.linalg.qr(jax.random.normal(KEY, (4, 4)))[0]
    precision = rotation @ jnp.diag(scales) @ rotation.T
    found = curvatures(lambda x: -0.5 * x @ precision @ x, Euclidean(4), jnp.ones(4))
    np.testing.assert_allclose(found, (40.0, 0.5), rtol=1e-8)


def test_curvature_on_the_sphere_is_the_riemannian_one():
    # kappa mu'x has the Hessian -kappa mu'x on the tangent space, in all directions.
    mu, x = jnp.array([0.0, 0.6, 0.8]), Sphere(3).project(jnp.array([0.3, 0.5, 1.0]))
    np.testing.assert_allclose(curvatures(lambda y: 7 * mu @ y, Sphere(3), x), 7 * mu @ x, rtol=1e-8)
    pair = Product({"a": Sphere(3), "b": Euclidean(2)})
    both = curvatures(lambda p: 7 * mu @ p["a"] - 4 * jnp.sum(p["b"] ** 2), pair, {"a": x, "b": jnp.zeros(2)})
    np.testing.assert_allclose(both, (8.0, 7 * mu @ x), rtol=1e-8)


SPREAD = jnp.array([1.0, 1.0, 4.0])  # of the data: the noise is anisotropic, N^2/B times its square
ROWS = 20_000
DATA = SPREAD * jax.random.normal(KEY, (ROWS, 3))


def linear(x, y):
    return y @ x


@pytest.mark.parametrize("replacement", [pytest.param(True, marks=pytest.mark.slow), False])
@pytest.mark.parametrize(
    "stated", [None, pytest.param("scalar-fisher", marks=pytest.mark.slow), "diagonal-fisher"]
)
def test_noise_is_the_covariance_of_the_gradient(stated, replacement):
    batch = 5000
    estimator = gd.estimators.Minibatch(linear, lambda x: 0.0, ROWS, stated, replacement=replacement)
    x = jnp.zeros(3)
    data = PilotData(DATA, batch, replacement)
    noise = measure_noise(KEY, estimator.on(Euclidean(3)), Euclidean(3), x, estimator.init(KEY, x), data)
    unit = ROWS**2 / batch * (1 if replacement else 1 - batch / ROWS)
    # The variances are estimated from 2048 data, halves of them for the worst: 3% and 5% errors.
    assert noise.mean == pytest.approx(6 * unit, rel=0.12)
    assert noise.stated == pytest.approx(0 if stated is None else 6 * unit, rel=0.05)
    worst = {None: 16, "scalar-fisher": 10, "diagonal-fisher": 0}[stated]
    assert noise.worst == pytest.approx(worst * unit, rel=0.2, abs=3.5 * unit)
    left = 0 if stated == "diagonal-fisher" else 10
    assert noise.worst_anisotropic == pytest.approx(left * unit, rel=0.2, abs=3.5 * unit)
    largest = {None: 0, "scalar-fisher": 6, "diagonal-fisher": 16}[stated]
    assert noise.stated_max == pytest.approx(largest * unit, rel=0.15)


FEW = jnp.array([[-2.0], [0.5], [7.0], [1.0], [-4.0]])


@pytest.mark.parametrize("replacement", [True, False])
def test_mean_noise_of_few_data_is_that_of_all_their_batches(replacement):
    pairs = itertools.product(range(5), repeat=2) if replacement else itertools.permutations(range(5), 2)
    gradients = [5 * float(jnp.mean(FEW[jnp.array(pair)])) for pair in pairs]
    x = jnp.zeros(1)
    estimator = gd.estimators.Minibatch(linear, lambda x: 0.0, 5, replacement=replacement)
    estimator = estimator.in_coordinates(Affine(x, jnp.eye(1), Layout.of(x)))
    found = posterior_noise(KEY, estimator, np.zeros((8, 1)), PilotData(FEW, 2, replacement))
    assert float(found.mean[0, 0]) == pytest.approx(np.var(gradients), rel=1e-9)


def test_three_data_have_noise():
    estimator = gd.estimators.Minibatch(linear, lambda x: 0.0, 3, replacement=False).on(Euclidean(1))
    x = jnp.zeros(1)
    data = PilotData(FEW[:3], 1, False)
    noise = measure_noise(KEY, estimator, Euclidean(1), x, estimator.init(KEY, x), data)
    assert noise.mean == pytest.approx(9 * float(jnp.var(FEW[:3])), rel=0.08)


@pytest.mark.parametrize("dynamics", ["friction", "thermostat", "first-order"])
def test_choice_keeps_its_bounds(dynamics):
    for worst, stated in ((0.0, 0.0), (1e3, 0.0), (1e8, 0.0), (1e6, 1e8)):
        noise = Noise(mean=worst, stated=stated, stated_max=stated, worst=worst, worst_anisotropic=worst / 10)
        chosen = choose(dynamics, Measured(largest=100.0, least=1.0, dim=10, noise=noise))
        h = chosen.step_size
        damping = 1.0 if chosen.friction is None else chosen.friction
        unaccounted = worst / 10 if dynamics == "thermostat" else worst
        if dynamics == "thermostat":
            damping += h * max(worst - stated, 0) / 2
        assert h * unaccounted / 2 / damping < MAX_HEATING * 1.0001
        assert h * stated / 2 / (chosen.friction or 1.0) < MAX_SUBTRACTED * 1.0001
        if dynamics != "first-order":
            assert h * damping < 1.5
            assert chosen.friction >= 0.999 or dynamics == "thermostat"
            assert h <= 0.3 / 10
        else:
            assert h <= 0.08 / 100


SHORT = {"num_draws": 600, "num_warmup": 300, "num_chains": 64}


def make(kind, estimator, manifold, num_steps=1):
    return kind(estimator, manifold, step_size=None, num_steps=num_steps)


@pytest.mark.slow  # `test_leaf_units` has scales of any width in CI
@pytest.mark.parametrize(
    ("kind", "num_steps"),
    [
        (SGGMC, 5),
        (GSGNHT, 5),
        (SGLD, 15),
    ],
)
def test_badly_scaled_gaussian(kind, num_steps, capsys):
    # A first-order sampler takes 1 / (h least) = 12.5 times the condition in steps: ten times less of it.
    condition = 10 if kind is SGLD else 100
    precision = jnp.geomspace(1.0, condition, 6)
    estimator = gd.estimators.Full(lambda x: -0.5 * jnp.sum(precision * (x - 1) ** 2))
    draws = gd.sample(KEY, make(kind, estimator, Euclidean(6), num_steps), **SHORT)
    assert_within_the_bars(draws.position, 1.0, 1 / np.sqrt(np.asarray(precision)))
    # It says what it chose, and why; and records it.
    line = capsys.readouterr().err
    assert kind.__name__ in line
    assert f"the widest direction is {condition**0.5:.3g} times the narrowest" in line
    assert "limited by curvature (curvature up to 1;" in line
    assert str(draws.tuned) in line
    assert draws.tuned.widest == pytest.approx(condition**0.5, rel=1e-3)


def vmf_case(d, noise_variance, size=200, batch=50):
    """A posterior of concentration d, and the mean and sd of the cosine with its direction."""
    mu, rng = np.eye(d)[0], np.random.default_rng(d)
    away = rng.normal(size=(size, d))
    away[:, 0] = 0
    data = 0.5 * mu + np.sqrt(0.75) * away / np.linalg.norm(away, axis=1, keepdims=True)
    total = data.sum(axis=0)
    kappa = d / np.linalg.norm(total)
    estimator = gd.estimators.Minibatch(
        lambda x, y: kappa * y @ x, lambda x: 0.0 * x[0], size, noise_variance
    )
    mean = special.ive(d / 2, d) / special.ive(d / 2 - 1, d)
    sd = np.sqrt(1 - mean**2 - (d - 1) * mean / d)
    return estimator, jnp.asarray(data), batch, total / np.linalg.norm(total), mean, sd


@pytest.mark.slow
@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize(
    ("kind", "d", "noise_variance", "settings"),
    [
        (SGGMC, 3, "scalar-fisher", SHORT),
        (GSGNHT, 50, None, SHORT),
        (SGGMC, 50, None, SHORT),
        (SGGMC, 1000, "scalar-fisher", {"num_draws": 1000, "num_warmup": 400, "num_chains": 32}),
        (GSGNHT, 1000, None, {"num_draws": 1000, "num_warmup": 400, "num_chains": 32}),
    ],
)
def test_von_mises_fisher(kind, d, noise_variance, settings):
    estimator, data, batch, direction, mean, sd = vmf_case(d, noise_variance)
    draws = gd.sample(KEY, make(kind, estimator, Sphere(d), 3), data, batch_size=batch, **settings)
    across = np.eye(d)[1] - direction * direction[1]
    across /= np.linalg.norm(across)
    seen = np.stack([draws.position @ direction, draws.position @ across], axis=-1)
    print(f"{kind.__name__} d={d}: {(seen[..., 0].mean() - mean) / sd:.3f} sd, {draws.tuned}")
    assert_within_the_bars(seen, [mean, 0.0], [sd, np.sqrt(mean / d)])


@pytest.mark.slow  # in CI far starts of other samplers
def test_a_thermostat_does_not_keep_the_heat_of_a_far_start():
    """Its time of relaxation is some hundred draws here, and a uniform point is 5,000 too high in energy."""
    kappa = 5000.0
    sampler = make(GSGNHT, gd.estimators.Full(lambda x: kappa * x[0]), Sphere(4), 5)
    draws = gd.sample(KEY, sampler, **SHORT).position
    depth = np.arange(0.5, 20_000) / 20_000 * 0.01  # 1 - x_0
    weights = np.exp(-kappa * depth) * np.sqrt(depth * (2 - depth))
    mean = np.average(depth, weights=weights)
    sd = np.sqrt(np.average((depth - mean) ** 2, weights=weights))
    across = np.sqrt(np.average(depth * (2 - depth), weights=weights) / 3)
    seen = np.stack([1.0 - draws[..., 0].astype(float), draws[..., 1]], axis=-1)
    assert_within_the_bars(seen, [mean, 0.0], [sd, across])


@pytest.mark.slow
def test_trajectories_on_a_sphere(capsys):
    """A concentration of 400 in 20 dimensions; also beside a flat part four times as wide as it is narrow."""
    d, kappa = 20, 400.0
    mu, wide = jnp.eye(d)[0], jnp.array([0.1, 1.0])
    estimator = gd.estimators.Full(lambda p: kappa * mu @ p["a"] - 0.5 * jnp.sum((p["b"] / wide) ** 2))
    pair = Product({"a": Sphere(d), "b": Euclidean(2)})
    draws = gd.sample(KEY, make(GMC, estimator, pair), **SHORT)
    mean = special.ive(d / 2, kappa) / special.ive(d / 2 - 1, kappa)
    sd = np.sqrt(1 - mean**2 - (d - 1) * mean / kappa)
    seen = np.stack(
        [draws.position["a"] @ mu, draws.position["a"][..., 1], *np.moveaxis(draws.position["b"], -1, 0)],
        axis=-1,
    )
    assert_within_the_bars(seen, [mean, 0, 0, 0], [sd, np.sqrt(mean / kappa), *np.asarray(wide)])
    assert 0.6 < draws.report.acceptance < 0.95
    assert f"num_steps {draws.tuned.num_steps}; acceptance" in capsys.readouterr().err


@pytest.mark.slow  # in CI walls of other laws
@pytest.mark.parametrize("form", ["flat", "lifted"])
def test_dirichlet(form):
    # At the walls the force is (alpha - 1)/theta, or (2 alpha - 1)/x lifted. Where its square has no mean, no
    # step size is small enough: the bias falls with its root.
    alpha = jnp.array([4.0, 5.0, 8.0]) if form == "flat" else jnp.array([2.5, 3.0, 5.0])

    def log_density(theta):
        return jnp.sum((alpha - 1) * jnp.log(theta))

    manifold = Simplex(3) if form == "flat" else SphericalSimplex(3)
    density = log_density if form == "flat" else manifold.lift(log_density)
    draws = gd.sample(KEY, make(SGGMC, gd.estimators.Full(density), manifold, 5), **SHORT).position
    theta = draws if form == "flat" else manifold.to_simplex(draws)
    a, total = np.asarray(alpha), float(alpha.sum())
    assert_within_the_bars(theta, a / total, np.sqrt(a * (total - a) / (total**2 * (total + 1))))


@pytest.mark.slow  # `test_rotations_from_minibatches` has frames in CI
@pytest.mark.parametrize(("kind", "num_steps"), [(SGGMC, 4), (GMC, 1)])
def test_matrix_von_mises_fisher(kind, num_steps):
    # Against uniform frames with weights, whose effective number is about 30,000.
    manifold, f = Stiefel(3, 2), 2.0 * jnp.array([[1.0, 0.0], [0.0, 0.7], [0.0, 0.2]])
    draws = gd.sample(
        KEY, make(kind, gd.estimators.Full(lambda x: jnp.sum(f * x)), manifold, num_steps), **SHORT
    ).position
    frames = np.asarray(manifold.random_point(KEY, (100_000,))).reshape(-1, 6)
    weights = np.asarray(jax.nn.softmax(frames @ f.ravel()))
    mean = weights @ frames
    sd = np.sqrt(weights @ (frames - mean) ** 2)
    assert_within_the_bars(draws.reshape(*draws.shape[:2], 6), mean, sd)


def logistic(size, dim, noise_variance):
    key_x, key_y = jax.random.split(jax.random.key(7))
    truth = jnp.linspace(-0.5, 0.5, dim)
    x = jax.random.normal(key_x, (size, dim)) * jnp.linspace(0.5, 1.5, dim)
    y = jax.random.bernoulli(key_y, jax.nn.sigmoid(x @ truth)).astype(x.dtype)

    def log_likelihood(w, rows):
        logits = rows[0] @ w
        return rows[1] * logits - jnp.logaddexp(0.0, logits)

    def log_prior(w):
        return -0.5 * jnp.sum(w**2)

    estimator = gd.estimators.Minibatch(log_likelihood, log_prior, size, noise_variance)
    full = gd.estimators.Full(lambda w: log_prior(w) + jnp.sum(log_likelihood(w, (x, y))))
    return estimator, full, (x, y)


def laplace(full, dim):
    """Mode and curvature there."""
    mode = jnp.zeros(dim)
    gradient, hessian = jax.jit(jax.grad(full.log_density)), jax.jit(jax.hessian(full.log_density))
    for _ in range(8):
        mode = mode - jnp.linalg.solve(hessian(mode), gradient(mode))
    return mode, jnp.linalg.inv(-hessian(mode))


@pytest.mark.parametrize(
    ("kind", "noise_variance", "num_steps"),
    [(SGGMC, "diagonal-fisher", 20), (GSGNHT, None, 80)],
)
@pytest.mark.slow
def test_logistic_regression(kind, noise_variance, num_steps):
    # At 2000 data and 4 coefficients the posterior is normal to 0.05 sd, which GMC confirms below.
    estimator, full, data = logistic(2000, 4, noise_variance)
    mode, covariance = laplace(full, 4)
    draws = gd.sample(
        KEY,
        make(kind, estimator, Euclidean(4), num_steps),
        data,
        batch_size=400,
        num_draws=250,
        num_warmup=50,
        num_chains=32,
        initial=mode,
    )
    print(draws.tuned)
    assert_within_the_bars(draws.position, np.asarray(mode), np.sqrt(np.diag(covariance)))


@pytest.mark.slow
def test_laplace_is_the_posterior_to_the_bars():
    _, full, _ = logistic(2000, 4, None)
    mode, covariance = laplace(full, 4)
    sampler = gd.samplers.GMC(full, Euclidean(4), 0.02, num_steps=8)
    draws = gd.sample(KEY, sampler, num_draws=500, num_warmup=20, num_chains=16, initial=mode)
    x = (draws.position - np.asarray(mode)) / np.sqrt(np.diag(covariance))
    assert np.max(np.abs(x.mean(axis=(0, 1)))) < 0.06
    assert np.max(np.abs(x.std(axis=(0, 1)) - 1)) < 0.03


def posterior_mean(x, mode, covariance):
    """The mode and the first-order shift of the mean from it.

    With a hundred coefficients the shift is up to 0.11 sd, at 100,000 data too: ten times the Monte Carlo
    error below.
    """
    p = jax.nn.sigmoid(x @ mode)
    third = -p * (1 - p) * (1 - 2 * p)
    return mode + covariance @ (x.T @ (third * jnp.einsum("ni,ij,nj->n", x, covariance, x))) / 2


@pytest.mark.slow
def test_large_logistic_regression_with_a_control_variate():
    estimator, full, data = logistic(100_000, 100, None)
    mode, covariance = laplace(full, 100)
    truth = posterior_mean(data[0], mode, covariance)
    centre = gd.estimators.find_mode(
        KEY,
        estimator,
        Euclidean(100),
        data,
        jnp.zeros(100),
        batch_size=500,
        num_steps=800,
        learning_rate=0.03,
    )
    estimator = gd.estimators.ControlVariate(
        estimator.log_likelihood,
        estimator.log_prior,
        data,
        centre,
        noise_variance="diagonal-fisher",
        refresh_variance_every=10,
    )
    draws = gd.sample(
        KEY,
        make(SGGMC, estimator, Euclidean(100), 20),
        data,
        batch_size=500,
        num_draws=1000,
        num_warmup=50,
        num_chains=16,
        initial=centre,
    )
    print(draws.tuned)
    assert_within_the_bars(draws.position, np.asarray(truth), np.sqrt(np.diag(covariance)))


@pytest.mark.slow
def test_large_logistic_regression_from_far_away():
    # A hundred sd away, by plain minibatches: 1,700 steps for each independent draw, so only what all
    # coefficients say together can be told. What the pilot cannot account for heats by at most 4%, it says.
    estimator, full, data = logistic(100_000, 100, "diagonal-fisher")
    mode, covariance = laplace(full, 100)
    draws = gd.sample(
        KEY,
        make(SGGMC, estimator, Euclidean(100), 100),
        data,
        batch_size=500,
        num_draws=400,
        num_warmup=200,
        num_chains=8,
        initial=lambda k: jax.random.normal(k, (100,)) / 3,
    )
    print(draws.tuned)
    x = (draws.position - np.asarray(posterior_mean(data[0], mode, covariance))) / np.sqrt(
        np.diag(covariance)
    )
    squares = (x**2).mean(axis=-1)
    print("mean square:", squares.mean())
    assert squares.mean(axis=1).std(ddof=1) / np.sqrt(8) < 0.03
    assert_means(squares, 1.0, slack=0.04)
    assert_means(x, np.zeros(100))


@pytest.mark.slow
def test_the_choice_is_kept_with_the_run(tmp_path, monkeypatch):
    estimator, data, batch, *_ = vmf_case(3, "scalar-fisher")
    run = {"data": data, "batch_size": batch, "num_warmup": 30, "num_chains": 2}
    sampler = make(SGGMC, estimator, Sphere(3))
    whole = gd.sample(KEY, sampler, num_draws=40, **run)
    first = gd.sample(KEY, sampler, num_draws=20, checkpoint=tmp_path, **run)
    assert first.tuned == whole.tuned
    # Going on takes the kept numbers; no second pilot runs.
    monkeypatch.setattr("geodrift.driver._automatic.tune_on", None)
    second = gd.sample(KEY, sampler, num_draws=40, checkpoint=tmp_path, **run)
    np.testing.assert_array_equal(second.position, whole.position)
    assert second.tuned == whole.tuned
    # A state needs the numbers: with them the run goes on to the same bits.
    with pytest.raises(ValueError, match=r"draws\.tuned\.apply"):
        gd.sample(KEY, sampler, num_draws=20, initial=first.state, data=data, batch_size=batch, num_chains=2)
    rest = {"initial": first.state, "data": data, "batch_size": batch, "num_chains": 2}
    third = gd.sample(KEY, first.tuned.apply(sampler), num_draws=20, **rest)
    np.testing.assert_array_equal(third.position, whole.position[:, 20:])


def test_a_noisier_start_begins_with_a_smaller_step():
    # The variance stated at the start is many times that at the mass; without it the first step would fail.
    data = jax.random.normal(KEY, (1000, 2))

    def log_likelihood(x, y):
        return -0.5 * jnp.sum((x - y) ** 2, axis=-1) * (1 + 0.05 * jnp.sum(x**2) * y[:, 0] ** 2)

    estimator = gd.estimators.Minibatch(log_likelihood, lambda x: 0.0, 1000, "diagonal-fisher")
    sampler = make(SGGMC, estimator, Euclidean(2))
    start = jnp.array([2.0, 2.0])
    tuned = tune(KEY, sampler, data, batch_size=50, initial=start, num_warmup=400)
    assert tuned.start_step_size < 0.5 * tuned.step_size
    assert tuned.start_steps == 200
    schedule = tuned.apply(sampler).step_size
    assert schedule(0) == pytest.approx(tuned.start_step_size)
    assert schedule(200) == pytest.approx(tuned.step_size)


@pytest.mark.parametrize(
    ("sampler", "match"),
    [
        (SGGMC(gd.estimators.Full(jnp.sum), Euclidean(2), None, friction=2.0), "friction = 2.0"),
        (gd.samplers.HMC(gd.estimators.Full(jnp.sum), Euclidean(2), None, mass=2.0), "mass with step_size"),
        (gd.samplers.GMC(gd.estimators.Full(jnp.sum), Euclidean(2), None), "the log density is flat"),
        (SGGMC(gd.estimators.Full(jnp.sum), Euclidean(2), None), "the log density is flat"),
        (SGGMC(gd.estimators.Full(lambda x: jnp.sum(jnp.log(x))), Euclidean(2), None), "step_size = None"),
    ],
)
def test_what_cannot_be_tuned_says_so(sampler, match):
    with pytest.raises(ValueError, match=match):
        gd.sample(KEY, sampler, num_draws=1, initial=jnp.zeros(2))


def test_a_bare_kernel_needs_a_number():
    sampler = make(SGGMC, gd.estimators.Full(lambda x: -jnp.sum(x**2)), Euclidean(2))
    with pytest.raises(ValueError, match="chooses it; for the bare kernel"):
        sampler.step(KEY, sampler.init(KEY, jnp.zeros(2)))
