"""The kinds of dynamics that there are rules for."""

from typing import Any

import numpy as np

from geodrift.samplers import GSGNHT, SGGMC, SGLD, SGRHMC
from geodrift.samplers._langevin import is_flat

EXACT_FOR_NORMALS = ("ABOBA", "BAOAB")  # compositions that leave the positions of a normal law as they are


def dynamics_of(sampler: Any) -> str:
    """The kind of the sampler's dynamics, by the names of `choose`.

    Raises:
        ValueError: There is no rule for this sampler.
    """
    friction = getattr(sampler, "friction", None)
    if friction is not None and not (friction.ndim == 0 and float(friction) == 1.0):
        raise ValueError(
            f"friction = {np.asarray(friction)} with step_size = None: the pilot chooses both; leave friction"
            " out, or give a step size"
        )
    if isinstance(sampler, GSGNHT):
        return "thermostat"
    if isinstance(sampler, SGGMC):
        exact = is_flat(sampler.manifold) and sampler.composition in EXACT_FOR_NORMALS
        return "exact friction" if exact else "friction"
    if isinstance(sampler, SGRHMC):
        return "friction"
    if isinstance(sampler, SGLD):
        return "first-order"
    raise ValueError(
        f"step_size = None: there is no rule for {type(sampler).__name__}; give a step size, or take GMC,"
        " RMHMC, SGGMC, GSGNHT, SGRHMC, SGLD or a Recipe"
    )
