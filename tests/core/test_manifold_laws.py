"""Do the samplers have the right law on each manifold? Closed forms and quadrature."""

import itertools
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
    Ordered,
    Orthogonal,
    PositiveOrthant,
    SpecialOrthogonal,
    Stiefel,
    Torus,
)
from law_checks import assert_means, some

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


def in_order():
    return on_grid(
        "ordered",
        Ordered(2),
        [(-5.0, 4.0), (-4.0, 5.0)],
        normal([0.4, -0.3], CORRELATED),
        moments,
        lambda x: x[..., 0] < x[..., 1],
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
    in_order(),
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


# Compiling a sampler is what a test costs, so by default each kind of motion runs under one. The exact
# sampler has the walls, at one of which the gradient is infinite.
EXACT = {"box", "lines of R^3"}
NOISY = {"angles"}
COMPARISONS = 3 * 4 * len(LAWS)


def chain_means(law, sampler, num_draws):
    """Means of the statistics, ``[chain, 1, statistic]``."""
    options = {"num_draws": num_draws, "num_warmup": 100, "num_chains": 100, "initial": law.initial}
    draws = gd.sample(KEY, sampler, **options).position
    values = jax.jit(jax.vmap(jax.vmap(law.statistics)))(draws)
    return np.asarray(values).mean(axis=1, keepdims=True)


def check(law, means):
    expected, error = np.asarray(law.expected), means.std(axis=0)[0] / 10
    print(f"{law.name}: deviations {means.mean(axis=(0, 1)) - expected} +- {error}")
    assert np.max(error) < 0.05
    keep = error > 1e-12  # a determinant has no spread
    np.testing.assert_allclose(means.mean(axis=(0, 1))[~keep], expected[~keep], rtol=1e-10)
    assert_means(means[..., keep], expected[keep], comparisons=COMPARISONS)


def extrapolated(law, make, step, num_draws):
    """Means at step 0 from those at a step and at half of it: what is left of a bias of second order is 0."""
    whole, half = (chain_means(law, make(h), num_draws) for h in (step, step / 2))
    print(f"{law.name}: bias at {step} less that at its half: {(whole - half).mean(axis=(0, 1))}")
    return (4 * half - whole) / 3


def gmc(law):
    return gd.samplers.GMC(gd.estimators.Full(law.log_density), law.manifold, 0.3, num_steps=5)


@pytest.mark.parametrize("law", some([*LAWS, gamma()], EXACT))
def test_gmc(law):
    check(law, chain_means(law, gmc(law), 300))


@pytest.mark.slow
@pytest.mark.parametrize("law", [*LAWS, gamma()], ids=lambda law: law.name)
def test_gmc_at_length(law):
    check(law, chain_means(law, gmc(law), 3000))


def sggmc(law):
    noisy = Noisy(law.log_density, law.manifold)
    return lambda h: gd.samplers.SGGMC(noisy, law.manifold, h)


@pytest.mark.slow  # in CI subtraction is exact in law, and GMC on the same manifolds
@pytest.mark.parametrize("law", some(LAWS, NOISY))
def test_sggmc_with_noise_subtracted(law):
    check(law, extrapolated(law, sggmc(law), 0.2, 2000))


@pytest.mark.slow
@laws
def test_sggmc_with_noise_subtracted_at_length(law):
    check(law, extrapolated(law, sggmc(law), 0.2, 10_000))


@pytest.mark.slow
@laws
def test_gsgnht_with_noise_of_unknown_variance(law):
    noisy = Noisy(law.log_density, law.manifold, told=False)
    check(law, extrapolated(law, lambda h: gd.samplers.GSGNHT(noisy, law.manifold, h), 0.1, 8000))


# ---------------------------------------------------------------- posteriors from minibatches

DATA_SIZE, BATCH_SIZE = 500, 50


def posterior_of_a_frame(manifold):
    """Data ``y = frame + standard normal noise``: the posterior is exp(trace(S'x)), S the sum of the data.

    A datum's gradient is the tangent part of y, whose covariance is that of the noise in every direction, as
    the scalar Fisher estimate takes it to be.
    """
    key_frame, key_noise = jax.random.split(jax.random.key(7))
    frame = manifold.random_point(key_frame)
    data = frame + jax.random.normal(key_noise, (DATA_SIZE, *frame.shape))

    def log_likelihood(x, rows):
        return jnp.sum(rows * x, axis=(1, 2))

    return data, log_likelihood, manifold.project(jnp.sum(data, axis=0))


def flat(x):
    """The log prior."""
    return 0.0 * jnp.sum(x)


def from_minibatches(manifold, data, log_likelihood, initial, step, noise_variance="scalar-fisher"):
    """Positions under SGGMC, whose gradients' noise is 40% of the heat of the chain at the step 0.01."""
    estimator = gd.estimators.Minibatch(log_likelihood, flat, DATA_SIZE, noise_variance)
    sampler = gd.samplers.SGGMC(estimator, manifold, step, friction=60.0)
    options = {"batch_size": BATCH_SIZE, "num_warmup": 60, "num_chains": 100, "initial": initial}
    return gd.sample(KEY, sampler, data, num_draws=500, **options).position


def mean_squares(draws, basis):
    """N times the squared coordinates of draws along some directions: means of each chain, about 1."""
    along = np.einsum("cdij,kij->cdk", np.asarray(draws), basis)
    return DATA_SIZE * np.mean(along**2, axis=1, keepdims=True)


@pytest.mark.slow
def test_rotations_from_minibatches():
    # At S = U diag(s) V' the posterior of R = U'xV is exp(sum s_i R_ii): by quadrature over rotation vectors,
    # whose Haar measure is (1 - cos w) / w^2.
    manifold = SpecialOrthogonal(3)
    data, log_likelihood, start = posterior_of_a_frame(manifold)
    u, s, vt = np.linalg.svd(np.asarray(data.sum(axis=0)))
    assert np.linalg.det(u @ vt) > 0
    axis = np.linspace(-0.35, 0.35, 71)
    w = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    angle2 = np.sum(w**2, axis=1)
    versine = (1 - np.cos(np.sqrt(angle2))) / np.where(angle2 > 0, angle2, 1)
    versine = np.where(angle2 > 0, versine, 0.5)
    loss = versine * (w**2 @ (s.sum() - s))  # sum s_i (1 - R_ii)
    weights = np.exp(-loss) * versine
    skew = np.sinc(np.sqrt(angle2) / np.pi)[:, None] * w  # of (R - R') / 2
    expected = 2 * DATA_SIZE * (weights @ skew**2) / weights.sum()
    basis = []
    for i, j in ((1, 2), (2, 0), (0, 1)):
        skew_form = np.zeros((3, 3))
        skew_form[j, i], skew_form[i, j] = 0.5**0.5, -(0.5**0.5)
        basis.append(u @ skew_form @ vt)
    means = [
        mean_squares(from_minibatches(manifold, data, log_likelihood, start, h), basis) for h in (0.01, 0.005)
    ]
    print("rotations from minibatches:", expected, [m.mean(axis=(0, 1)) for m in means])
    assert_means((4 * means[1] - means[0]) / 3, expected)


@pytest.mark.slow
def test_frames_from_minibatches():
    # Against the chain of all the data with a Metropolis test.
    manifold = Stiefel(4, 2)
    data, log_likelihood, start = posterior_of_a_frame(manifold)
    total = jnp.sum(data, axis=0)
    full = gd.samplers.GMC(gd.estimators.Full(lambda x: jnp.sum(total * x)), manifold, 0.03, num_steps=3)
    draws = gd.sample(KEY, full, num_draws=500, num_warmup=50, num_chains=100, initial=start).position
    units = np.eye(8).reshape(8, 4, 2)
    tangent = np.asarray(manifold.to_tangent(start, jnp.asarray(units))).reshape(8, 8)
    vectors, sizes, _ = np.linalg.svd(tangent)
    basis = vectors[:, sizes > 0.5].T.reshape(-1, 4, 2)
    assert len(basis) == manifold.point_dim
    expected = mean_squares(draws, basis)
    means = [
        mean_squares(from_minibatches(manifold, data, log_likelihood, start, h), basis) for h in (0.01, 0.005)
    ]
    print("frames:", expected.mean(axis=(0, 1)), [m.mean(axis=(0, 1)) for m in means])
    assert_means((4 * means[1] - means[0]) / 3 - expected, np.zeros(len(basis)))
    # What the noise does that is not subtracted.
    ignored = mean_squares(from_minibatches(manifold, data, log_likelihood, start, 0.01, None), basis)
    # By a sixth along the widest direction, by a third along the narrow ones.
    assert np.mean(ignored.mean(axis=(0, 1)) / expected.mean(axis=(0, 1))) > 1.2


def orthonormal_tangents(manifold, x):
    """Rows ``[dimension, *point]``, by Gram and Schmidt in the product that the metric is made of."""
    sign = np.ones(x.shape)
    if isinstance(manifold, Hyperbolic):
        sign[0] = -1
    found = []
    for unit in np.eye(x.size).reshape(x.size, *x.shape):
        u = np.asarray(manifold.to_tangent(x, jnp.asarray(unit)))
        for w in found:
            u = u - np.sum(sign * u * w) * w
        if np.sum(sign * u * u) > 1e-8:
            found.append(u / np.sqrt(np.sum(sign * u * u)))
    return np.array(found)


@pytest.mark.parametrize(
    "manifold",
    [
        Stiefel(4, 2),
        pytest.param(SpecialOrthogonal(3), marks=pytest.mark.slow),
        pytest.param(Grassmann(3, 1), marks=pytest.mark.slow),
        pytest.param(Hyperbolic(2), marks=pytest.mark.slow),
    ],
)
def test_scalar_fisher_is_the_variance_along_unit_tangent_vectors(manifold):
    # Over all minibatches of two of five data, whose derivatives are given numbers.
    x = manifold.random_point(KEY)
    data = jax.random.normal(jax.random.key(8), (5, *x.shape))
    estimator = gd.estimators.Minibatch(
        lambda x, rows: jnp.sum(rows * x, axis=tuple(range(1, rows.ndim))), flat, 5, "scalar-fisher"
    ).on(manifold)
    pairs = data[np.array(list(itertools.product(range(5), repeat=2)))]
    state = estimator.init(KEY, x)
    found = jax.vmap(lambda batch: estimator.prepare(KEY, state, x, batch)[0].variance)(pairs)
    tangents = orthonormal_tangents(manifold, x)
    assert len(tangents) == manifold.dim(x.shape)
    # The derivative along a tangent vector is the plain product.
    along = 2.5 * np.tensordot(np.sum(pairs, axis=1), tangents, axes=(range(1, x.ndim + 1),) * 2)
    assert np.mean(found) == pytest.approx(along.var(axis=0).mean(), rel=1e-10)
