"""Where a posterior on R^n has its mass and how wide it is in each direction there.

Some chains climb from their starts (`_climb`). From exact gradients they then move in windows of Hamiltonian
Monte Carlo (`_windows`), after each of which the coordinates are made anew from all chains' draws. From data
of which a run takes minibatches the climb sees a part of them (`_scales_of_data`).
"""

import itertools
import math
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from geodrift._types import Position, RandomKey
from geodrift.estimators import Full
from geodrift.estimators._affine import Affine, Layout
from geodrift.estimators._low_rank import LowRank
from geodrift.tuning._climb import Climbed, NotFiniteError, climb, climb_together
from geodrift.tuning._climb_questions import TOGETHER
from geodrift.tuning._windows import better_factor, run_window

CHAINS = TOGETHER  # of the windows
# Climbs to find the best mode, where the first do not agree, and the dimension up to which there are so many.
CLIMBS, SMALL = 12, 64
NEGLIGIBLE = 15.0  # nats by which a mode's mass is below the best's, from which on no chain has to stay in it
WINDOWS, DRAWS = 4, 75  # of each chain; in the first window a third is left out
PATIENT_WINDOWS = 8  # where the best climb did not arrive
SPACING = 5  # draws between two starts of the run's chains from one chain of the windows


class Scales(NamedTuple):
    """Coordinates in which the posterior has the same scale in every direction.

    Attributes:
        affine: In the positions' dtype.
        centre: The same in float64: its centre, [d].
        factor: And its factor, [d, d], or of many dimensions a `LowRank`.
        starts: Numbers of positions within the mass, [start, d].
        step_size: That the last window found; None where there was none.
        acceptance: Of the last window.
        gradients: Of single data that were taken; None where there are no data.
        passes: Gradients of a log density that windows took.
        pole: Where a climb that had left the mass was dropped, [d]; None where a mode was found.
    """

    affine: Affine
    centre: Float[np.ndarray, " d"]
    factor: Float[np.ndarray, "d d"] | LowRank
    starts: Float[np.ndarray, "start d"]
    step_size: float | None = None
    acceptance: float | None = None
    gradients: int | None = None
    passes: int = 0
    pole: Float[np.ndarray, " d"] | None = None

    @property
    def coordinates(self) -> Float[np.ndarray, "start d"]:
        """Of the starts."""
        moved = self.starts - self.centre
        if isinstance(self.factor, LowRank):
            return self.factor.solve(moved)
        return np.linalg.solve(self.factor, moved.T).T

    @property
    def widest(self) -> float:
        """The largest standard deviation over the smallest, of any directions."""
        if isinstance(self.factor, LowRank):
            return self.factor.widest
        widths = np.linalg.svd(self.factor, compute_uv=False)
        return float(widths[0] / widths[-1])

    def after(self, gradients: int) -> "Scales":
        """The same after so many more gradients of single data."""
        return self if self.gradients is None else self._replace(gradients=self.gradients + gradients)

    def turned(self, axes: Float[np.ndarray, "d d"]) -> "Scales":
        """The same with other axes: orthonormal columns."""
        factor = self.factor @ axes
        return self._replace(factor=factor, affine=Affine.of(self.centre, factor, self.affine.layout))


def scales_by_windows(key: RandomKey, estimator: Full, starts: Position) -> Scales:
    """From exact gradients.

    Args:
        key: Random key.
        estimator: The log density.
        starts: Positions, leading axis [`CLIMBS`]; of many dimensions the first `CHAINS` are used.

    Raises:
        ValueError: The log density is finite at no start, or flat.
    """
    layout = Layout.of(jax.tree.map(lambda x: x[0], starts))
    found = climbs(estimator, layout, starts)
    if found.best.arrived or found.best.pole is not None:
        return scales_from(key, estimator, layout, found)
    # No climb arrived, nor was any seen to leave the mass: the chains begin where they were told to.
    positions = np.resize(found.starts, (CHAINS, layout.size))
    factor = climb(estimator, layout, positions[0], most=0).factor
    return _by_windows(key, estimator, layout, positions, positions.mean(axis=0), factor, PATIENT_WINDOWS)


def scales_from(key: RandomKey, estimator: Full, layout: Layout, found: "Climbs") -> Scales:
    """From exact gradients, by windows that begin where climbs ended or were dropped.

    Args:
        key: Random key.
        estimator: The log density.
        layout: The positions'.
        found: What climbs found; the best arrived, or left the mass and was dropped.
    """
    best = found.best
    windows = WINDOWS if best.arrived else PATIENT_WINDOWS
    positions = _within(key, found)
    scales = _by_windows(key, estimator, layout, positions, best.position, best.factor, windows)
    return scales._replace(pole=best.pole)


def _by_windows(
    key: RandomKey,
    estimator: Full,
    layout: Layout,
    positions: Float[np.ndarray, "A d"],
    centre: Float[np.ndarray, " d"],
    factor: Float[np.ndarray, "d d"],
    windows: int,
) -> Scales:
    """From chains at some positions, with coordinates to begin with."""
    log_step, passes = math.log(0.5 * layout.size**-0.25), 0
    for number in range(windows):
        affine = Affine.of(centre, factor, layout)
        start = np.linalg.solve(factor, (positions - centre).T).T.astype(layout.dtypes[0])
        window = run_window(
            key,
            np.asarray(number),
            estimator.in_coordinates(affine),
            start,
            np.asarray(log_step, layout.dtypes[0]),
            DRAWS,
        )
        draws, log_step = np.asarray(window.draws, np.float64), float(window.log_step)
        passes += len(positions) * (1 + int(np.sum(window.leaps)))
        positions = centre + draws[-1] @ factor.T
        if number < windows - 1:
            flat, gradients = (
                np.asarray(a, np.float64)[0 if number else DRAWS // 3 :].reshape(-1, layout.size)
                for a in (draws, window.gradients)
            )
            centre, factor = centre + factor @ flat.mean(axis=0), factor @ better_factor(flat, gradients)
    stored = centre + draws[::-SPACING].reshape(-1, layout.size) @ factor.T
    acceptance = float(np.mean(window.acceptance))
    return Scales(affine, centre, factor, stored, math.exp(log_step), acceptance, passes=passes)


class Climbs(NamedTuple):
    """What climbs from some starts found.

    Attributes:
        climbed: From each start at which the log density is finite.
        best: The mode, or where climbs had left the mass the place, of most mass.
        starts: The numbers of these starts, [start, d].
    """

    climbed: list[Climbed]
    best: Climbed
    starts: Float[np.ndarray, "start d"]

    @property
    def passes(self) -> int:
        """Gradients of the density; starts that are the same were climbed from once."""
        return sum({id(one): one.passes for one in self.climbed}.values())


def climbs(estimator: Any, layout: Layout, starts: Position) -> Climbs:
    """Climbs from the starts; those at which the log density is not finite are left out.

    Raises:
        ValueError: It is finite at none of them, or flat.
    """
    flat = layout.numbers(starts)
    most = CLIMBS if layout.size <= SMALL else CHAINS
    ends: dict[bytes, Climbed | NotFiniteError] = {}
    climbed, usable, left = [], [], list(flat[:most])
    while left and not (len(climbed) >= CHAINS and _agree(climbed)):
        size = (CHAINS - len(climbed)) if len(climbed) < CHAINS else CHAINS
        some, left = left[:size], left[size:]
        # From starts that are the same one climb will do.
        new = {start.tobytes(): start for start in some if start.tobytes() not in ends}
        ends |= zip(new, climb_together(estimator, layout, list(new.values())), strict=True)
        for start in some:
            end = ends[start.tobytes()]
            if isinstance(end, NotFiniteError):
                reason = end
            else:
                climbed.append(end)
                usable.append(start)
    if not climbed:
        raise reason
    best = max(climbed, key=lambda found: (found.log_mass, found.log_density))
    return Climbs(climbed, best, np.stack(usable))


def _agree(climbed: list[Climbed]) -> bool:
    """Whether all found a mode or a place of the same mass, as far as climbs go: they end within the mass."""
    masses = [found.log_mass for found in climbed]
    return min(masses) > max(masses) - len(climbed[0].position) / 2


def _within(key: RandomKey, found: Climbs) -> Float[np.ndarray, "A d"]:
    """Where windows begin: where climbs ended, or, of those that found little mass, near the best."""
    best = found.best
    # Of fewer climbs than chains some are taken twice.
    ends = list(itertools.islice(itertools.cycle(found.climbed), CHAINS))
    far = [one.log_mass < best.log_mass - NEGLIGIBLE for one in ends]
    positions = np.stack([one.position for one in ends])
    if any(far):
        normals = jax.random.normal(jax.random.fold_in(key, WINDOWS), positions.shape)
        near_best = best.position + np.asarray(normals, np.float64) @ best.factor.T
        positions = np.where(np.array(far)[:, None], near_best, positions)
    return positions
