"""The targets of the correctness table."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy import integrate

from correctness.manifold_targets import manifold_targets
from correctness.target import Target, rejection, resultant, tilted_mean
from geodrift import distributions, metrics
from geodrift.manifolds import Euclidean, Product, Simplex, Sphere, SphericalSimplex


def gaussian(name, precision, moments, **settings):
    """N(0, inverse of precision)."""
    precision = np.asarray(precision, float)
    factor = jnp.asarray(np.linalg.cholesky(np.linalg.inv(precision)))
    n = len(precision)

    def draw(key):
        return factor @ jax.random.normal(key, (n,))

    return Target(
        name,
        Euclidean(n),
        lambda x: -0.5 * x @ jnp.asarray(precision) @ x,
        draw,
        moments,
        normal=True,
        **settings,
    )


def inverse_transform(log_density, low, high, points=200_001):
    """Draws on the line by interpolating the distribution function, and means by the same quadrature."""
    grid = np.linspace(low, high, points)
    density = np.exp(log_density(grid))
    cumulative = integrate.cumulative_trapezoid(density, grid, initial=0)
    cumulative, grid = jnp.asarray(cumulative / cumulative[-1]), jnp.asarray(grid)
    return lambda key: jnp.interp(jax.random.uniform(key), cumulative, grid)


def mean_square(x):
    return jnp.mean(x**2)


def von_mises_fisher(d, concentration, **settings):
    mu = np.arange(1.0, d + 1) / np.linalg.norm(np.arange(1.0, d + 1))
    law = distributions.VonMisesFisher(mu, concentration)
    mean = resultant(d, concentration)
    return Target(
        f"von Mises-Fisher, concentration {concentration:g}",
        Sphere(d),
        lambda x: concentration * jnp.asarray(mu) @ x,
        law.sample,
        {"mu'x": (lambda x: jnp.asarray(mu) @ x, mean)},
        **settings,
    )


def log_dirichlet(alpha):
    return lambda theta: jnp.sum((alpha - 1) * jnp.log(theta))


def dirichlet(name, alpha, manifold, **settings):
    """On the flat simplex, or lifted to the sphere."""
    alpha = jnp.asarray(alpha)
    lifted = isinstance(manifold, SphericalSimplex)
    density = manifold.lift(log_dirichlet(alpha)) if lifted else log_dirichlet(alpha)
    theta = manifold.to_simplex if lifted else lambda x: x
    total = float(alpha.sum())
    square = float(alpha[0] * (alpha[0] + 1)) / (total * (total + 1))

    def draw(key):
        drawn = jax.random.dirichlet(key, alpha)
        return manifold.from_simplex(drawn) if lifted else drawn

    moments = {
        "theta_0": (lambda x: theta(x)[0], float(alpha[0]) / total),
        "theta_0^2": (lambda x: theta(x)[0] ** 2, square),
    }
    return Target(name, manifold, density, draw, moments, alpha=alpha, **settings)


def in_chart(target, chart):
    """A Dirichlet law in the coordinates of a chart, whose scale, if it has one, is that of gammas."""
    alpha = target.alpha

    def draw(key):
        log_gammas = jax.random.loggamma(key, alpha)
        gammas = jnp.exp(log_gammas)
        if isinstance(chart, metrics.ExpandedMean):
            return gammas
        return (
            jnp.log(gammas)
            if isinstance(chart, metrics.ExpandedNatural)
            else chart.from_simplex(gammas / gammas.sum())
        )

    def on_chart(function):
        return lambda x: function(chart.to_simplex(x))

    return target._replace(
        name=f"{target.name}, {type(chart).__name__}",
        manifold=Euclidean(draw(jax.random.key(0)).size),
        log_density=lambda x: chart.log_prior(x, alpha),
        draw=draw,
        moments={name: (on_chart(function), mean) for name, (function, mean) in target.moments.items()},
        # In a chart the density has no face, and a pole only where a parameter is below 1.
        no_order=target.no_order if alpha.min() < 1 else "",
        step=0.2,
        overdamped_step=0.1,
        settle=8.0,
    )


def tilted_simplex():
    """A density that is not 0 at the faces, so that the flight is reflected."""
    tilt = jnp.array([2.0, 0.0, -1.0])
    manifold = Simplex(3)
    return Target(
        "exp(2 theta_0 - theta_2)",
        manifold,
        lambda theta: tilt @ theta,
        rejection(manifold.random_point, lambda theta: tilt @ theta - 2.0),
        {"theta_0": (lambda theta: theta[0], tilted_mean(2.0, 0.0, -1.0))},
        step=0.2,
        settle=6.0,
    )


def direction_and_offset():
    """A von Mises-Fisher direction and a normal whose mean is the direction's first coordinate."""
    mu, concentration = jnp.array([0.6, 0.0, 0.8]), 2.0
    law = distributions.VonMisesFisher(mu, concentration)
    mean = resultant(3, concentration)
    # E[x x'] = (A / kappa) (I - mu mu') + (1 - 2 A / kappa) mu mu'.
    square = mean / concentration * (1 - 0.36) + (1 - 2 * mean / concentration) * 0.36

    def draw(key):
        key_direction, key_offset = jax.random.split(key)
        x = law.sample(key_direction)
        return {"direction": x, "offset": x[0] + jax.random.normal(key_offset, (2,))}

    return Target(
        "direction and offset",
        Product({"direction": Sphere(3), "offset": Euclidean(2)}),
        lambda p: concentration * mu @ p["direction"] - 0.5 * jnp.sum((p["offset"] - p["direction"][0]) ** 2),
        draw,
        {
            "mu'x": (lambda p: mu @ p["direction"], mean),
            "offset^2": (lambda p: jnp.mean(p["offset"] ** 2), 1 + square),
        },
        step=0.5,
        settle=8.0,
    )


def double_well():
    def minus(t):
        return -(t**4) + 2 * t**2

    draw = inverse_transform(minus, -4.0, 4.0)
    return Target(
        "double well t^4 - 2 t^2",
        Euclidean(1),
        lambda x: minus(x[0]),
        lambda key: draw(key)[None],
        # The fourth moment feels the temperature, which the second hardly does.
        {"t^2": (lambda x: x[0] ** 2, 0.8327454871), "t^4": (lambda x: x[0] ** 4, 1.0827454871)},
        step=0.25,
        overdamped_step=0.02,
        settle=12.0,
        core=True,
    )


def banana():
    inner = inverse_transform(lambda x: -(x**4) / 10, -7.0, 7.0)

    def draw(key):
        key_x, key_y = jax.random.split(key)
        x = inner(key_x)
        return jnp.array([x, x**2 / 4 - 1.2 + 0.25 * jax.random.normal(key_y)])

    return Target(
        "banana x^4/10 + (4y + 4.8 - x^2)^2/2",
        Euclidean(2),
        lambda z: -(z[0] ** 4) / 10 - (4 * (z[1] + 1.2) - z[0] ** 2) ** 2 / 2,
        draw,
        {
            "x^2": (lambda z: z[0] ** 2, 1.0688154437),
            "y": (lambda z: z[1], -0.9327961391),
        },
        step=0.15,
        overdamped_step=0.006,
        settle=10.0,
    )


UNIT_MOMENT = {"x^2": (mean_square, 1.0)}
ROTATION = np.linalg.qr(np.array([[1.0, 2, 3], [0, 1, 4], [5, 6, 0]]))[0]
PRECISION = ROTATION @ np.diag([0.6, 2.0, 6.0]) @ ROTATION.T
COVARIANCE = np.linalg.inv(PRECISION)
PAIR_MOMENTS = {
    "x_0^2": (lambda x: x[0] ** 2, float(COVARIANCE[0, 0])),
    "x_0 x_1": (lambda x: x[0] * x[1], float(COVARIANCE[0, 1])),
}

TARGETS = [
    gaussian("N(0, 1)", np.eye(1), UNIT_MOMENT, step=0.5, settle=20.0),
    gaussian("N(0, I_10)", np.eye(10), UNIT_MOMENT, step=0.3, settle=8.0),
    gaussian(
        "N(0, I_10), noise 4",
        np.eye(10),
        UNIT_MOMENT,
        step=0.02,
        overdamped_step=0.02,
        settle=8.0,
        noise=4.0,
        error=0.004,
        bounds={"SGHMC": 0.01, "SGNHT": 0.01, "SGRHMC": 0.015},
        only="small steps are dear: for samplers whose bias there is bounded; the others have the next noise",
    ),
    gaussian("normal, condition 10", PRECISION, PAIR_MOMENTS, step=0.5, overdamped_step=0.04, settle=12.0),
    gaussian(
        "normal, condition 10, noise",
        PRECISION,
        PAIR_MOMENTS,
        step=0.4,
        overdamped_step=0.04,
        settle=12.0,
        core=True,
        noise=jnp.array([2.0, 1.0, 0.5]),
    ),
    double_well(),
    banana(),
    von_mises_fisher(3, 4.0, step=0.5, overdamped_step=0.05, settle=8.0, core=True),
    von_mises_fisher(50, 50.0, step=0.1, overdamped_step=0.002, settle=4.0),
    tilted_simplex(),
    dirichlet(
        "Dirichlet(4, 6, 8)",
        [4.0, 6.0, 8.0],
        Simplex(3),
        step=0.08,
        settle=2.0,
        no_order="now and then a step ends so near a face, where the force is infinite, that the kick throws"
        " the chain about for long: measured with larger parameters, which keep it from the faces",
    ),
    dirichlet("Dirichlet(20, 30, 40)", [20.0, 30.0, 40.0], Simplex(3), step=0.016, settle=6.0)._replace(
        alpha=None  # its charts are measured above
    ),
    # Longer steps end, now and then, so near a face that the kick throws the chain about.
    dirichlet("Dirichlet(4, 6, 8)", [4.0, 6.0, 8.0], SphericalSimplex(3), step=0.05, settle=4.0),
    direction_and_offset(),
    *manifold_targets(),
    dirichlet(
        "Dirichlet(0.1, 0.5, 2)",
        [0.1, 0.5, 2.0],
        Simplex(3),
        step=0.05,
        settle=4.0,
        no_order="its density is infinite at the faces, so that the bias of a step has no order",
    ),
]
