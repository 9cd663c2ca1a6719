"""Laws on the manifolds beyond the sphere and the simplex; means by quadrature where they have no formula."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special, stats

from correctness.target import Target, rejection, resultant, tilted_mean
from geodrift.manifolds import (
    Ball,
    Box,
    Grassmann,
    HalfSpaces,
    Hyperbolic,
    Orthogonal,
    PositiveOrthant,
    SpecialOrthogonal,
    Stiefel,
    Torus,
)

# A standard error in these, whose geodesics are dear, in standard deviations of the moment.
DEAR = 0.004


def uniform_times(name, manifold, log_density, largest, moments, **settings):
    """A density relative to the uniform law, drawn by rejection; ``largest`` is its largest logarithm."""
    draw = rejection(manifold.random_point, lambda x: log_density(x) - largest)
    return Target(name, manifold, log_density, draw, moments, **settings)


def matrix_von_mises_fisher():
    """exp(2 x_00 + x_11) on orthonormal pairs of R^3.

    Given the first column the second is on a circle, over which exp(x_11) is a Bessel function.
    """
    a, b = 2.0, 1.0
    nodes, weights = np.polynomial.legendre.leggauss(200)
    angle = 2 * np.pi * (np.arange(400) + 0.5) / 400
    u, angle = np.meshgrid(nodes, angle, indexing="ij")
    second = np.sqrt(1 - u**2) * np.cos(angle)  # of the first column
    radius = np.sqrt(1 - second**2)
    density = weights[:, None] * np.exp(a * u)
    total = np.sum(density * special.i0(b * radius))
    means = [
        np.sum(density * special.i0(b * radius) * u) / total,
        np.sum(density * special.i1(b * radius) * radius) / total,
    ]
    return uniform_times(
        "matrix von Mises-Fisher",
        Stiefel(3, 2),
        lambda x: a * x[0, 0] + b * x[1, 1],
        a + b,
        {"x_00": (lambda x: x[0, 0], float(means[0])), "x_11": (lambda x: x[1, 1], float(means[1]))},
        step=0.5,
        settle=8.0,
        error=DEAR,
    )


def trace_of_a_rotation():
    """exp(0.7 trace x): the angle t has the density (1 - cos t) exp(1.4 cos t)."""
    t = np.pi * (np.arange(2000) + 0.5) / 2000
    density = (1 - np.cos(t)) * np.exp(1.4 * np.cos(t))
    return uniform_times(
        "exp(0.7 trace x)",
        SpecialOrthogonal(3),
        lambda x: 0.7 * jnp.trace(x),
        2.1,
        {"trace x": (jnp.trace, float(np.sum(density * (1 + 2 * np.cos(t))) / np.sum(density)))},
        step=0.5,
        settle=8.0,
        error=DEAR,
    )


def torus():
    """exp(2 cos a + cos(a - b)): a and a - b are independent von Mises angles."""
    return uniform_times(
        "exp(2 cos a + cos(a - b))",
        Torus(2),
        lambda x: 2 * jnp.cos(x[0]) + jnp.cos(x[0] - x[1]),
        3.0,
        {
            "cos a": (lambda x: jnp.cos(x[0]), resultant(2, 2.0)),
            "cos(a - b)": (lambda x: jnp.cos(x[0] - x[1]), resultant(2, 1.0)),
        },
        step=0.4,
        settle=8.0,
    )


def half_normal_and_exponential():
    def draw(key):
        key_normal, key_exponential = jax.random.split(key)
        return jnp.array([jnp.abs(jax.random.normal(key_normal)), jax.random.exponential(key_exponential)])

    return Target(
        "half-normal and exponential",
        PositiveOrthant(2),
        lambda x: -0.5 * x[0] ** 2 - x[1],
        draw,
        {"x_0": (lambda x: x[0], float(np.sqrt(2 / np.pi))), "x_1": (lambda x: x[1], 1.0)},
        step=0.5,
        settle=12.0,
    )


def truncated_normal():
    lower, upper = jnp.array([-1.0, 0.5]), jnp.array([0.5, jnp.inf])
    first, second = stats.truncnorm(-1.0, 0.5), stats.truncnorm(0.5, np.inf)
    return Target(
        "truncated normal",
        Box(lower, upper),
        lambda x: -0.5 * x @ x,
        lambda key: jax.random.truncated_normal(key, lower, upper),
        {
            "x_0": (lambda x: x[0], float(first.mean())),
            "x_1^2": (lambda x: x[1] ** 2, float(second.moment(2))),
        },
        step=0.4,
        settle=8.0,
    )


def tilted_ball():
    """exp(2 x_0) in the unit ball of R^3: x_0 has the density (1 - t^2) exp(2 t)."""
    t, weights = np.polynomial.legendre.leggauss(100)
    density = weights * (1 - t**2) * np.exp(2 * t)
    return uniform_times(
        "exp(2 x_0)",
        Ball(3),
        lambda x: 2 * x[0],
        2.0,
        {"x_0": (lambda x: x[0], float(np.sum(density * t) / np.sum(density)))},
        step=0.3,
        settle=6.0,
    )


def tilted_triangle():
    """exp(3 x + y) where x, y and 1 - x - y are positive: the tilted simplex in two of its coordinates."""
    triangle = HalfSpaces([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], [0.0, 0.0, 1.0])

    def uniform(key):
        parts = jax.random.exponential(key, (3,))
        return parts[:2] / jnp.sum(parts)

    def log_density(x):
        return 3 * x[0] + x[1]

    return Target(
        "exp(3 x + y)",
        triangle,
        log_density,
        rejection(uniform, lambda x: log_density(x) - 3.0),
        {"x": (lambda x: x[0], tilted_mean(2.0, 0.0, -1.0))},
        step=0.2,
        settle=4.0,
        error=DEAR,
    )


def hyperbolic():
    """exp(-2 x_0): x_0 - 1 is exponential of rate 2, sinh r dr being d cosh r."""

    def draw(key):
        key_height, key_angle = jax.random.split(key)
        height = 1 + jax.random.exponential(key_height) / 2
        angle = jax.random.uniform(key_angle, maxval=2 * jnp.pi)
        radius = jnp.sqrt(height**2 - 1)
        return jnp.array([height, radius * jnp.cos(angle), radius * jnp.sin(angle)])

    return Target(
        "exp(-2 x_0)",
        Hyperbolic(2),
        lambda x: -2 * x[0],
        draw,
        {"x_0": (lambda x: x[0], 1.5)},
        step=0.3,
        settle=8.0,
    )


def manifold_targets():
    return [
        matrix_von_mises_fisher(),
        uniform_times(
            "exp(2 x_00)",
            Orthogonal(3),
            lambda x: 2 * x[0, 0],
            2.0,
            {"x_00": (lambda x: x[0, 0], resultant(3, 2.0))},
            step=0.5,
            settle=8.0,
            error=DEAR,
        ),
        trace_of_a_rotation(),
        # The squared length of the first row is uniform on (0, 1) before the tilt.
        uniform_times(
            "exp(3 (x x')_00)",
            Grassmann(4, 2),
            lambda x: 3 * jnp.sum(x[0] ** 2),
            3.0,
            {"(x x')_00": (lambda x: jnp.sum(x[0] ** 2), 1 / (1 - np.exp(-3.0)) - 1 / 3)},
            step=0.5,
            settle=8.0,
            error=DEAR,
        ),
        torus(),
        half_normal_and_exponential(),
        truncated_normal(),
        tilted_ball(),
        tilted_triangle(),
        hyperbolic(),
    ]
