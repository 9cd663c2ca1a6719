"""Do the samplers have the right law on each manifold? Closed forms and quadrature."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import geodrift as gd
from cases import KEY
from geodrift.manifolds import (
    Ball,
    Box,
    Grassmann,
    HalfSpaces,
    Hyperbolic,
    Manifold,
    Orthogonal,
    PositiveOrthant,
    SpecialOrthogonal,
    Stiefel,
    Torus,
)
from law_checks import assert_means

INF = float("inf")


class Law(NamedTuple):
    name: str
    manifold: Manifold
    log_density: Any
    statistics: Any  # of one draw
    expected: Any  # of the statistics
    initial: Any = None


def von_mises_fisher_frame(n, concentration):
    """log p = k X_11 on Stiefel(n, 2): the first column is von Mises-Fisher, the second uniform across it."""
    mean = special.ive(n / 2, concentration) / special.ive(n / 2 - 1, concentration)
    square = 1 - (n - 1) * mean / concentration
    return Law(
        f"frames of R^{n}",
        Stiefel(n, 2),
        lambda x: concentration * x[0, 0],
        lambda x: jnp.stack([x[0, 0], x[0, 0] ** 2, x[0, 1] ** 2]),
        [mean, square, (1 - square) / (n - 1)],
    )


def quadrature(points, weights, *functions):
    return [np.sum(weights * f(points)) / np.sum(weights) for f in functions]


def rotation_moments(concentration):
    """Moments of the trace when log p = k trace(X) on SO(3): the angle has the density (1 - cos t) / pi."""
    t = (np.arange(20_000) + 0.5) / 20_000 * np.pi
    trace = 1 + 2 * np.cos(t)
    weights = (1 - np.cos(t)) * np.exp(concentration * trace)
    return quadrature(trace, weights, lambda x: x, lambda x: x**2)


def rotations():
    moments = rotation_moments(0.7)

    def statistics(x):
        return jnp.stack([jnp.trace(x), jnp.trace(x) ** 2])

    return Law("rotations", SpecialOrthogonal(3), lambda x: 0.7 * jnp.trace(x), statistics, moments)


def reflections():
    # Minus a rotation, for which the density is that with -k: the chain stays where it starts.
    first, second = rotation_moments(-0.7)

    def statistics(x):
        return jnp.stack([jnp.trace(x), jnp.trace(x) ** 2, jnp.linalg.det(x)])

    start = jnp.diag(jnp.array([1.0, 1.0, -1.0]))
    return Law(
        "reflections", Orthogonal(3), lambda x: 0.7 * jnp.trace(x), statistics, [-first, second, -1], start
    )


def planes():
    # |P e_1|^2 of a uniform plane of R^4 is Beta(1, 1); the rest of the trace is shared evenly.
    b = (np.arange(20_000) + 0.5) / 20_000
    first, second = quadrature(b, np.exp(3 * b), lambda b: b, lambda b: b**2)

    def share(x):
        return jnp.sum(x**2, axis=-1)

    return Law(
        "planes of R^4",
        Grassmann(4, 2),
        lambda x: 3 * share(x)[0],
        lambda x: jnp.stack([share(x)[0], share(x)[0] ** 2, share(x)[1]]),
        [first, second, (2 - first) / 3],
    )


def lines():
    # Bingham's law, by quadrature over the sphere.
    z, angle = np.meshgrid((np.arange(400) + 0.5) / 400 * 2 - 1, np.arange(400) / 400 * 2 * np.pi)
    axis = np.stack([np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z])
    weights = np.exp(3 * axis[0] ** 2 + 1.5 * axis[1] ** 2)
    expected = quadrature(axis, weights, lambda a: a[0] ** 2, lambda a: a[1] ** 2, lambda a: a[0] ** 4)
    return Law(
        "lines of R^3",
        Grassmann(3, 1),
        lambda x: 3 * x[0, 0] ** 2 + 1.5 * x[1, 0] ** 2,
        lambda x: jnp.stack([x[0, 0] ** 2, x[1, 0] ** 2, x[0, 0] ** 4]),
        expected,
    )


def on_grid(name, manifold, ranges, log_density, statistics, inside=None):
    """A law on a part of the plane, by the midpoint rule."""
    cells = [(np.arange(800) + 0.5) / 800 * (high - low) + low for low, high in ranges]
    points = np.stack(np.meshgrid(*cells, indexing="ij"), axis=-1).reshape(-1, 2)
    if inside is not None:
        points = points[inside(points)]
    weights = np.exp(jax.vmap(log_density)(points))
    return Law(
        name, manifold, log_density, statistics, weights @ jax.vmap(statistics)(points) / weights.sum()
    )


def angles():
    def log_density(x):
        return 1.5 * jnp.cos(x[0] - 3.0) + jnp.cos(x[1]) + jnp.sin(x[0] - 3.0) * jnp.sin(x[1])

    def statistics(x):
        return jnp.stack([jnp.cos(x[0]), jnp.sin(x[0]), jnp.cos(x[1]), jnp.sin(x[0]) * jnp.sin(x[1])])

    return on_grid("angles", Torus(2), [(-np.pi, np.pi)] * 2, log_density, statistics)


def moments(x):
    return jnp.stack([x[0], x[1], x[0] ** 2, x[0] * x[1]])


def normal(mean, precision):
    mean, precision = jnp.array(mean), jnp.array(precision)
    return lambda x: -(x - mean) @ precision @ (x - mean) / 2


def positive_numbers():
    cut = stats.truncnorm(-0.5, INF, loc=0.5)

    def log_density(x):
        return jnp.log(1 + x[0]) - x[0] - 2 * x[1] - (x[2] - 0.5) ** 2 / 2

    expected = [1.5, 0.5, cut.mean(), 0.5, cut.moment(2)]
    return Law(
        "positive numbers",
        PositiveOrthant(3),
        log_density,
        lambda x: jnp.concatenate([x, x[1:] ** 2]),
        expected,
    )


def gamma():
    # Its gradient is infinite at the wall: without a Metropolis test a step near it may lead anywhere.
    return Law(
        "gamma",
        PositiveOrthant(1),
        lambda x: 1.5 * jnp.log(x[0]) - x[0],
        lambda x: jnp.stack([x[0], jnp.exp(-x[0])]),
        [2.5, 0.5**2.5],
    )


CORRELATED = [[2.0, -1.0], [-1.0, 1.5]]
TRIANGLE = ([[-1.0, 0.2], [0.0, -1.0], [1.0, 2.0]], [0.5, 0.3, 2.0])


def in_box():
    manifold, log_density = Box([-1.0, 0.0], [0.5, INF]), normal([1.0, -0.5], CORRELATED)
    return on_grid("box", manifold, [(-1.0, 0.5), (0.0, 6.0)], log_density, moments)


def in_ball():
    def inside(x):
        return np.sum(x**2, axis=-1) < 1

    return on_grid("ball", Ball(2), [(-1, 1)] * 2, normal([1.0, -0.5], CORRELATED), moments, inside)


def in_triangle():
    a, b = (np.array(part) for part in TRIANGLE)
    return on_grid(
        "half-spaces",
        HalfSpaces(a, b),
        [(-0.6, 2.7), (-0.3, 1.2)],
        normal([1.0, 0.8], CORRELATED),
        moments,
        lambda x: np.all(x @ a.T < b, axis=-1),
    )


def hyperbolic():
    # In the plane cosh of the distance has the density exp(-k c) on [1, inf); the mean points to the centre.
    centre, k = jnp.array([np.cosh(1.0), 0.6 * np.sinh(1.0), 0.8 * np.sinh(1.0)]), 2.0
    mean = 1 + 1 / k

    def cosh(x):
        return x[0] * centre[0] - x[1:] @ centre[1:]

    return Law(
        "hyperbolic plane",
        Hyperbolic(2),
        lambda x: -k * cosh(x),
        lambda x: jnp.stack([cosh(x), x[1], x[2], cosh(x) ** 2]),
        [mean, mean * centre[1], mean * centre[2], 1 + 2 / k + 2 / k**2],
    )


LAWS = [
    von_mises_fisher_frame(3, 5.0),
    von_mises_fisher_frame(6, 5.0),
    rotations(),
    reflections(),
    planes(),
    lines(),
    angles(),
    positive_numbers(),
    in_box(),
    in_ball(),
    in_triangle(),
    hyperbolic(),
]
laws = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


class Noisy(gd.estimators.Estimator):
    """The exact gradient and normal noise of a known variance along each unit tangent vector."""

    log_density: Any = eqx.field(static=True)
    manifold: Manifold
    variance: float = 4.0
    told: bool = eqx.field(static=True, default=True)

    def init(self, key, position):
        return ()

    def prepare(self, key, state, position, batch):
        return key, state

    def gradient(self, position, prepared):
        noise = self.manifold.random_tangent(prepared, position)
        if isinstance(self.manifold, Hyperbolic):
            noise = noise.at[..., 0].multiply(-1)  # as a derivative
        return jax.grad(self.log_density)(position) + jnp.sqrt(self.variance) * noise

    def noise_variance(self, position, prepared):
        return self.variance if self.told else None


def check(law, sampler, slack, num_draws):
    options = {"num_draws": num_draws, "num_warmup": 200, "num_chains": 100, "initial": law.initial}
    draws = gd.sample(KEY, sampler, **options).position
    values = jax.jit(jax.vmap(jax.vmap(law.statistics)))(draws)
    mean = np.asarray(values).mean(axis=(0, 1))
    error = np.asarray(values).mean(axis=1).std(axis=0) / 10
    print(f"{law.name}: deviations {mean - law.expected} +- {error}")
    assert np.max(error) < 0.05
    keep = error > 1e-12  # a determinant has no spread
    np.testing.assert_allclose(mean[~keep], np.asarray(law.expected)[~keep], rtol=1e-10)
    assert_means(
        values[..., keep], np.asarray(law.expected)[keep], slack=slack, comparisons=3 * 4 * len(LAWS)
    )


@pytest.mark.parametrize("law", [*LAWS, gamma()], ids=lambda law: law.name)
def test_gmc(law):
    check(
        law, gd.samplers.GMC(gd.estimators.Full(law.log_density), law.manifold, 0.3, num_steps=5), 0.0, 1500
    )


@laws
def test_sggmc_with_noise_subtracted(law):
    check(law, gd.samplers.SGGMC(Noisy(law.log_density, law.manifold), law.manifold, 0.1), 0.005, 4000)


@pytest.mark.slow
@laws
def test_gsgnht_with_noise_of_unknown_variance(law):
    noisy = Noisy(law.log_density, law.manifold, told=False)
    check(law, gd.samplers.GSGNHT(noisy, law.manifold, 0.05), 0.008, 6000)
