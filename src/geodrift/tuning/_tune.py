"""Step size and friction from a pilot: what `geodrift.sample` does for ``step_size=None``."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree

from geodrift import _tree
from geodrift._types import Position, RandomKey
from geodrift.estimators import Estimator
from geodrift.estimators._affine import Layout
from geodrift.manifolds import leaf_manifolds
from geodrift.manifolds._walls import has_walls
from geodrift.recipe import Recipe
from geodrift.samplers import GMC, RMHMC, SGRHMC
from geodrift.tuning._batch_size import smallest_batch
from geodrift.tuning._choice import MAX_HEATING, Choice, Measured, choose, safe_start
from geodrift.tuning._dynamics import dynamics_of
from geodrift.tuning._exact_kernel import CHAINS, Trajectories, find_trajectories
from geodrift.tuning._leaf_units import leaf_units
from geodrift.tuning._metric_frame import friction_in_metric, measure_in_metric
from geodrift.tuning._noise import NO_NOISE, Noise, measure_noise
from geodrift.tuning._pilot import ROWS, Curvature, Frame, Pilot, run_pilot
from geodrift.tuning._pilot_data import PilotData
from geodrift.tuning._recipe_step import recipe_step
from geodrift.tuning._tuned import Tuned


def tune(
    key: RandomKey,
    sampler: Any,
    data: PyTree = None,
    *,
    batch_size: int | None = None,
    initial: Position,
    num_warmup: int = 0,
) -> Tuned:
    r"""Choose step size and friction from a pilot.

    The pilot samples the posterior of up to 2048 data, scaled to all of them, for 1024 steps. It measures the
    curvature of the log density in the tangent space by Hessian-vector products (the Lanczos method), and the
    variance of the gradient noise, and that which the estimator states. With :math:`\lambda` the largest
    curvature and :math:`\mu` the least, m the dimension, and V the noise variance that the estimator does not
    state, in the direction where it is largest, it chooses the largest h and the least C such that

    * :math:`h \sqrt\lambda \le \min(0.3, m^{-1/4}/2)`, on R^n with ABOBA and BAOAB 0.3, for first-order
      samplers :math:`h \lambda \le \min(0.08, 0.3/\sqrt m)`;
    * the noise that is not subtracted raises the temperature by :math:`h V / 2 C \le 0.04`;
    * :math:`C \ge \sqrt\mu` and :math:`C h \le 1`.

    Where the space is bounded, its size and its walls count as curvature: with s the slope of the log density
    along the normal of a wall and d the distance to it, the wall as :math:`\min(s^2, (4/d)^2)`. Reflections
    there may heat by as much as noise may: :math:`0.16 h^2 s^3 / C \le 0.04`.

    For a sampler in a metric G all of these are measured in coordinates in which G is 1. The friction of
    `SGRHMC` acts as :math:`C G^{-1}`: it is critical for the geometric mean of the eigenvalues' extremes.

    Args:
        key: Random key: the choice is a function of it.
        sampler: `SGGMC`, `GSGNHT`, `SGLD` or another of their kinds, `SGRHMC`, or `GMC` or `RMHMC`, whose
            step size follows the acceptance of their Metropolis test in windows of 50 draws, and whose
            trajectories take a quarter of the period of the direction of the least curvature. Or a
            `recipe.Recipe`, whose step size is the largest at which variances are right.
        data: A pytree of arrays with leading axis N, or None when the estimator needs none.
        batch_size: B of the run; None for all of the data.
        initial: The position at which the run starts.
        num_warmup: Steps of the run's warm-up. Where the curvature or the noise is larger at the start than
            in the bulk, the step size starts smaller and grows during the first half of the warm-up.

    Of a product that has parts of R^n, of positive or of ordered numbers beside others, these are measured in
    units in which one step size suits all parts (``tuned.units``).

    Returns:
        The choice; ``tuned.apply(sampler)`` is the sampler to run.

    Raises:
        ValueError: The sampler is of another kind, or no step size works.
    """
    if batch_size is None and data is not None:
        sampler = sampler.on_all_data()
    replacement = getattr(getattr(sampler, "estimator", None), "replacement", True)
    initial = jax.tree.map(lambda x: jnp.asarray(x, jnp.result_type(x, float)), initial)
    starts = jax.tree.map(lambda x: jnp.broadcast_to(x, (CHAINS, *x.shape)), initial)
    return tune_on(key, sampler, PilotData(data, batch_size, replacement), starts, num_warmup)


def tune_on(key: RandomKey, sampler: Any, data: PilotData, starts: Position, num_warmup: int) -> Tuned:
    """`tune` on data given as a `PilotData`, and units for the leaves of a product.

    Without a Metropolis test, a thermostat or walls the first start alone is used. A thermostat takes up what
    heat a far start brings, and gives it off in the time of its relaxation only; from far beyond a wall's
    reach the friction that suits the wall lets chains creep: these start where pilots end.
    """
    if isinstance(sampler, Recipe) or getattr(sampler, "metric", None) is not None:
        return _tune_in_own_units(key, sampler, data, starts, num_warmup)
    if not isinstance(sampler, GMC):
        dynamics_of(sampler)  # refuses what there is no rule for
    initial = jax.tree.map(lambda x: x[0], starts)
    scales = leaf_units(jax.random.fold_in(key, 1), sampler, data, initial)
    if scales is None:
        return _tune_in_own_units(key, sampler, data, starts, num_warmup)
    scaled = dataclasses.replace(sampler, estimator=sampler.estimator.in_coordinates(scales))
    found = _tune_in_own_units(key, scaled, data, scales.coordinates(starts), num_warmup)
    begins, layout = found.starts, Layout.of(initial)
    if begins is not None:
        begins = layout.numbers(scales(layout.positions(begins, len(begins))))
    return dataclasses.replace(found, units=tuple(map(float, scales.units)), starts=begins)


def _tune_in_own_units(
    key: RandomKey, sampler: Any, data: PilotData, starts: Position, num_warmup: int
) -> Tuned:
    if isinstance(sampler, Recipe):
        return recipe_step(key, sampler, data, starts)
    if isinstance(sampler, GMC | RMHMC):
        return _of_trajectories(type(sampler).__name__, find_trajectories(key, sampler, starts))
    initial = jax.tree.map(lambda x: x[0], starts)
    dynamics, dim = dynamics_of(sampler), sampler.manifold.dim(_tree.shapes(initial))
    begins = None
    if getattr(sampler, "metric", None) is None:
        walled = any(map(has_walls, leaf_manifolds(sampler.manifold, initial)))
        begin_there = walled or dynamics == "thermostat"
        pilots, noises = _on_manifold(key, sampler, data, starts, CHAINS if begin_there else 1)
        pilot = pilots[0]
        if begin_there:
            begins = _flat([pilot.positions[-1] for pilot in pilots])
    else:
        pilot, noises = measure_in_metric(key, sampler, data, initial)
    measured, batch_size = _measured(pilot.typical, dim, noises[1]), None
    if data.smaller:
        batch_size = smallest_batch(dynamics, measured, data)
        noises = tuple(noise.times(data.factor(batch_size)) for noise in noises)
        measured = measured._replace(noise=noises[1])
    chosen = choose(dynamics, measured)
    if isinstance(sampler, SGRHMC):
        chosen = friction_in_metric(chosen, sampler.metric, pilot)
    start = safe_start(dynamics, chosen, _measured(pilot.curvatures[0], dim, noises[0]))
    growth_steps = max(num_warmup // 2, 0)
    grows = start < 0.9 * chosen.step_size and growth_steps > 0
    final = chosen.step_size if grows or start >= 0.9 * chosen.step_size else start
    return Tuned(
        sampler=type(sampler).__name__,
        step_size=final,
        start_step_size=start if grows else final,
        start_steps=growth_steps if grows else 0,
        friction=chosen.friction,
        relaxation=chosen.relaxation * chosen.step_size / final,
        curvature=measured.largest,
        noise_variance=measured.noise.mean,
        reason=_reason(chosen, measured),
        batch_size=batch_size,
        starts=begins,
    )


def _measured(curvature: Curvature, dim: int, noise: Noise) -> Measured:
    return Measured(curvature.largest, curvature.least, dim, noise, curvature.of_walls)


def _flat(positions: list[Position]) -> Float[np.ndarray, "position d"]:
    """Numbers of positions, leaf after leaf."""
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *positions)
    return Layout.of(positions[0]).numbers(stacked)


def _on_manifold(
    key: RandomKey, sampler: Any, data: PilotData, starts: Position, number: int
) -> tuple[list[Pilot], tuple[Noise, Noise]]:
    """A pilot from each of the first starts, and the noise at the start and at the end of the first."""
    manifold, estimator = sampler.manifold, sampler.estimator.on(sampler.manifold)
    key_init, key_rows, key_pilot, key_noise = jax.random.split(key, 4)
    initial = jax.tree.map(lambda x: x[0], starts)
    state = estimator.init(key_init, initial)
    batch = data.rows(key_rows, 1, min(data.size, max(ROWS, data.batch_size or 0)))
    batch = jax.tree.map(lambda a: a[0], batch)
    pilots = [
        run_pilot(
            key_pilot if which == 0 else jax.random.fold_in(key_pilot, which),
            lambda x: Frame(estimator, manifold, x, state, batch),
            jax.tree.map(lambda x, which=which: x[which], starts),
        )
        for which in range(number)
    ]
    pilot = pilots[0]
    if not data.noisy:
        return pilots, (NO_NOISE, NO_NOISE)
    key_start, key_centre, key_end = jax.random.split(key_noise, 3)
    at_start = measure_noise(key_start, estimator, manifold, pilot.positions[0], state, data)
    if not _has_fixed_centre(estimator):
        # During the run the estimator's state follows the chain: here it is that of an earlier position.
        state = estimator.init(key_centre, pilot.positions[-2])
    at_end = measure_noise(key_end, estimator, manifold, pilot.positions[-1], state, data)
    return pilots, (at_start, at_end)


def _of_trajectories(sampler: str, found: Trajectories) -> Tuned:
    return Tuned(
        sampler=sampler,
        step_size=found.step_size,
        start_step_size=found.step_size,
        start_steps=0,
        friction=None,
        relaxation=1 / (found.step_size * math.sqrt(found.least)),
        curvature=found.largest,
        noise_variance=0.0,
        reason=f"acceptance {found.acceptance:.2f} (curvature up to {found.largest:.3g})",
        num_steps=found.num_steps,
        starts=found.starts,
    )


def _has_fixed_centre(estimator: Estimator) -> bool:
    return hasattr(estimator, "centre") and getattr(estimator, "refresh_every", None) is None


def _reason(chosen: Choice, measured: Measured) -> str:
    """What limited the step size, with the curvature and the noise, in words."""
    limit = min(chosen.limits, key=chosen.limits.get)
    text = f"limited by {limit} (curvature up to {measured.largest:.3g}"
    noise = measured.noise
    if noise.mean > 0:
        text += f", noise variance {noise.mean:.3g}, of it stated {noise.stated:.3g}"
    text += ")"
    if chosen.friction is not None and noise.worst > 0:
        text += f", friction such that what is not accounted for heats by at most {MAX_HEATING:.0%}"
    return text
