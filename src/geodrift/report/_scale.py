"""A linear scale of a figure, with round ticks."""

import math
from typing import NamedTuple


class Scale(NamedTuple):
    """Values from ``start`` to ``end`` at pixels from ``left`` to ``right``."""

    start: float
    end: float
    left: float
    right: float

    def __call__(self, value: float) -> float:
        """The pixel of a value, to a tenth; values outside stand at the border."""
        share = (min(max(value, self.start), self.end) - self.start) / (self.end - self.start)
        return round(self.left + share * (self.right - self.left), 1)

    def ticks(self, most: int = 5) -> list[float]:
        """Round values within the scale, at most so many."""
        step = _round_step((self.end - self.start) / most)
        first, last = math.ceil(self.start / step - 1e-9), math.floor(self.end / step + 1e-9)
        return [index * step for index in range(first, last + 1)]


def scale_of(values: list[float], left: float, right: float, zero: bool = True) -> Scale:
    """A scale on which all values lie; ``zero``: and 0."""
    found = [value for value in values if math.isfinite(value)] + ([0.0] if zero else [])
    start, end = min(found, default=0.0), max(found, default=1.0)
    if end - start < 1e-12 * max(1.0, abs(end)):
        start, end = start - 0.5 * (not zero), end + (0.5 if not zero else 1.0)
    return Scale(start, end, left, right)


def tick_text(value: float) -> str:
    """The value of a tick as short as it can be."""
    text = f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:,.8g}"
    return text.replace("-", "\N{MINUS SIGN}")


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
