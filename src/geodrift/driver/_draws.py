"""What `geodrift.sample` returns, and what it tells while it runs."""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PyTree

from geodrift.driver._named_draws import leaf_names
from geodrift.driver._report import RunReport
from geodrift.samplers import StepInfo
from geodrift.tuning import Adapted, Tuned

if TYPE_CHECKING:
    import xarray


class RunProgress(NamedTuple):
    """What a callback gets after every chunk."""

    steps: int  # steps taken, warm-up included
    total: int
    draws: int  # draws stored, of each chain
    state: Any  # the chains' states, leading axis [chain]
    info: StepInfo | None  # of this chunk's draws, leading axes [chain, draw]; None in warm-up


class Draws(NamedTuple):
    """The result of `sample`. All but the state are NumPy arrays."""

    position: PyTree  # leading axes [chain, draw]
    info: StepInfo  # of the last step of each draw; leading axes [chain, draw]
    state: Any  # the chains' last states; give it as `initial` to go on
    tuned: Tuned | Adapted | None = None  # what was chosen for ``step_size=None``
    report: RunReport | None = None  # R-hat, ESS, acceptance, temperature; None of too few draws

    def __repr__(self) -> str:
        chains, draws = np.shape(self.info.result)
        shapes = jax.tree.map(lambda x: np.shape(x)[2:], self.position)
        return f"Draws of {chains} chains, {draws} each, of shape {shapes}: {self.report or 'no report'}"

    def to_datatree(self) -> "xarray.DataTree":
        """The draws as an xarray DataTree with the groups ``posterior`` and ``sample_stats``.

        ``arviz_stats.summary`` takes it (``pip install "arviz-stats[xarray]"``); ``arviz.summary`` does from
        ArviZ 1.0 on, and earlier ones know no data trees. A position that is one array is called
        ``position``; the leaves of a pytree have their path, joined by points.
        """
        # Imported here: arviz-base takes a second to load.
        from arviz_base import from_dict

        posterior = dict(zip(leaf_names(self.position), jax.tree.leaves(self.position), strict=True))
        names = {"acceptance": "acceptance_rate"}
        stats = {names.get(k, k): v for k, v in self.info._asdict().items() if not np.all(np.isnan(v))}
        return from_dict({"posterior": posterior, "sample_stats": stats})
