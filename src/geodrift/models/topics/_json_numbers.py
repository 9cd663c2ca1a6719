"""Numbers that JSON can hold."""

import math


def json_number(value: float) -> float | int | None:
    """The number as a Python int or float; None for NaN and infinities, which JSON does not have."""
    if isinstance(value, int):
        return value
    return float(value) if math.isfinite(value) else None
