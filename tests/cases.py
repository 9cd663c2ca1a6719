"""One row here buys a manifold or a sampler the whole set of laws in tests/core."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import geodrift as gd
from geodrift.manifolds import (
    Ball,
    Box,
    Euclidean,
    Grassmann,
    HalfSpaces,
    Hyperbolic,
    Manifold,
    Orthogonal,
    PositiveOrthant,
    Product,
    Simplex,
    SpecialOrthogonal,
    Sphere,
    SphericalSimplex,
    Stiefel,
    Torus,
)


class ManifoldCase(NamedTuple):
    name: str
    manifold: Manifold
    shape: Any  # batch axes for random_point
    dim: int
    spoil: Any = lambda leaf: 1.01 * leaf  # takes a leaf off the manifold; None where there is no outside
    pace: float = 1.0  # factor of the times flown: geodesics of hyperbolic space part exponentially
    size: float = 1.0  # of the terms that cancel, which rounding errors follow


INF = float("inf")
PYRAMID = HalfSpaces(
    [[0.0, 0.0, -1.0], [1.0, 1.0, 1.0], [-2.0, 1.0, 0.5], [0.3, -1.0, 0.5]], [0.0, 1.0, 1.0, 1.0]
)
BOX = Box([-1.0, 0.0, -INF, -INF], [0.5, INF, 2.0, INF])


MANIFOLDS = [
    ManifoldCase("euclidean", Euclidean(4), (), 4, None),
    ManifoldCase("euclidean batch", Euclidean(4), (3,), 12, None),
    ManifoldCase("circle", Sphere(2), (), 1),
    ManifoldCase("sphere", Sphere(3), (), 2),
    ManifoldCase("sphere batch", Sphere(5), (2, 3), 24),
    ManifoldCase("simplex", Simplex(3), (), 2),
    ManifoldCase("simplex batch", Simplex(4), (5,), 15),
    ManifoldCase("spherical simplex", SphericalSimplex(4), (2,), 6),
    ManifoldCase(
        "product", Product({"a": Sphere(3), "b": [Simplex(3), Euclidean(2)]}), {"a": (2,), "b": [(), ()]}, 8
    ),
    ManifoldCase("product prefix", Product((Sphere(3), Euclidean(2))), ((4,), ()), 10),
    ManifoldCase("stiefel", Stiefel(3, 2), (), 3),
    ManifoldCase("stiefel tall", Stiefel(7, 2), (2,), 22),
    ManifoldCase("orthogonal", Orthogonal(4), (2,), 12),
    ManifoldCase("special orthogonal", SpecialOrthogonal(3), (), 3),
    ManifoldCase("grassmann", Grassmann(5, 2), (2,), 12),
    ManifoldCase("projective plane", Grassmann(3, 1), (), 2),
    ManifoldCase("torus", Torus(3), (2,), 6, lambda leaf: leaf + 100),
    ManifoldCase("positive orthant", PositiveOrthant(3), (2,), 6, lambda leaf: -leaf - 0.01),
    ManifoldCase("box", BOX, (2,), 8, lambda leaf: leaf + 100),
    ManifoldCase("ball", Ball(3), (2,), 6, lambda leaf: 100 * leaf),
    ManifoldCase("half-spaces", PYRAMID, (2,), 6, lambda leaf: leaf + 100),
    ManifoldCase(
        "hyperbolic", Hyperbolic(3), (2,), 6, lambda leaf: leaf.at[..., 0].multiply(1.01), 0.3, 100.0
    ),
    ManifoldCase(
        "product of kinds",
        Product({"frame": Stiefel(3, 2), "angle": Torus(1), "tree": Hyperbolic(2)}),
        {"frame": (2,), "angle": (), "tree": ()},
        9,
        lambda leaf: leaf.at[..., 0].add(7.0),
        0.3,
        100.0,
    ),
]


class SamplerCase(NamedTuple):
    name: str
    make: Any  # make(estimator, manifold, step_size) -> sampler
    flat: bool = False  # for R^n alone
    needs_density: bool = False  # for `Full` alone


SAMPLERS = [
    SamplerCase("SGGMC", lambda e, m, h: gd.samplers.SGGMC(e, m, h)),
    SamplerCase("SGGMC L=3", lambda e, m, h: gd.samplers.SGGMC(e, m, h, num_steps=3)),
    SamplerCase("SGGMC BAOAB", lambda e, m, h: gd.samplers.SGGMC(e, m, h, composition="BAOAB")),
    SamplerCase("SGGMC OBABO", lambda e, m, h: gd.samplers.SGGMC(e, m, h, composition="OBABO")),
    SamplerCase("SGGMC matrix", lambda e, m, h: gd.samplers.SGGMC(e, m, h, friction=MATRIX)),
    SamplerCase("GSGNHT", lambda e, m, h: gd.samplers.GSGNHT(e, m, h)),
    SamplerCase("GSGNHT leaf", lambda e, m, h: gd.samplers.GSGNHT(e, m, h, thermostat="leaf", num_steps=2)),
    SamplerCase("GSGNHT ABOBA", lambda e, m, h: gd.samplers.GSGNHT(e, m, h, composition="ABOBA")),
    SamplerCase("GSGNHT liu", lambda e, m, h: gd.samplers.GSGNHT(e, m, h, composition="liu")),
    SamplerCase("GMC", lambda e, m, h: gd.samplers.GMC(e, m, h, num_steps=5), needs_density=True),
    SamplerCase("SGHMC", lambda e, m, h: gd.samplers.SGHMC(e, m, h)),
    SamplerCase(
        "SGHMC refresh",
        lambda e, m, h: gd.samplers.SGHMC(e, m, h, composition="ABOBA", refresh_every=3),
    ),
    SamplerCase("SGNHT", lambda e, m, h: gd.samplers.SGNHT(e, m, h)),
    SamplerCase(
        "SGNHT coordinate",
        lambda e, m, h: gd.samplers.SGNHT(e, m, h, thermostat="coordinate"),
        flat=True,
    ),
    SamplerCase("SGRHMC", lambda e, m, h: gd.samplers.SGRHMC(e, m, h, WAVE), flat=True),
    SamplerCase(
        "SGRHMC ma",
        lambda e, m, h: gd.samplers.SGRHMC(e, m, h / 4, gd.metrics.Constant(), composition="ma", num_steps=2),
        flat=True,
    ),
    # Steps of first order: small ones, several a draw.
    SamplerCase("SGLD", lambda e, m, h: gd.samplers.SGLD(e, m, h / 10, num_steps=10), flat=True),
    SamplerCase("SGRLD", lambda e, m, h: gd.samplers.SGRLD(e, m, h / 20, WAVE, num_steps=10), flat=True),
    SamplerCase(
        "PreconditionedSGLD", lambda e, m, h: gd.samplers.PreconditionedSGLD(e, m, h / 5, 100), flat=True
    ),
    SamplerCase("RMLD", lambda e, m, h: gd.samplers.RMLD(e, m, h, WAVE), flat=True, needs_density=True),
    SamplerCase(
        "HMC",
        lambda e, m, h: gd.samplers.HMC(e, m, h, num_steps=5, mass=jnp.array([2.0, 1.0, 0.5])),
        flat=True,
        needs_density=True,
    ),
    SamplerCase(
        "RMHMC",
        lambda e, m, h: gd.samplers.RMHMC(e, m, 3 * h, WAVE, num_steps=2),
        flat=True,
        needs_density=True,
    ),
]
WAVE = gd.metrics.Diagonal(lambda x: 1 + 0.5 * jnp.sin(x), separable=True)
MANIFOLD_SAMPLERS = [case for case in SAMPLERS if not case.flat]
FLAT_SAMPLERS = [case for case in SAMPLERS if case.flat]
MATRIX = jnp.array([[1.0, 0.3, 0.0], [0.3, 2.0, 0.2], [0.0, 0.2, 0.7]])

KEY = jax.random.key(20161)
