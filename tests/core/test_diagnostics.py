import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cases import KEY
from geodrift import diagnostics
from geodrift.manifolds import Euclidean, Orthogonal, Simplex, SpecialOrthogonal, Sphere, Stiefel


def test_configurational_temperature_of_exact_draws():
    # vMF on the sphere of R^3 by inversion of its cosine; p^(1/T) is a vMF of concentration kappa / T.
    kappa, number, mu = 4.0, 200_000, jnp.array([0.0, 0.0, 1.0])
    for temperature in (1.0, 1.3):
        c = kappa / temperature
        u = jax.random.uniform(KEY, (number, 2))
        cosine = 1 + jnp.log(u[:, 0] + (1 - u[:, 0]) * jnp.exp(-2 * c)) / c
        angle, sine = 2 * jnp.pi * u[:, 1], jnp.sqrt(1 - cosine**2)
        x = jnp.stack([sine * jnp.cos(angle), sine * jnp.sin(angle), cosine], axis=1)
        pairs = x.reshape(-1, 2, 3)
        gradients = jnp.broadcast_to(kappa * mu, pairs.shape)
        for direction in (None, jnp.broadcast_to(mu, (2, 3))):
            t = diagnostics.configurational_temperature(Sphere(3), pairs, gradients, direction)
            assert t == pytest.approx(temperature, rel=0.006)


def test_configurational_temperature_on_flat_space():
    x = 1.0 + jnp.sqrt(1.4) * jax.random.normal(KEY, (50_000, 2, 3))
    t = diagnostics.configurational_temperature(Euclidean(3), x, -(x - 1.0))
    assert t == pytest.approx(1.4, rel=4 * np.sqrt(2 / 300_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "manifold",
    [
        Stiefel(4, 2),
        Orthogonal(3),
        SpecialOrthogonal(3),
    ],
    ids=repr,
)
def test_configurational_temperature_on_frames(manifold):
    # Uniform frames, drawn again with the weights of a matrix von Mises-Fisher law at two temperatures.
    number = 200_000
    f = 1.2 * jnp.eye(*manifold.point_shape)[::-1] + 0.3
    frames = manifold.random_point(KEY, (number,))
    for temperature in (1.0, 1.4):
        log_weight = jnp.sum(frames * f, axis=(1, 2)) / temperature
        rows = jax.random.choice(KEY, number, (number,), p=jax.nn.softmax(log_weight))
        x = frames[rows]
        t = diagnostics.configurational_temperature(manifold, x, jnp.broadcast_to(f, x.shape))
        assert t == pytest.approx(temperature, rel=0.02)


@pytest.mark.usefixtures("unchecked_types")
def test_configurational_temperature_refuses():
    x = jnp.ones((4, 3))
    with pytest.raises(ValueError, match="must be a Sphere, Euclidean, Stiefel"):
        diagnostics.configurational_temperature(Simplex(3), x, x)
    with pytest.raises(ValueError, match="gradients have shape"):
        diagnostics.configurational_temperature(Sphere(3), x, x[:2])


def test_kinetic_temperature_divides_by_the_dimension():
    v = jnp.array([[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
    x = jnp.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    assert diagnostics.kinetic_temperature(Sphere(3), x, v) == pytest.approx(25 / 4)


def test_effective_size_of_an_autoregression():
    # AR(1): the effective size is n (1 - a) / (1 + a); R-hat sees two levels.
    rng, a, n = np.random.default_rng(0), 0.8, 20_000
    x = rng.normal(size=(4, n, 2))
    for i in range(1, n):
        x[:, i] = a * x[:, i - 1] + np.sqrt(1 - a * a) * x[:, i]
    expected = 4 * n * (1 - a) / (1 + a)
    np.testing.assert_allclose(diagnostics.ess(x, method="mean"), expected, rtol=0.1)
    np.testing.assert_allclose(diagnostics.mcse(x), 1 / np.sqrt(expected), rtol=0.06)
    assert np.all(diagnostics.rhat(x) < 1.005)
    shifted = x + np.array([0.0, 0.0, 2.0, 2.0])[:, None, None]
    assert np.all(diagnostics.rhat(shifted) > 1.3)


@pytest.mark.usefixtures("unchecked_types")
def test_draws_without_an_axis_of_chains_are_told_what_to_give():
    """Of `draws[None]` R-hat is NaN."""
    with pytest.raises(ValueError, match=r"of a single chain give its halves, draws\["):
        diagnostics.rhat(np.zeros(10))
    with pytest.raises(ValueError, match=r"of a single chain give draws\[None\]"):
        diagnostics.ess(np.zeros(10))


@pytest.mark.parametrize("function", [diagnostics.ess, diagnostics.mcse])
def test_methods_of_a_probability_are_refused(function):
    with pytest.raises(ValueError, match="method = 'quantile': is of a probability"):
        function(np.zeros((4, 10)), method="quantile")
