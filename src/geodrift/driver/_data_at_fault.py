"""What a failure may come from that no step can tell: data that are not finite, a density without a mode."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np

from geodrift._errors import SamplingError
from geodrift.driver._host_data import HostData, is_stream
from geodrift.tuning import Adapted, Tuned
from geodrift.tuning._climb import NotFiniteError

_Found = TypeVar("_Found")


def told_of_data(data: Any, call: Callable[..., _Found], *arguments: Any) -> _Found:
    """Call, and add to the error of a failed chain, or start, which row is the first that is not finite."""
    try:
        return call(*arguments)
    except (SamplingError, NotFiniteError) as error:
        row = _first_not_finite(data)
        if row is not None:
            error.args = (f"{error}; data has a number that is not finite, the first in row {row}",)
        raise


def told_of_warm_up(tuned: Tuned | Adapted | None, call: Callable[..., _Found], *arguments: Any) -> _Found:
    """Call, and add to the error of a failed chain what spoke against the numbers of the warm-up."""
    try:
        return call(*arguments)
    except SamplingError as error:
        if isinstance(tuned, Adapted) and tuned.warnings:
            error.args = ("; ".join([str(error), *tuned.warnings]),)
        raise


def _first_not_finite(data: Any) -> int | None:
    if data is None or is_stream(data):
        return None
    rows = [
        np.flatnonzero(~np.isfinite(np.asarray(leaf)).reshape(len(leaf), -1).all(axis=1))[:1]
        for leaf in jax.tree.leaves(data.arrays if isinstance(data, HostData) else data)
        if np.ndim(leaf) and np.issubdtype(np.asarray(leaf).dtype, np.inexact)
    ]
    return min((int(found[0]) for found in rows if len(found)), default=None)
