"""The target without noise, for pilots that move in coordinates of their own."""

import jax

from geodrift._types import RandomKey
from geodrift.estimators import Estimator, Full
from geodrift.estimators._likelihood import LikelihoodEstimator
from geodrift.tuning._pilot import ROWS
from geodrift.tuning._pilot_data import PilotData
from geodrift.tuning._whole_density import WholeDensity


def whole_target(key: RandomKey, estimator: Estimator, data: PilotData) -> Full:
    """The target, or that of some rows of the data, which stand for all.

    Raises:
        ValueError: The estimator has no log density.
    """
    if isinstance(estimator, LikelihoodEstimator) and data.size:
        size = min(data.size, max(ROWS, data.batch_size or 0))
        rows = jax.tree.map(lambda a: a[0], data.rows(key, 1, size))
        return Full(WholeDensity(estimator, rows, data.size / size).value)
    if isinstance(estimator, Full):
        return estimator
    raise ValueError(
        f"step_size = None: there is no rule for {type(estimator).__name__} in a metric; give a step size"
    )
