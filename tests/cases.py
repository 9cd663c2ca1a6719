"""One row here buys a manifold or a sampler the whole set of laws in tests/core."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import geodrift as gd
from geodrift.manifolds import Euclidean, Manifold, Product, Simplex, Sphere, SphericalSimplex


class ManifoldCase(NamedTuple):
    name: str
    manifold: Manifold
    shape: Any  # batch axes for random_point
    dim: int


MANIFOLDS = [
    ManifoldCase("euclidean", Euclidean(4), (), 4),
    ManifoldCase("euclidean batch", Euclidean(4), (3,), 12),
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
