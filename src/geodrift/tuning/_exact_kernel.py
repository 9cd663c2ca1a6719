"""Step size and length of trajectories of samplers with a Metropolis test, on any manifold.

The length is a quarter of the period of the direction of the least curvature, the step size that whose
proposals are accepted as often as dual averaging asks for. On R^n there are coordinates too (`_adaptation`).
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift import _tree
from geodrift._types import Position, RandomKey, Scalar
from geodrift.estimators._affine import Layout
from geodrift.samplers import RMHMC
from geodrift.tuning._dual_averaging import DualAveraging
from geodrift.tuning._metric_frame import frame_in_metric
from geodrift.tuning._pilot import Frame, run_pilot
from geodrift.tuning._windows import JITTER, MOST_LEAPS, TIME

WINDOWS, DRAWS = 4, 50  # of each of the chains
CHAINS = 4


class Trajectories(NamedTuple):
    """What the windows found.

    Attributes:
        step_size: h, time.
        num_steps: L.
        acceptance: Mean of the last window.
        largest: Largest curvature of -log p, in coordinates in which the sampler's metric is 1.
        least: Least curvature.
        starts: Numbers of the positions at which the windows' chains ended, leaf after leaf, float64.
    """

    step_size: float
    num_steps: int
    acceptance: float
    largest: float
    least: float
    starts: Float[np.ndarray, "start d"]


def find_trajectories(key: RandomKey, sampler: Any, starts: Position) -> Trajectories:
    """Step size and length of the trajectories of `GMC` or `RMHMC`.

    A pilot leads each of the windows' chains to the mass, from a start of its own.

    Args:
        key: Random key.
        sampler: With ``step_size=None``.
        starts: Positions, leading axis [start]; the first `CHAINS` are used.

    Raises:
        ValueError: The density is flat or not finite at a start, or no step size works.
    """
    frame_at = _frames(sampler)
    pilots = [
        run_pilot(jax.random.fold_in(key, CHAINS + n), frame_at, jax.tree.map(lambda x, n=n: x[n], starts))
        for n in range(CHAINS)
    ]
    largest, least, _ = np.median([pilot.typical for pilot in pilots], axis=0).tolist()
    dim = sampler.manifold.dim(_tree.shapes(pilots[0].positions[0]))
    time, h = TIME / math.sqrt(least), 0.5 * dim**-0.25 / math.sqrt(largest)
    positions = jax.tree.map(lambda *x: jnp.stack(x), *(pilot.positions[-1] for pilot in pilots))
    acceptance = math.nan
    for number in range(WINDOWS):
        key_window = jax.random.fold_in(key, number)
        kernel = dataclasses.replace(sampler, num_steps=_leaps(time, h))
        log_step = jnp.asarray(math.log(h), jax.tree.leaves(positions)[0].dtype)
        positions, log_step, seen = _window(key_window, kernel, positions, log_step)
        h, acceptance = math.exp(float(log_step)), float(jnp.mean(seen))
    flat = Layout.of(pilots[0].positions[0]).numbers(positions)
    return Trajectories(h, _leaps(time, h), acceptance, largest, least, flat)


def _frames(sampler: Any) -> Callable[[Position], Frame]:
    """The pilot's coordinates: the metric's where the sampler has one, else the manifold's."""
    target, manifold = sampler.estimator, sampler.manifold
    if not isinstance(sampler, RMHMC):
        return lambda x: Frame(target.on(manifold), manifold, x, (), None)
    # A start may be outside the metric's chart: the coordinates are those of its mirror image.
    return lambda x: frame_in_metric(target, sampler.metric, sampler.metric.reflect(x)[0])


def _leaps(time: float, h: float) -> int:
    return min(max(math.ceil(time / h), 1), MOST_LEAPS)


@eqx.filter_jit
def _window(
    key: RandomKey, sampler: Any, positions: Position, log_step: Scalar
) -> tuple[Position, Scalar, Float[Array, " n"]]:
    """Draws of some chains: their ends, the step size to go on with, and the acceptance of each draw."""
    keys = jax.random.split(key, CHAINS)
    # A number stands for the step size, that of each draw takes its place.
    at = dataclasses.replace(sampler, step_size=1.0)
    states = jax.vmap(at.init)(keys, positions)

    def draw(carry: tuple, i: Array) -> tuple[tuple, Array]:
        states, rule = carry
        key_jitter, key_steps = jax.random.split(jax.random.fold_in(key, i))
        spread = 1 + JITTER * jax.random.uniform(key_jitter, (), log_step.dtype, -1.0, 1.0)
        kernel = dataclasses.replace(sampler, step_size=jnp.exp(rule.log_step) * spread)
        states, info = jax.vmap(kernel.step)(jax.random.split(key_steps, CHAINS), states)
        acceptance = jnp.mean(info.acceptance)
        return (states, rule.after(i + 1.0, acceptance)), acceptance

    (states, rule), seen = jax.lax.scan(draw, (states, DualAveraging.start(log_step)), jnp.arange(DRAWS))
    return states.position, rule.mean_log_step, seen
