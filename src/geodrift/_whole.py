"""Whole numbers as arguments: Python's, and those that NumPy and pandas hand out; no truth values."""

from numbers import Integral
from typing import Any

import numpy as np


def as_whole(value: Any) -> Any:
    """A whole number as Python's; what is none as it is, to be refused by `is_whole`."""
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else value


def is_whole(value: Any, least: int) -> bool:
    """Whether it is a whole number of at least so much."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def shown_above(name: str, value: Any) -> bool:
    """Whether an argument such as ``verbose``, a number or a truth value, asks for something to be shown.

    Raises:
        ValueError: It is neither, or below 0.
    """
    return bool(value) if isinstance(value, bool | np.bool_) else whole(name, value, 0) > 0


def whole(name: str, value: Any, least: int = 1) -> int:
    """The value of an argument as Python's number.

    Raises:
        ValueError: It is no whole number, or less.
    """
    if not is_whole(value, least):
        raise ValueError(f"{name} = {value!r}: must be a whole number, {least} or more")
    return int(value)
