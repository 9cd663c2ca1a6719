"""What a sampler promises beside its law."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from cases import KEY, MATRIX, SAMPLERS
from geodrift.manifolds import Euclidean, Hyperbolic, Product, Sphere, Stiefel
from law_checks import some

FULL = gd.estimators.Full(lambda x: x[0])
X = jnp.array([0.0, 0.6, 0.8])


@pytest.mark.parametrize("case", some(SAMPLERS, {case.name for case in SAMPLERS if not case.variant}))
@pytest.mark.parametrize(
    "dtype", [jnp.float32, pytest.param(jnp.float64, marks=pytest.mark.slow)], ids=["float32", "float64"]
)
def test_dtype_of_the_position_is_kept(case, dtype):
    sampler = case.make(FULL, Euclidean(3) if case.flat else Sphere(3), 0.1)
    state = sampler.init(KEY, X.astype(dtype))
    for count in range(3):
        state, info = sampler.step(jax.random.fold_in(KEY, count), state)
        assert state.position.dtype == dtype
        assert info.result == gd.Result.OK
        assert state.count == count + 1
    if not case.flat:
        assert np.linalg.norm(state.position) == pytest.approx(1, abs=1e-6)


def test_float32_and_float64_take_the_same_step():
    # With the same noise, to float32 rounding: the noise is given by hand through a friction too small to
    # inject any.
    sampler = gd.samplers.SGGMC(FULL, Sphere(3), 0.3, friction=1e-12, num_steps=4)
    v = jnp.array([0.5, 0.8, -0.6])
    ends = []
    for dtype in (jnp.float32, jnp.float64):
        state = sampler.init(KEY, X.astype(dtype))._replace(velocity=v.astype(dtype))
        ends.append(sampler.step(KEY, state)[0])
    np.testing.assert_allclose(ends[0].position, ends[1].position, atol=2e-6)
    np.testing.assert_allclose(ends[0].velocity, ends[1].velocity, atol=5e-6)


def test_gmc_rejects_a_proposal_that_is_not_finite():
    full = gd.estimators.Full(lambda x: jnp.where(x[0] > 1.0, jnp.nan, -x[0]))
    sampler = gd.samplers.GMC(full, Euclidean(1), 1.0, num_steps=3)
    state, take = sampler.init(KEY, jnp.array([0.9])), jax.jit(sampler.step)
    met_nan = False
    for count in range(200):
        state, info = take(jax.random.fold_in(KEY, count), state)
        met_nan |= bool(info.acceptance == 0)
        assert state.position[0] <= 1
        assert info.result == gd.Result.OK
    assert met_nan


def test_gmc_keeps_density_and_gradient_of_its_position():
    full = gd.estimators.Full(lambda x: 20 * jnp.sin(3 * x[0]) + x[1])
    sampler = gd.samplers.GMC(full, Sphere(3), 0.5, num_steps=2)
    state, outcomes, take = sampler.init(KEY, X), set(), jax.jit(sampler.step)
    for count in range(40):
        before = state.position
        state, _ = take(jax.random.fold_in(KEY, count), state)
        outcomes.add(bool(jnp.all(before == state.position)))
        value, gradient = full.value_and_gradient(state.position)
        assert state.log_density == pytest.approx(float(value), rel=1e-12)
        np.testing.assert_allclose(state.gradient, gradient, rtol=1e-12)
    assert outcomes == {True, False}  # rejections and acceptances


def test_gmc_acceptance_is_one_without_a_force():
    sampler = gd.samplers.GMC(gd.estimators.Full(lambda x: 0.0 * x[0]), Sphere(3), 0.7)
    _, info = sampler.step(KEY, sampler.init(KEY, X))
    assert info.acceptance == pytest.approx(1, abs=1e-12)


def test_info_reports_what_it_says():
    sampler = gd.samplers.SGGMC(FULL, Sphere(3), 0.2)
    state, info = sampler.step(KEY, sampler.init(KEY, X))
    assert info.kinetic_temperature == pytest.approx(float(state.velocity @ state.velocity) / 2)
    assert info.residual < 1e-14
    assert np.isnan(info.acceptance)
    # The gradient is taken at mid-drift: on the sphere the tangent part of e_0 there has norm sqrt(1 -
    # x_0^2).
    still = gd.samplers.SGGMC(FULL, Sphere(3), 1e-9)
    _, info = still.step(KEY, still.init(KEY, X))
    assert info.gradient_norm == pytest.approx(1.0)


def test_step_under_plain_jit():
    sampler = gd.samplers.SGGMC(FULL, Sphere(3), 0.2, friction=MATRIX)
    state = sampler.init(KEY, X)
    compiled = jax.jit(sampler.step)(KEY, state)
    np.testing.assert_allclose(compiled[0].position, sampler.step(KEY, state)[0].position, rtol=1e-12)


def test_friction_leaf_by_leaf():
    # Each leaf decays by its own friction; without a force and with V taking all the noise nothing else
    # moves it.
    manifold = Product({"a": Euclidean(1), "b": Euclidean(2)})
    full = gd.estimators.Full(lambda p: 0.0 * p["a"][0])
    rates = {"a": 0.5, "b": jnp.diag(jnp.array([1.0, 3.0]))}
    sampler = gd.samplers.SGGMC(full, manifold, 0.4, friction=rates)
    start = {"a": jnp.zeros(1), "b": jnp.zeros(2)}
    state = sampler.init(KEY, start)
    ends = []
    for speed in (1.0, 0.0):
        v = jax.tree.map(lambda leaf, s=speed: leaf + s, start)
        ends.append(sampler.step(KEY, state._replace(velocity=v))[0].velocity)
    decay = jax.tree.map(jnp.subtract, *ends)
    np.testing.assert_allclose(decay["a"], np.exp(-0.2), rtol=1e-12)
    np.testing.assert_allclose(decay["b"], np.exp([-0.4, -1.2]), rtol=1e-12)


def test_schedules():
    decay = gd.schedules.PolynomialDecay(0.5, b=2.0, c=0.5)
    assert decay(jnp.asarray(7)) == pytest.approx(0.5 / 3)
    warm = gd.schedules.WarmUp(1.0, 0.01, 10)
    assert [float(warm(jnp.asarray(n))) for n in (0, 5, 10, 99)] == pytest.approx([1.0, 0.1, 0.01, 0.01])
    # The step uses it: two counts, two step sizes.
    sampler = gd.samplers.SGGMC(FULL, Sphere(3), decay)
    state = sampler.init(KEY, X)
    for count in (0, 7):
        fixed = gd.samplers.SGGMC(FULL, Sphere(3), float(decay(jnp.asarray(count))))
        got, _ = sampler.step(KEY, state._replace(count=jnp.asarray(count)))
        np.testing.assert_allclose(got.position, fixed.step(KEY, state)[0].position, rtol=1e-14)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: gd.samplers.SGGMC(FULL, Sphere(3), 0.0), r"step_size = 0\.0"),
        (lambda: gd.samplers.SGGMC(FULL, Sphere(3), float("nan")), "step_size = nan"),
        (lambda: gd.samplers.SGGMC(FULL, Sphere(3), 0.1, friction=-1.0), r"friction = -1\.0"),
        (lambda: gd.samplers.SGGMC(FULL, Sphere(3), 0.1, friction=jnp.ones(3)), "friction has shape"),
        (lambda: gd.samplers.SGGMC(FULL, Sphere(3), 0.1, friction=-MATRIX), "positive definite"),
        (lambda: gd.samplers.SGGMC(FULL, Sphere(3), 0.1, friction=1e-10 * jnp.triu(MATRIX)), "symmetric"),
        (lambda: gd.samplers.SGGMC(FULL, Sphere(3), 0.1, num_steps=0), "num_steps = 0"),
        (lambda: gd.samplers.SGGMC(FULL, Sphere(3), 0.1, composition="BAB"), "composition = 'BAB'"),
        (lambda: gd.samplers.GSGNHT(FULL, Sphere(3), 0.1, thermostat="each"), "thermostat = 'each'"),
        (lambda: gd.samplers.GSGNHT(FULL, Sphere(3), 0.1, friction=MATRIX), "must be a number"),
        (lambda: gd.samplers.GMC(gd.estimators.Minibatch(len, len, 3), Sphere(3), 0.1), "needs Full"),
        (lambda: gd.samplers.GMC(FULL, Sphere(3), 0.1, num_steps=1.5), r"num_steps = 1\.5"),
        (lambda: gd.samplers.SGGMC(FULL, Sphere(3), 0.1).init(KEY, jnp.ones(3)), "off the manifold"),
        (lambda: gd.schedules.PolynomialDecay(0.1, c=-1.0), "power"),
        (lambda: gd.schedules.WarmUp(1.0, 0.1, 0), "num_steps"),
    ],
)
@pytest.mark.usefixtures("unchecked_types")
def test_wrong_arguments_raise(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def test_matrix_friction_where_it_has_no_meaning_raises():
    matrix = jnp.eye(2)
    for manifold in (Stiefel(3, 2), Hyperbolic(1)):
        with pytest.raises(ValueError, match=r"friction has shape \(2, 2\).*must be a number"):
            gd.samplers.SGGMC(FULL, manifold, 0.1, friction=matrix)
    product = Product({"frame": Stiefel(3, 2)})
    sampler = gd.samplers.SGGMC(gd.estimators.Full(lambda p: p["frame"][0, 0]), product, 0.1, friction=matrix)
    state = sampler.init(KEY, product.random_point(KEY))
    with pytest.raises(ValueError, match=r"friction has shape \(2, 2\).*must be a number"):
        sampler.step(KEY, state)


def test_noise_variance_where_it_has_no_meaning_raises():
    for manifold, shape in ((Stiefel(3, 2), (3, 2, 2)), (Hyperbolic(2), (3,))):
        estimator = gd.estimators.Minibatch(
            lambda x, y: y * x.ravel()[0], lambda x: 0.0 * x.ravel()[0], 4, jnp.ones(shape)
        )
        sampler = gd.samplers.SGGMC(estimator, manifold, 0.1)
        state = sampler.init(KEY, manifold.random_point(KEY))
        with pytest.raises(ValueError, match="noise_variance has shape"):
            sampler.step(KEY, state, jnp.ones(2))


def test_a_minibatch_for_each_inner_step():
    estimator = gd.estimators.Minibatch(lambda x, rows: rows @ x, lambda x: -jnp.sum(x**2), 50)
    sampler = gd.samplers.SGHMC(estimator, Euclidean(3), 0.1, friction=1.0, num_steps=5)
    state = sampler.init(KEY, jnp.zeros(3))
    with pytest.raises(ValueError, match=r"num_steps = 5 .*leading axes \[5, batch\].*reuse_batch"):
        sampler.step(KEY, state, jnp.ones((20, 3)))
    sampler.step(KEY, state, jnp.ones((5, 20, 3)))


def test_a_tree_on_a_space_of_one_array_raises():
    sampler = gd.samplers.HMC(gd.estimators.Full(lambda p: -jnp.sum(p["a"] ** 2)), Euclidean(3), 0.1)
    for start in (lambda: sampler.init(KEY, {"a": jnp.zeros(3)}), lambda: gd.sample(
        KEY, sampler, num_draws=5, initial={"a": jnp.zeros(3)})):  # fmt: skip
        with pytest.raises(ValueError, match=r"position is a dict: Euclidean is .*Product"):
            start()


def test_other_numbers_of_the_same_function_compile_nothing():
    calls = []

    def log_density(width, x):
        calls.append(0)
        return -0.5 * jnp.sum((x / width) ** 2)

    found = []
    for width in (np.ones(2, np.float32), np.full(2, 5.0, np.float32)):
        full = gd.estimators.Full(jax.tree_util.Partial(log_density, width))
        sampler = gd.samplers.HMC(full, Euclidean(2), 0.5, num_steps=3)
        draws = gd.sample(KEY, sampler, num_draws=300, num_chains=2, initial=jnp.zeros(2))
        found.append((len(calls), float(draws.position.std())))
    assert found[1][0] == found[0][0]
    assert found[0][1] == pytest.approx(1.0, rel=0.2)
    assert found[1][1] > 2.5
