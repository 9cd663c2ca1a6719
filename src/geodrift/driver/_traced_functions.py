"""What to do where a user's function does what JAX cannot compile."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import jax

_Arguments = ParamSpec("_Arguments")
_Found = TypeVar("_Found")

TOLD = (
    "geodrift: JAX compiles the functions that a sampler is made of, such as log_likelihood and log_prior:"
    " write them with jax.numpy and jax.scipy in the place of NumPy and SciPy, with jax.numpy.where in the"
    " place of an `if` that looks at a value, and without float(), .item() and lists of numbers"
)


def told_of_tracing(function: Callable[_Arguments, _Found]) -> Callable[_Arguments, _Found]:
    """Add to JAX's error, which names a line of the library or of NumPy, what it asks of the user's code.

    JAX gives a function arrays without values; NumPy, SciPy and Python's own numbers need the values.
    """

    @functools.wraps(function)
    def told(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Found:
        try:
            return function(*args, **kwargs)
        except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
            error.add_note(TOLD)
            raise

    return told
