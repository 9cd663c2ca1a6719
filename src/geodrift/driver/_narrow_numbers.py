"""Whether data lose what they say where JAX keeps 32 bits of 64: rows that become one, numbers that wrap."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from geodrift.driver._host_data import HostData, is_stream

MOST_ROUNDED = 0.1  # of a column's standard deviation: a posterior mean may be off by as much of its own
ROWS_AT_ONCE = 2**20

_REMEDY = "jax.config.update('jax_enable_x64', True) keeps all digits"


def narrow_numbers(data: Any) -> list[str]:
    """What rounding to float32 does to the data; one line for each array of which much is lost.

    Args:
        data: As `geodrift.sample` takes it; of `HostData` some rows are looked at, of an iterator none.

    Raises:
        ValueError: There are numbers that JAX's type cannot hold.
    """
    if data is None or is_stream(data):
        return []
    tree = data.sketch()[1] if isinstance(data, HostData) else data
    return [
        line for path, leaf in jax.tree_util.tree_leaves_with_path(tree) for line in _of_array(path, leaf)
    ]


def _of_array(path: PyTree, values: Any) -> list[str]:
    values = values if isinstance(values, jax.Array) else np.asarray(values)
    narrow = jax.dtypes.canonicalize_dtype(values.dtype) if values.dtype.kind in "iuf" else values.dtype
    if narrow == values.dtype or values.ndim == 0 or not len(values):
        return []
    name = f"data{jax.tree_util.keystr(path)}"
    if values.dtype.kind in "iu":
        least, most = int(values.min()), int(values.max())
        if least < jnp.iinfo(narrow).min or most > jnp.iinfo(narrow).max:
            raise ValueError(
                f"{name}: whole numbers from {least} to {most} do not fit {narrow}, in which JAX keeps them,"
                f" and would be others: give their codes or ranks, or floats; {_REMEDY}"
            )
        return []
    lost = _share_lost(values.reshape(len(values), -1), narrow)
    if np.isinf(lost).any():
        raise ValueError(f"{name}: has numbers beyond the largest of {narrow}: give them in a larger unit")
    worst = int(lost.argmax())
    if lost[worst] <= MOST_ROUNDED:
        return []
    column = f", column {worst}" if lost.size > 1 else ""
    return [
        f"{name}{column}: rounding to {narrow} changes its numbers by {lost[worst]:.2g} of their standard"
        f" deviation, so that the draws are of other data: subtract what they have in common first (of times"
        f" the first), or give them in a larger unit; {_REMEDY}"
    ]


def _share_lost(values: np.ndarray, narrow: np.dtype) -> np.ndarray:
    """Root mean square of the rounding over the standard deviation, of each column; infinite: overflow."""
    centre = np.nan_to_num(values[0])
    moments = np.zeros((4, values.shape[1]))  # number, sum, sum of squares, sum of squares of the rounding
    for first in range(0, len(values), ROWS_AT_ONCE):
        part = values[first : first + ROWS_AT_ONCE]
        known = np.isfinite(part)  # what is not is told by the run
        off = np.where(known, part - centre, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            rounding = np.where(known, part.astype(narrow) - part, 0.0)
            moments += known.sum(axis=0), off.sum(axis=0), (off**2).sum(axis=0), (rounding**2).sum(axis=0)
    _, total, squares, rounded = moments / np.maximum(moments[0], 1.0)
    variance = squares - total**2
    with np.errstate(divide="ignore", invalid="ignore"):
        # A column that is one number loses nothing that tells rows apart.
        return np.where(variance > 0, np.sqrt(rounded / variance), 0.0)
