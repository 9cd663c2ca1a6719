r"""Units for the flat leaves of a product, found by a pilot, in which one step size suits all leaves.

A sphere has a unit of its own, a leaf of R^n beside it any. Where the largest curvatures of leaves differ,
all but one of them move by steps that are far too short. A leaf that is the same space in every unit (R^n,
positive numbers, ordered numbers) is therefore measured in the unit in which its largest curvature is that of
the other leaves.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from geodrift._types import Position, RandomKey
from geodrift.estimators import Estimator, Full
from geodrift.estimators._leaf_scales import LeafScales
from geodrift.estimators._likelihood import LikelihoodEstimator
from geodrift.estimators._noise import Fisher
from geodrift.manifolds import Euclidean, Manifold, Ordered, PositiveOrthant, leaf_manifolds
from geodrift.samplers._langevin import is_flat
from geodrift.tuning._curvature import extremes
from geodrift.tuning._pilot import Frame, leaf_lanczos_at, run_pilot
from geodrift.tuning._pilot_data import PilotData
from geodrift.tuning._whole_target import whole_target

ALIKE = 2.0  # units that differ by less are left as they are
_LATE = 4  # positions of the pilot, the last of nine
_MOST = 1e6


def leaf_units(key: RandomKey, sampler: Any, data: PilotData, start: Position) -> LeafScales | None:
    """The units, or None where each leaf keeps its own.

    On R^n alone there are coordinates instead (`_adaptation`), or too many dimensions for either.

    Args:
        key: Random key.
        sampler: With a manifold and an estimator.
        data: What the run's batches are drawn from.
        start: A position.
    """
    manifold, estimator = sampler.manifold, sampler.estimator
    of_leaves = leaf_manifolds(manifold, start)
    free = [isinstance(leaf, Euclidean | PositiveOrthant | Ordered) for leaf in of_leaves]
    if is_flat(manifold) or len(free) < 2 or not any(free) or not _has_units(sampler, estimator, data):
        return None
    key_rows, key_pilot = jax.random.split(key)
    target = whole_target(key_rows, estimator, data)

    def units_at(position: Position) -> Float[np.ndarray, " leaf"]:
        return _units(_curvatures(key, target, manifold, position), free)

    def frame_at(position: Position) -> Frame:
        scales = _as_scales(units_at(position), position)
        return Frame(target.in_coordinates(scales), manifold, scales.coordinates(position), (), None, scales)

    pilot = run_pilot(key_pilot, frame_at, start)
    units = np.exp(np.median(np.log([units_at(x) for x in pilot.positions[-_LATE:]]), axis=0))
    if np.abs(np.log(units)).max() < np.log(ALIKE):
        return None
    return _as_scales(units, start)


def _has_units(sampler: Any, estimator: Estimator, data: PilotData) -> bool:
    """Whether everything that the sampler was given can be told in other units."""
    mass = getattr(sampler, "mass", None)
    if mass is not None and any(np.any(np.asarray(leaf) != 1) for leaf in jax.tree.leaves(mass)):
        return False
    if isinstance(estimator, LikelihoodEstimator):
        return data.size > 0 and (estimator.variance is None or isinstance(estimator.variance, Fisher))
    return isinstance(estimator, Full)


def _as_scales(units: Float[np.ndarray, " leaf"], position: Position) -> LeafScales:
    leaves = jax.tree.leaves(position)
    return LeafScales(tuple(jnp.asarray(u, x.dtype) for u, x in zip(units, leaves, strict=True)))


def _units(curvatures: Sequence[float], free: Sequence[bool]) -> Float[np.ndarray, " leaf"]:
    """In which free leaves have the largest curvature of the others; of free leaves alone, of the first."""
    found = np.array(curvatures)
    known = np.isfinite(found) & (found > 0)
    others = found[known & ~np.array(free)]
    aim = others.max() if len(others) else found[known][0] if known.any() else 1.0
    wanted = np.sqrt(aim / np.where(known, found, aim))
    return np.where(free, np.clip(wanted, 1 / _MOST, _MOST), 1.0)


def _curvatures(key: RandomKey, target: Full, manifold: Manifold, position: Position) -> list[float]:
    """The largest curvature along the vectors of each leaf alone."""
    number = len(jax.tree.leaves(position))
    of_leaf = (jnp.arange(number) == leaf for leaf in range(number))
    return [extremes(*leaf_lanczos_at(key, target, manifold, position, chosen))[0] for chosen in of_leaf]
