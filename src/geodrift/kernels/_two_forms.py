"""Kernels compiled twice: for one thread, and for all of them."""

import inspect
import types
from collections.abc import Callable
from typing import Any

import numba

from geodrift.kernels._threads import start_threads

# Array expressions would become parallel loops of their own, which gain nothing here and compile for long.
PRANGE_ALONE: Any = dict.fromkeys(
    ("comprehension", "reduction", "inplace_binop", "setitem", "numpy", "stencil", "fusion"), False
) | {"prange": True}


class TwoForms:
    """A kernel over ``numba.prange``, compiled for one thread and for all.

    Waking the threads costs up to a millisecond on a busy machine. Which form runs changes no bit of the
    result where every item has a random stream of its own. Neither holds Python's lock: other threads run.

    Args:
        kernel: A plain function.
        worth_threads: The least amount of work, in the unit that `__call__` is given, for which the threads
            are woken.
    """

    def __init__(self, kernel: Callable, worth_threads: int) -> None:
        self.worth_threads = worth_threads
        self.in_one_thread = numba.njit(cache=True, nogil=True, error_model="numpy")(
            _named(kernel, "in_one_thread")
        )
        self.in_threads = numba.njit(cache=True, nogil=True, parallel=PRANGE_ALONE, error_model="numpy")(
            _named(kernel, "in_threads")
        )

    def __call__(self, work: int, *arguments: Any) -> Any:
        """The kernel's result. With no work at all every form runs that any work would take: they compile."""
        if 0 < work < self.worth_threads:
            return self.in_one_thread(*arguments)
        start_threads()
        if numba.get_num_threads() > 1:
            result = self.in_threads(*arguments)
            if work > 0:
                return result
        return self.in_one_thread(*arguments)


def _named(kernel: Callable, suffix: str) -> Callable:
    """The same function under another name.

    Numba's cache tells kernels apart by name and file, not by options. So both forms have a name of their
    own, which changes when the options do: sources that are brought up to date in their place would go on
    with what was compiled before.
    """
    kernel = inspect.unwrap(kernel)  # a decorator that checks types may have wrapped it
    copy = types.FunctionType(kernel.__code__, kernel.__globals__, kernel.__name__, kernel.__defaults__)
    copy.__qualname__ = f"{kernel.__qualname__}_{suffix}_without_lock"
    copy.__module__ = kernel.__module__
    return copy
