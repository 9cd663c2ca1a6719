"""The linear-Gaussian case is solved exactly: no Monte Carlo error hides a wrong coefficient."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import linalg

from cases import KEY
from geodrift.integrators import COMPOSITIONS, Composition, Phase, drift, friction_noise, integrate, kick
from geodrift.integrators._friction import friction_basis
from geodrift.integrators._noise_subtraction import inject
from geodrift.manifolds import Euclidean, Product, Sphere
from law_checks import assert_means, some_of

FIELD = ["ABOBA", "BAOAB", "OBABO"]
ALL = [*FIELD, "liu"]
CURVATURE = np.array([[2.0, 0.5], [0.5, 1.0]])
FRICTION = {"scalar": np.array(1.3), "matrix": np.array([[1.3, 0.4], [0.4, 0.6]])}
VARIANCE = {
    "none": None,
    "scalar": np.array(0.7),
    "diagonal": np.array([0.9, 0.2]),
    "matrix": np.array([[0.8, 0.3], [0.3, 0.4]]),
}


@functools.partial(jax.jit, static_argnames="name")
def steps(name, x, v, error, keys, h, friction, curvature, subtracted):
    """One step from each row of (x, v), with the gradient -curvature x + error."""

    def step(x, v, error, key):
        end, outcome = integrate(
            key,
            COMPOSITIONS[name],
            Product({"a": Euclidean(2)}),
            Phase({"a": x}, {"a": v}, None),
            h,
            {"a": friction},
            lambda p: {"a": -curvature @ p["a"] + error},
            lambda p: None if subtracted is None else {"a": subtracted},
        )
        return jnp.concatenate([end.position["a"], end.velocity["a"]]), outcome.negative_variance

    return jax.vmap(step)(x, v, error, keys)


def stationary(name, friction, h, curvature=CURVATURE, noise=None, subtracted=None):
    """Stationary covariance of (x, v) on R^2 with the gradient -curvature x + N(0, noise), solved exactly."""
    # The step is affine in x, v, the gradient's error and the white noise of the key. Rows 0 to 6 have one
    # key and give the first three parts; the other rows are at 0 and give the fourth, solved for from
    # several keys.
    inputs, same, other = (
        jnp.zeros((16, 6)).at[1:7].set(jnp.eye(6)),
        jax.random.key(3),
        jax.random.split(KEY, 9),
    )
    keys = jnp.concatenate([jnp.broadcast_to(same, 7), other])
    given = (
        jnp.asarray(h),
        jnp.asarray(friction),
        curvature,
        None if subtracted is None else jnp.asarray(subtracted),
    )
    ends, negative = steps(name, inputs[:, :2], inputs[:, 2:4], inputs[:, 4:], keys, *given)
    assert not np.any(negative)
    linear = np.asarray(ends[1:7] - ends[0]).T
    white = jax.vmap(lambda k: jax.random.normal(k, (2,)))(other)
    gain, residue, *_ = np.linalg.lstsq(white, ends[7:])
    assert np.max(residue) < 1e-25
    noise = np.zeros((2, 2)) if noise is None else noise * np.eye(2) if np.ndim(noise) < 2 else noise
    move, kicked = linear[:, :4], linear[:, 4:]
    return linalg.solve_discrete_lyapunov(move, gain.T @ gain + kicked @ noise @ kicked.T)


def bias(*args, **kwargs):
    exact = np.linalg.inv(CURVATURE)
    return np.max(np.abs(stationary(*args, **kwargs)[:2, :2] - exact))


@pytest.mark.parametrize("friction", some_of(FRICTION, {"matrix"}))
@pytest.mark.parametrize("name", ALL)
def test_second_order_with_exact_gradients(name, friction):
    biases = [bias(name, FRICTION[friction], h) for h in (0.1, 0.05, 0.025)]
    if name in ("ABOBA", "BAOAB"):
        # Exact for the positions of any Gaussian, at any step size.
        assert max(biases) < 1e-12
        assert bias(name, FRICTION[friction], 0.8) < 1e-12
        return
    assert biases[0] > 1e-4
    np.testing.assert_allclose(np.divide(biases[:-1], biases[1:]), 4, rtol=0.02)


@pytest.mark.parametrize(
    "variance",
    [
        pytest.param("scalar", marks=pytest.mark.slow),
        pytest.param("diagonal", marks=pytest.mark.slow),
        "matrix",
    ],
)
@pytest.mark.parametrize("friction", FRICTION)
@pytest.mark.parametrize("name", ALL)
def test_subtracting_v_restores_second_order(name, friction, variance):
    v = VARIANCE[variance]
    noise = np.diag(v) if v.ndim == 1 else v
    steps = (0.1, 0.05, 0.025)
    ignored = [bias(name, FRICTION[friction], h, noise=noise) for h in steps]
    np.testing.assert_allclose(np.divide(ignored[:-1], ignored[1:]), 2, rtol=0.15)
    subtracted = [bias(name, FRICTION[friction], h, noise=noise, subtracted=v) for h in steps]
    if name == "ABOBA":
        assert max(subtracted) < 1e-12
    elif name == "BAOAB":
        # Its second-order term vanishes for a Gaussian; what is left is of third order.
        np.testing.assert_allclose(np.divide(subtracted[:-1], subtracted[1:]), 8, rtol=0.06)
    else:
        np.testing.assert_allclose(np.divide(subtracted[:-1], subtracted[1:]), 4, rtol=0.06)
    assert subtracted[-1] < ignored[-1] / 10


@pytest.mark.parametrize("variance", ["scalar", "diagonal", "matrix"])
@pytest.mark.parametrize("name", ["ABOBA", "OBABO"])
def test_in_a_block_subtraction_is_exact_in_law(name, variance):
    # The chain with noise and subtraction has the very law of the chain without either.
    v = VARIANCE[variance]
    noise = np.diag(v) if v.ndim == 1 else v
    for friction in FRICTION.values():
        clean = stationary(name, friction, 0.4)
        np.testing.assert_allclose(
            stationary(name, friction, 0.4, noise=noise, subtracted=v), clean, atol=1e-12
        )


@pytest.mark.parametrize(
    "variance",
    [
        pytest.param("scalar", marks=pytest.mark.slow),
        pytest.param("diagonal", marks=pytest.mark.slow),
        "matrix",
    ],
)
@pytest.mark.parametrize("friction", FRICTION)
@pytest.mark.parametrize("name", FIELD)
def test_subtraction_leaves_positions_right_where_forces_are_weak(name, friction, variance):
    # However much of the injected noise the gradient's noise replaces. Velocities of mean variance 1 would
    # leave the positions of BAOAB 5% too cold.
    v = VARIANCE[variance]
    noise = np.diag(v) if v.ndim == 1 else v
    weak = CURVATURE * 1e-4
    covariance = stationary(name, FRICTION[friction], 0.8, weak, noise=noise, subtracted=v)[:2, :2]
    np.testing.assert_allclose(covariance @ weak, np.eye(2), atol=2e-4)


@pytest.mark.parametrize("name", ALL)
def test_temperature_without_a_force(name):
    variance = stationary(name, 2.0, 0.5, np.eye(2) * 1e-9)[2, 2]
    ch = 1.0
    # Liu's splitting: v^2 -> e^(-Ch) (e^(-Ch) v^2 + 2Ch), which is cold: Ch / sinh(Ch).
    expected = ch / np.sinh(ch) if name == "liu" else 1.0
    assert variance == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("name", ALL)
def test_variance_that_exceeds_the_injected_noise_is_reported(name):
    def negative(v, friction):
        phase = Phase(jnp.zeros(3), jnp.zeros(3), None)
        _, outcome = integrate(
            KEY, COMPOSITIONS[name], Euclidean(3), phase, jnp.asarray(0.1), friction, lambda p: p, lambda p: v
        )
        return bool(outcome.negative_variance)

    fresh = 0.2 if name == "liu" else 1 - np.exp(-0.2)
    decay = np.exp(-0.1)
    share = 1.0 if name == "liu" else (1 + decay) ** 2 / 4
    limit = fresh / (0.01 * share)
    for friction in (1.0, jnp.eye(3)):
        assert not negative(jnp.asarray(0.999 * limit), friction)
        assert negative(jnp.asarray(1.001 * limit), friction)
        assert negative(jnp.diag(jnp.array([0.0, 1.001 * limit, 0.0])), friction)
        assert not negative(jnp.diag(jnp.array([0.0, 0.999 * limit, 0.0])), friction)


def sphere_point():
    x = Sphere(4).random_point(KEY, (2,))
    return x, 2 * Sphere(4).random_tangent(KEY, x)


C4 = jnp.array([[1.0, 0.4, 0.0, 0.1], [0.4, 2.0, 0.3, 0.0], [0.0, 0.3, 0.7, 0.0], [0.1, 0.0, 0.0, 3.0]])


@pytest.mark.parametrize(
    "friction", [pytest.param(jnp.asarray(0.8), marks=pytest.mark.slow), C4], ids=["scalar", "matrix"]
)
def test_ornstein_uhlenbeck_on_the_sphere(friction):
    x, v = sphere_point()
    t = 0.6
    keys = jax.random.split(KEY, (50, 2000))
    draws = jax.vmap(jax.vmap(lambda k: friction_noise(k, Sphere(4), x, v, friction, t)))(keys)
    for i in range(2):
        projector = np.eye(4) - np.outer(x[i], x[i])
        rate = projector @ (friction * np.eye(4) if friction.ndim == 0 else friction) @ projector
        mean = linalg.expm(-rate * t) @ np.asarray(v[i])
        centred = draws[..., i, :] - mean
        covariance = projector @ (np.eye(4) - linalg.expm(-2 * rate * t)) @ projector
        # A direction without noise moves by its mean alone; the guard keeps 0/0 out of the t statistics.
        assert_means(centred, np.zeros(4), comparisons=40)
        assert_means(centred[..., :, None] * centred[..., None, :], covariance, comparisons=40)
        assert np.max(np.abs(centred @ np.asarray(x[i]))) < 1e-13


@pytest.mark.parametrize(
    "composition",
    ["ABOBA", pytest.param("BAOAB", marks=pytest.mark.slow), pytest.param("liu", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    "friction", [pytest.param(jnp.asarray(0.8), marks=pytest.mark.slow), C4], ids=["scalar", "matrix"]
)
@pytest.mark.parametrize("form", ["scalar", pytest.param("diagonal", marks=pytest.mark.slow), "matrix"])
def test_injected_noise_on_the_sphere_has_the_stated_covariance(composition, friction, form):
    x, _ = sphere_point()
    h, subtraction = 0.3, COMPOSITIONS[composition].subtraction
    flow = "N" if composition == "liu" else "O"
    v = {
        "scalar": jnp.asarray(0.5),
        "diagonal": jnp.array([0.5, 0.1, 0.9, 0.3]),
        "matrix": jnp.array([[0.5, 0.2, 0, 0], [0.2, 0.4, 0, 0], [0, 0, 0.3, 0.1], [0, 0, 0.1, 0.6]]),
    }[form]
    basis = friction_basis(Sphere(4), x, friction, None, v)
    keys = jax.random.split(KEY, (50, 1000))

    def draw(key):
        return inject(key, Sphere(4), x, basis, jnp.asarray(h), v, flow, subtraction)

    draws, negative = jax.vmap(jax.vmap(draw))(keys)
    assert not np.any(negative)
    for i in range(2):
        projector = np.eye(4) - np.outer(x[i], x[i])
        rate = projector @ (friction * np.eye(4) if friction.ndim == 0 else friction) @ projector
        noise = projector @ (np.diag(np.broadcast_to(v, 4)) if v.ndim < 2 else v) @ projector
        decay = linalg.expm(-rate * h)
        block = (np.eye(4) + decay) / 2
        lost = {"kicked": block @ noise @ block, "injected": noise}[subtraction]
        fresh = 2 * rate * h if flow == "N" else projector @ (np.eye(4) - decay @ decay) @ projector
        sample = draws[..., i, :, None] * draws[..., i, None, :]
        assert_means(sample, fresh - h * h * lost, comparisons=9 * 4 * 16)


def test_kick_and_drift_are_the_exact_flows():
    x, v = sphere_point()
    g = jnp.arange(8.0).reshape(2, 4)
    kicked = kick(Sphere(4), x, v, g, 0.3)
    expected = v + 0.3 * (g - x * np.sum(x * g, axis=1, keepdims=True))
    np.testing.assert_allclose(kicked, expected, atol=1e-15)
    y, _ = drift(Sphere(4), x, v, 0.3)
    angle = 0.3 * np.linalg.norm(v, axis=1)
    np.testing.assert_allclose(np.sum(x * y, axis=1), np.cos(angle), atol=1e-14)


@pytest.mark.parametrize("xi", [0.7, 0.0, -0.4])
def test_thermostat_damps_and_heats_exactly(xi):
    # One step without a force from v: v -> e^(-xi h) v + sqrt(C (1 - e^(-2 xi h)) / xi) z, for either sign
    # of xi.
    h, c, n = 0.5, 1.2, 3
    v = jnp.array([1.0, -2.0, 0.5])
    frozen = Phase(jnp.zeros(n), v, jnp.asarray(xi))

    def step(key, velocity):
        phase = frozen._replace(velocity=velocity)
        end, _ = integrate(
            key, COMPOSITIONS["OBABO"], Euclidean(n), phase, jnp.asarray(h), c, jnp.zeros_like, lambda p: None
        )
        return end

    heated = xi + h * (np.sum(v**2) / n - 1)
    end = step(KEY, v)
    assert end.thermostat == pytest.approx(heated)
    strength = 2 * c * h if heated == 0 else c * (1 - np.exp(-2 * heated * h)) / heated
    white = np.asarray(jax.random.normal(KEY, (n,)))
    np.testing.assert_allclose(end.velocity, np.exp(-heated * h) * v + np.sqrt(strength) * white, rtol=1e-12)
    unit = v / jnp.sqrt(jnp.mean(v**2))  # its temperature is 1, so the thermostat stands still
    still = step(KEY, unit)
    strength = 2 * c * h if xi == 0 else c * (1 - np.exp(-2 * xi * h)) / xi
    np.testing.assert_allclose(still.velocity, np.exp(-xi * h) * unit + np.sqrt(strength) * white, rtol=1e-9)


@pytest.mark.parametrize("flow", ["O", "N"])
@pytest.mark.parametrize("leaves", [1, 2])
def test_several_stochastic_flows_are_independent(flow, leaves):
    flows = ((flow, 0.5), ("A", 0.5), (flow, 0.5), ("A", 0.5), ("B", 1.0))
    position = {"ab"[i]: jnp.zeros(3) for i in range(leaves)}

    def velocity(key, variance=None):
        end, _ = integrate(
            key,
            Composition("twice", flows, "split"),
            Product(Euclidean(3)),
            Phase(position, position, None),
            jnp.asarray(0.6),
            1.5,
            lambda p: jax.tree.map(jnp.zeros_like, p),
            lambda p: variance,
        )
        return jnp.concatenate(jax.tree.leaves(end.velocity))

    ends = jax.vmap(velocity)(jax.random.split(KEY, 20000))
    ch = 1.5 * 0.6
    variance = 1 - np.exp(-2 * ch) if flow == "O" else 2 * ch
    products = ends[:, :, None] * ends[:, None, :]
    assert_means(products[:, None], variance * np.eye(3 * leaves), comparisons=144)
    with pytest.raises(
        ValueError, match=r"composition twice: noise_variance .* a single O or N, and this has 2"
    ):
        velocity(KEY, jnp.asarray(0.1))


def test_unknown_composition_is_refused():
    from geodrift.integrators import composition_named

    with pytest.raises(ValueError, match="ABOBA, OBABO, BAOAB, liu"):
        composition_named("ABO")
