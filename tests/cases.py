"""A row buys a manifold or a sampler the laws of tests/core, and a model those of test_every_model.py."""

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
    Ordered,
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
    ManifoldCase("ordered", Ordered(4), (2,), 8, lambda leaf: leaf[..., ::-1]),
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
    make: Any = None  # make(estimator, manifold, step_size) -> sampler
    flat: bool = False  # for R^n alone
    needs_density: bool = False  # for `Full` alone
    # The rest is for the correctness table.
    order: int | None = 2  # of the bias in the step size; None: exact at any step size
    overdamped: bool = False  # no inertia: its step is the square of a length
    step_share: float = 1.0  # of the target's step, at which its bias is that of its order
    scheme: str | None = None  # its closed form on a Gaussian, of tests/correctness/oracle.py
    friction: Any = 1.0  # the friction of that scheme; a matrix fixes the position's size
    chart: Any = None  # the chart of the simplex whose coordinates it moves in
    warmup: int = 0  # steps in which it adapts and has no law
    on: Any = None  # on(target, step_size), in the place of make, where it takes no log density
    variant: bool = False  # of another row's sampler, or around one: measured on the core targets alone
    reasons: Any = {}  # noqa: RUF012  target's name -> why it is not measured there


MATRIX = jnp.array([[1.0, 0.3, 0.0], [0.3, 2.0, 0.2], [0.0, 0.2, 0.7]])
WAVE = gd.metrics.Diagonal(lambda x: 1 + 0.5 * jnp.sin(x), separable=True)
EXPANDED = gd.metrics.ExpandedMean()


def constant_sum(value):
    """The estimate of a sum that has no noise."""
    return gd.estimators.MinibatchSum(lambda key, x, batch: jnp.zeros((1, *x.shape)), value, data_size=1)


SAMPLERS = [
    SamplerCase("SGGMC", lambda e, m, h: gd.samplers.SGGMC(e, m, h), scheme="ABOBA"),
    SamplerCase(
        "SGGMC L=3", lambda e, m, h: gd.samplers.SGGMC(e, m, h, num_steps=3), scheme="ABOBA", variant=True
    ),
    SamplerCase(
        "SGGMC BAOAB",
        lambda e, m, h: gd.samplers.SGGMC(e, m, h, composition="BAOAB"),
        scheme="BAOAB",
        variant=True,
    ),
    SamplerCase(
        "SGGMC OBABO",
        lambda e, m, h: gd.samplers.SGGMC(e, m, h, composition="OBABO"),
        scheme="OBABO",
        variant=True,
    ),
    SamplerCase(
        "SGGMC matrix",
        lambda e, m, h: gd.samplers.SGGMC(e, m, h, friction=MATRIX),
        scheme="ABOBA",
        friction=MATRIX,
        variant=True,
    ),
    SamplerCase("GSGNHT", lambda e, m, h: gd.samplers.GSGNHT(e, m, h)),
    SamplerCase(
        "GSGNHT leaf",
        lambda e, m, h: gd.samplers.GSGNHT(e, m, h, thermostat="leaf", num_steps=2),
        variant=True,
    ),
    SamplerCase(
        "GSGNHT ABOBA", lambda e, m, h: gd.samplers.GSGNHT(e, m, h, composition="ABOBA"), variant=True
    ),
    SamplerCase("GSGNHT liu", lambda e, m, h: gd.samplers.GSGNHT(e, m, h, composition="liu"), variant=True),
    SamplerCase(
        "GMC",
        lambda e, m, h: gd.samplers.GMC(e, m, h, num_steps=5),
        needs_density=True,
        order=None,
        reasons={
            "Dirichlet(0.1, 0.5, 2)": "near a face, where the density is infinite, it mixes so slowly that"
            " 26 minutes of a core left an error of 0.9% of the standard deviation; no larger bias was seen"
        },
    ),
    SamplerCase("SGHMC", lambda e, m, h: gd.samplers.SGHMC(e, m, h), flat=True, scheme="BAOAB"),
    SamplerCase(
        "SGHMC chen",
        lambda e, m, h: gd.samplers.SGHMC(e, m, h, composition="chen"),
        flat=True,
        scheme="chen",
        variant=True,
    ),
    SamplerCase(
        "SGHMC refresh",
        lambda e, m, h: gd.samplers.SGHMC(e, m, h, composition="ABOBA", refresh_every=3),
        flat=True,
        variant=True,
    ),
    SamplerCase("SGNHT", lambda e, m, h: gd.samplers.SGNHT(e, m, h), flat=True),
    SamplerCase(
        "SGNHT coordinate",
        lambda e, m, h: gd.samplers.SGNHT(e, m, h, thermostat="coordinate"),
        flat=True,
        variant=True,
        step_share=0.5,
    ),
    SamplerCase("SGRHMC", lambda e, m, h: gd.samplers.SGRHMC(e, m, h, WAVE), flat=True),
    SamplerCase(
        "SGRHMC ma",
        lambda e, m, h: gd.samplers.SGRHMC(e, m, h, WAVE, composition="ma"),
        flat=True,
        step_share=0.25,
    ),
    SamplerCase(
        "HMC",
        lambda e, m, h: gd.samplers.HMC(e, m, h, num_steps=5),
        flat=True,
        needs_density=True,
        order=None,
    ),
    SamplerCase(
        "RMHMC",
        lambda e, m, h: gd.samplers.RMHMC(e, m, h, WAVE, num_steps=2),
        flat=True,
        needs_density=True,
        order=None,
    ),
    SamplerCase(
        "SGLD",
        lambda e, m, h: gd.samplers.SGLD(e, m, h),
        order=1,
        overdamped=True,
        scheme="euler",
        reasons={
            "Dirichlet(20, 30, 40)": "without inertia it would take steps of 1e-4, 100,000 a chain: measured"
            " on the simplex with exp(2 theta_0 - theta_2)"
        },
    ),
    SamplerCase(
        "SGRLD", lambda e, m, h: gd.samplers.SGRLD(e, m, h, WAVE), flat=True, order=1, overdamped=True
    ),
    SamplerCase(
        "PreconditionedSGLD",
        lambda e, m, h: gd.samplers.PreconditionedSGLD(e, m, h, adaptation_steps=50, damping=1.0),
        flat=True,
        order=1,
        overdamped=True,
        warmup=50,
    ),
    SamplerCase(
        "RMLD",
        lambda e, m, h: gd.samplers.RMLD(e, m, h, WAVE),
        flat=True,
        needs_density=True,
        order=None,
        overdamped=True,
    ),
]
# Rows of the correctness table alone.
TABLE_SAMPLERS = [
    SamplerCase(
        "SGGMC liu", lambda e, m, h: gd.samplers.SGGMC(e, m, h, composition="liu"), scheme="liu", variant=True
    ),
    SamplerCase(
        "ReplicaExchange",
        lambda e, m, h: gd.samplers.ReplicaExchange(gd.samplers.SGGMC(e, m, h), (1.0, 2.0)),
        needs_density=True,
        variant=True,
    ),
    SamplerCase(
        "SGRLD expanded mean",
        lambda e, m, h: gd.samplers.SGRLD(e, m, h, EXPANDED),
        flat=True,
        order=1,
        overdamped=True,
        chart=EXPANDED,
    ),
    SamplerCase(
        "RMLD expanded mean",
        lambda e, m, h: gd.samplers.RMLD(e, m, h, EXPANDED),
        flat=True,
        needs_density=True,
        order=None,
        overdamped=True,
        chart=EXPANDED,
    ),
    SamplerCase(
        "SGRHMC expanded mean",
        lambda e, m, h: gd.samplers.SGRHMC(e, m, h, EXPANDED),
        flat=True,
        chart=EXPANDED,
    ),
    SamplerCase(
        "SCIR",
        on=lambda target, h: gd.samplers.SCIR(constant_sum(target.alpha), h),
        order=None,
        chart=gd.metrics.ExpandedNatural(),
    ),
    SamplerCase(
        "ExponentialOU",
        on=lambda target, h: gd.samplers.ExponentialOU(constant_sum(0.0), h),
        flat=True,
        order=None,
    ),
]
# Those whose bias is of second order, for tests of a law at one step size.
MANIFOLD_SAMPLERS = [case for case in SAMPLERS if not case.flat and case.order != 1]
FLAT_SAMPLERS = [case for case in SAMPLERS if case.flat and case.order != 1]


class ModelCase(NamedTuple):
    name: str  # on the command line
    facade: str  # in geodrift.models
    settings: Any  # of a run that takes a second, with three components
    law: str  # "module:function" of a `ModelLaw`
    reads: str = "counts"  # or "vectors"


class ModelLaw(NamedTuple):
    """A problem that is small enough for its posterior means to be computed by other ways than sampling."""

    corpus: Any  # of few words and documents
    settings: Any
    num_chains: int
    num_steps: int
    statistics: Any  # statistics(draws) -> [draw, ...], of the stored variables by name, [draw, ...] each
    expected: Any  # their posterior means, [...]


MODELS = [
    ModelCase("dpm", "DirichletProcessMixture", {"n_clusters": 3, "batch_size": 20}, "models.model_laws:dpm"),
    ModelCase(
        "hdp", "HierarchicalDirichletProcess", {"first_topics": 3, "batch_size": 20}, "models.model_laws:hdp"
    ),
    ModelCase("lda", "LatentDirichletAllocation", {"n_topics": 3, "batch_size": 20}, "models.model_laws:lda"),
    ModelCase("sam", "SphericalAdmixture", {"n_topics": 3, "batch_size": 20}, "models.model_laws:sam"),
    ModelCase(
        "vmf",
        "VonMisesFisherMixture",
        {"n_clusters": 3, "batch_size": 20, "normalise": True},
        "models.model_laws:vmf",
        "vectors",
    ),
]

KEY = jax.random.key(20161)
