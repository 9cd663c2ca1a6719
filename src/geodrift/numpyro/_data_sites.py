"""Sites inside the plate over the data: their densities, and whether their rows are those of the batch."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

SOME_ROWS = 2  # rows of the plate with which the model is tried; one would be repeated for all rows


def frame_of(site: dict[str, Any], plate: str) -> Any:
    """The plate's frame around a sample site; None outside of it."""
    if site["type"] != "sample":
        return None
    return next((frame for frame in site["cond_indep_stack"] if frame.name == plate), None)


def log_prob_of(site: dict[str, Any]) -> Array:
    """The log density of a sample site at its value, of each of its elements."""
    if site["intermediates"]:
        return jnp.asarray(site["fn"].log_prob(site["value"], site["intermediates"]))
    return jnp.asarray(site["fn"].log_prob(site["value"]))


def other_rows(
    tracer: Any, args: tuple, kwargs: dict[str, Any], names: list[str], plate: str, rows: int
) -> str | None:
    """Which site does not have the rows that the plate gives, and what to do; None where all have them.

    Args:
        tracer: NumPyro's handler that records the sites of the model with some rows.
        args: The model's arguments.
        kwargs: Its keyword arguments.
        names: Its sample sites, in their order.
        plate: Name of the plate over the data.
        rows: How many rows of it the model gets, another number than that of all.
    """
    try:
        tracer(*args, **kwargs)
    except (IndexError, TypeError, ValueError) as error:
        # NumPyro records a site when it is done: the model has failed at the next one or on the way to it.
        missing = (f"site {name!r}" for name in names if name not in tracer.trace)
        return _told(next(missing, "model"), plate, rows, str(error))
    for name, site in tracer.trace.items():
        frame = frame_of(site, plate)
        if frame is None:
            continue
        try:
            shape = log_prob_of(site).shape
        except (TypeError, ValueError) as error:
            return _told(f"site {name!r}", plate, rows, str(error))
        if len(shape) < -frame.dim or shape[frame.dim] != rows:
            return _told(f"site {name!r}", plate, rows, f"its log density has the shape {shape}")
    return None


def _told(which: str, plate: str, rows: int, found: str) -> str:
    return (
        f"{which}: does not go with {rows} rows of the plate {plate!r} ({found.rstrip('.')}); look all data"
        f" up by the plate's indices, also what is observed: with numpyro.plate({plate!r}, ...) as index: ..."
        " obs=y[index]"
    )
