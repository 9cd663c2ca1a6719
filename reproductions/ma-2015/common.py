"""What the reproductions here share: targets on the line and in the plane, samplers, the score, results."""

import functools
import sys
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import geodrift as gd

jax.config.update("jax_enable_x64", True)

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import record  # noqa: E402

write = functools.partial(record.write, HERE)

EDGES = np.linspace(-3, 3, 61)


def one_peak(x: Array) -> Array:
    """U1."""
    return jnp.sum(x**2) / 2


def two_peaks(x: Array) -> Array:
    """U2."""
    return jnp.sum(x**4 - 2 * x**2)


def correlated(x: Array) -> Array:
    """U of Fig. 2 right: x exp(-x^4/10), and y given x is N(x^2/4 - 1.2, 1/16)."""
    return x[0] ** 4 / 10 + (4 * (x[1] + 1.2) - x[0] ** 2) ** 2 / 2


class Noisy(gd.estimators.Estimator):
    """The exact gradient and a fresh normal noise of a known variance, which the sampler is told."""

    energy: Any = eqx.field(static=True)
    variance: float = eqx.field(static=True, default=0.0)

    def init(self, key: Array, position: Array) -> tuple[()]:
        """Nothing is kept."""
        return ()

    def prepare(self, key: Array, state: tuple[()], position: Array, batch: Any) -> tuple[Array, tuple[()]]:
        """The noise."""
        return self.variance**0.5 * jax.random.normal(key, position.shape, position.dtype), state

    def gradient(self, position: Array, prepared: Array) -> Array:
        """Gradient and noise."""
        return prepared - jax.grad(self.energy)(position)

    def noise_variance(self, position: Array, prepared: Array) -> Array:
        """B-hat = V."""
        return jnp.asarray(self.variance, position.dtype)


class LevelMetric(gd.metrics.Diagonal):
    """The metric of appendix F.1, ``G^-1 = D sqrt|U + C|``, the same for every coordinate."""

    def __init__(self, energy: Any, shift: float, scale: float = 1.5) -> None:
        super().__init__(lambda x: scale * jnp.sqrt(jnp.abs(energy(x) + shift)))


class Uncorrected(LevelMetric):
    """The same to a sampler that leaves out Gamma: eq. 27, the naive SGRHMC."""

    def divergence_inverse_sqrt(self, x: Array) -> Array:
        """0, which is wrong."""
        return jnp.zeros_like(x)


class Method(NamedTuple):
    """A sampler of the figures."""

    label: str
    make: Any  # (estimator, energy, step size, shift C of the metric) -> sampler


def _riemannian(metric: Any) -> Any:
    def make(estimator: Any, energy: Any, h: float, shift: float) -> gd.samplers.SGRHMC:
        return gd.samplers.SGRHMC(
            estimator, gd.manifolds.Euclidean(), h, metric(energy, shift), composition="ma"
        )

    return make


# All in the paper's form: the new position in the momentum's step, C = M = 1.
METHODS = {
    "sgld": Method("SGLD", lambda e, _, h, __: gd.samplers.SGLD(e, gd.manifolds.Euclidean(), h)),
    "sghmc": Method(
        "SGHMC", lambda e, _, h, __: gd.samplers.SGHMC(e, gd.manifolds.Euclidean(), h, composition="chen")
    ),
    "naive": Method("naive SGRHMC, eq. 27", _riemannian(Uncorrected)),
    "gsgrhmc": Method("gSGRHMC", _riemannian(LevelMetric)),
}


class Law(NamedTuple):
    """A law on the line, by the midpoint rule: the integrands are smooth and vanish at the ends."""

    points: np.ndarray
    weights: np.ndarray

    @property
    def bins(self) -> np.ndarray:
        """Probabilities of the bins, given that x is in one of them."""
        place = np.digitize(self.points, EDGES)  # np.histogram takes differences of sums: tails would be 0
        mass = np.bincount(place, self.weights, len(EDGES) + 1)[1:-1]
        return mass / mass.sum()

    @property
    def second_moment(self) -> float:
        """E x^2."""
        return float(self.weights @ self.points**2)

    def draw(self, key: Array) -> Array:
        """One draw, ``[1]``."""
        return jax.random.choice(key, jnp.asarray(self.points), (1,), p=jnp.asarray(self.weights))


def law(energy: Any) -> Law:
    """exp(-U) on the line."""
    cell = 0.001
    points = np.arange(-8, 8, cell) + cell / 2
    density = np.exp(-np.asarray(jax.vmap(energy)(jnp.asarray(points)[:, None])))
    return Law(points, density / density.sum())


def divergence(counts: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """KL of histograms, over the last axis, from the truth."""
    p = counts / counts.sum(axis=-1, keepdims=True)
    return np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1) / truth), 0), axis=-1)


def step_key(h: float) -> str:
    """The name of a step size in a result, without the point of a dotted path."""
    return f"{1000 * h:g} thousandths"
