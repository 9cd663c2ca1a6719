"""What the user's functions of a position are to be, and to return."""

from typing import Any

import jax.numpy as jnp

from geodrift._types import Scalar


def check_function(name: str, function: Any) -> None:
    """Raise ValueError unless it can be called."""
    if not callable(function):
        flat = "; a flat prior is lambda position: 0.0" if name == "log_prior" else ""
        raise ValueError(f"{name} = {function!r}: give a function of the position{flat}")


def one_number(name: str, value: Any) -> Scalar:
    """What a log density returned, as a real number: some return the whole number 0.

    Raises:
        ValueError: It is an array.
    """
    value = jnp.asarray(value)
    if value.shape != ():
        raise ValueError(
            f"{name} returned shape {value.shape}: return one number for the whole position, such as the sum"
            " of the log densities of its entries"
        )
    return value if jnp.issubdtype(value.dtype, jnp.inexact) else value.astype(float)
