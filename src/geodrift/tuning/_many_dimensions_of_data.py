"""Scales of a posterior of data in many dimensions, for runs that take minibatches of them.

As `_scales_of_data` without matrices: quasi-Newton steps lead to the mode of some rows and on to that of all;
the scales are those of the curvature there.
"""

import jax
import jax.numpy as jnp
import numpy as np

from geodrift._types import Position, RandomKey
from geodrift.estimators._affine import Affine, Layout
from geodrift.estimators._likelihood import LikelihoodEstimator
from geodrift.tuning._curvature_factor import curvature_factor
from geodrift.tuning._pilot_data import PilotData
from geodrift.tuning._quasi_newton import reach, reach_all
from geodrift.tuning._scales import CHAINS, Scales
from geodrift.tuning._scales_of_data import OF_A_NUMBER, PART, STARTS, part_of, rows_of
from geodrift.tuning._whole_density import WholeDensity

NEAR = 0.005  # nats for each dimension that the last steps to a mode gain


def scales_by_scaled_parts(
    key: RandomKey, estimator: LikelihoodEstimator, data: PilotData, starts: Position
) -> Scales:
    """As `scales_by_parts`.

    Raises:
        ValueError: The log density is finite at no start, or flat.
    """
    layout = Layout.of(jax.tree.map(lambda x: x[0], starts))
    flat = layout.numbers(starts)[:CHAINS]
    whole = WholeDensity(estimator, jax.tree.map(jnp.asarray, data.data), 1.0)
    part = part_of(key, whole, data, max(PART, OF_A_NUMBER * layout.size))
    reached = reach_all(key, part, layout, flat, NEAR)
    best = max(reached, key=lambda one: one.log_density)
    gradients = rows_of(part) * sum(one.passes for one in reached)
    if part is not whole:
        best = reach(key, whole, layout, best.position, NEAR)
        gradients += rows_of(whole) * best.passes
    factor, products = curvature_factor(key, part, layout, best.position)
    normals = np.asarray(jax.random.normal(key, (STARTS, layout.size)), np.float64)
    return Scales(
        Affine.of(best.position, factor, layout),
        best.position,
        factor,
        best.position + factor.times(normals),
        gradients=gradients + 2 * products * rows_of(part),
    )
