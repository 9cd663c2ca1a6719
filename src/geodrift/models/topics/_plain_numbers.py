"""Numbers for JSON."""

import math


def plain_number(value: float) -> float | int | None:
    """The number as Python's own; None for NaN and the infinities, which JSON has not."""
    if isinstance(value, int):
        return value
    return float(value) if math.isfinite(value) else None
