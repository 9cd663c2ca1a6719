"""Scales of a posterior on R^n of so many dimensions that no matrix of all pairs is made.

The coordinates have a scale for each number and widths of a few directions (`LowRank`), as the sampler nutpie
has. They come from the curvature where quasi-Newton steps ended; windows of Hamiltonian Monte Carlo then set
draws and gradients against each other, number by number and in the dimensions that they span.
"""

import math

import jax
import numpy as np

from geodrift._types import Position, RandomKey
from geodrift.estimators import Full
from geodrift.estimators._affine import Affine, Layout
from geodrift.tuning._curvature_factor import curvature_factor
from geodrift.tuning._directions import better_directions
from geodrift.tuning._quasi_newton import reach_all
from geodrift.tuning._scales import CHAINS, SPACING, Scales
from geodrift.tuning._windows import run_window

WINDOWS, DRAWS = 6, 60  # of each chain; in the first window a third is left out


def scales_by_scaled_windows(key: RandomKey, estimator: Full, starts: Position) -> Scales:
    """From exact gradients; as `scales_by_windows`.

    Raises:
        ValueError: The log density is finite at no start, or flat.
    """
    layout = Layout.of(jax.tree.map(lambda x: x[0], starts))
    flat = layout.numbers(starts)[:CHAINS]
    reached = reach_all(key, estimator, layout, flat)
    best = max(reached, key=lambda one: one.log_density).position
    positions = np.resize(np.stack([one.position for one in reached]), (CHAINS, layout.size))
    centre, log_step = best, math.log(0.5 * layout.size**-0.25)
    factor, _ = curvature_factor(key, estimator, layout, best)
    for number in range(WINDOWS):
        affine = Affine.of(centre, factor, layout)
        start = factor.solve(positions - centre).astype(layout.dtypes[0])
        window = run_window(
            key,
            np.asarray(number),
            estimator.in_coordinates(affine),
            start,
            np.asarray(log_step, layout.dtypes[0]),
            DRAWS,
        )
        draws, log_step = np.asarray(window.draws, np.float64), float(window.log_step)
        positions = centre + factor.times(draws[-1])
        if number < WINDOWS - 1:
            y, gradients = (
                np.asarray(a, np.float64)[0 if number else DRAWS // 3 :].reshape(-1, layout.size)
                for a in (draws, window.gradients)
            )
            centre = centre + factor.times(y.mean(axis=0))
            factor = better_directions(factor, y, gradients)
    stored = centre + factor.times(draws[::-SPACING].reshape(-1, layout.size))
    return Scales(affine, centre, factor, stored, math.exp(log_step), float(np.mean(window.acceptance)))
