"""What the user's functions of a position are to be, and to return."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from geodrift._tree import shapes
from geodrift._types import Scalar


def check_function(name: str, function: Any) -> None:
    """Raise ValueError unless it can be called."""
    if not callable(function):
        flat = "; a flat prior is lambda position: 0.0" if name == "log_prior" else ""
        raise ValueError(f"{name} = {function!r}: give a function of the position{flat}")


def called(name: str, function: Callable, position: Any, *batch: Any) -> Any:
    """What the function returns; an error of its own says with what it was called."""
    try:
        return function(position, *batch)
    except (TypeError, ValueError) as error:
        beside = f" and a batch of {shapes(batch[0])}" if batch else ""
        error.add_note(f"{name} was called with a position of shape {shapes(position)}{beside}")
        raise


def one_number(name: str, value: Any) -> Scalar:
    """What a log density returned, as a real number: some return the whole number 0.

    Raises:
        ValueError: It is an array, or a whole number or truth value of JAX's, which has no gradient.
    """
    has_gradient = not isinstance(value, jax.Array) or jnp.issubdtype(value.dtype, jnp.inexact)
    value = jnp.asarray(value)
    if value.shape != ():
        raise ValueError(
            f"{name} returned shape {value.shape}: return one number for the whole position, such as the sum"
            " of the log densities of its entries"
        )
    if not has_gradient:
        raise ValueError(
            f"{name} returned {value.dtype}, whose gradient is 0 everywhere: return a floating-point number,"
            " 0.0 for a flat density"
        )
    return value if jnp.issubdtype(value.dtype, jnp.inexact) else value.astype(float)
