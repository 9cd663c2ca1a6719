"""A law whose moments are known, and what builds one."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from geodrift.manifolds import Euclidean, Manifold


class Target(NamedTuple):
    """A law on a manifold.

    Step sizes and times are those of a kinetic sampler with friction 1. A sampler without inertia takes the
    step ``overdamped_step``, or half the square of ``step``, which moves it as far.
    """

    name: str
    manifold: Manifold
    log_density: Callable[[Any], Any]
    draw: Callable[[Any], Any]  # draw(key): an exact draw
    moments: dict[str, tuple[Callable[[Any], Any], float]]  # a function of the position, and its mean
    step: float  # the larger of the two step sizes; the other is its half
    settle: float  # time after which a chain has forgotten its start
    overdamped_step: float | None = None
    noise: Any = None  # variance of the gradient noise, stated to the sampler and subtracted
    alpha: Any = None  # of a Dirichlet law, which charts of the simplex have too
    error: float = 0.002  # standard error to reach, in standard deviations of the moment
    bounds: dict[str, float] = {}  # noqa: RUF012  class -> largest relative bias allowed at the larger step
    no_order: str = ""  # why the bias has no order here, so that only exact samplers apply
    only: str = ""  # why only the samplers of ``bounds`` are measured; empty where all are
    core: bool = False  # measured for variants of a sampler too
    normal: bool = False  # so that a sampler whose step is linear has a closed form

    @property
    def flat(self) -> bool:
        return isinstance(self.manifold, Euclidean)


def rejection(propose, log_weight):
    """Exact draws of the law of ``propose(key)`` times exp(log_weight), which must not exceed 1."""

    def draw(key):
        def trial(state):
            key, _, _ = state
            key, key_point, key_test = jax.random.split(key, 3)
            x = propose(key_point)
            return key, x, jnp.log(jax.random.uniform(key_test)) < log_weight(x)

        start = (key, propose(key), jnp.zeros((), bool))
        return jax.lax.while_loop(lambda state: ~state[2], trial, start)[1]

    return draw


def resultant(d, concentration):
    """E[mu'x] of a von Mises-Fisher law on the sphere of R^d."""
    return float(special.ive(d / 2, concentration) / special.ive(d / 2 - 1, concentration))


def tilted_mean(a, b, c):
    """E[theta_0] under exp(a theta_0 + b theta_1 + c theta_2) on the simplex.

    The integral of the density is a divided difference of exp, and its derivative in a has the mean.
    """
    constant = sum(np.exp(p) / ((p - q) * (p - r)) for p, q, r in ((a, b, c), (b, a, c), (c, a, b)))
    slope = np.exp(a) / ((a - b) * (a - c)) * (1 - 1 / (a - b) - 1 / (a - c))
    slope += np.exp(b) / ((b - a) ** 2 * (b - c)) + np.exp(c) / ((c - a) ** 2 * (c - b))
    return float(slope / constant)
