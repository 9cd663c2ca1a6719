"""Axes to draw on, and dots with intervals: what all figures share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from geodrift._errors import InputError
from geodrift._terminal import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARK, LINE = "#24598c", "#7da3c8"  # the colours of the page


def axes_or_new(axes: "Axes | None", width: float, height: float) -> "Axes":
    """The axes given, or those of a new figure of so many inches."""
    if axes is not None:
        return axes
    try:
        # Imported here: an extra, which takes half a second.
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError('figures need matplotlib: pip install "geodrift[plots]"') from error
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def dots(axes: "Axes", labels: Sequence[str], told: Sequence[tuple[float, Any, Any]]) -> None:
    """A row for each label, the first on top: a dot on its interval, or an empty dot where there is none.

    Args:
        axes: To draw on.
        labels: Of the rows.
        told: Value, low and high end of each; the ends None or NaN where there is no interval.
    """
    for row, (value, low, high) in enumerate(told):
        known = low is not None and np.isfinite(low)
        if known:
            axes.plot([low, high], [row, row], color=LINE, linewidth=2.5, solid_capstyle="round", zorder=1)
        axes.plot(value, row, "o", color=MARK, markersize=4.5, markerfacecolor=MARK if known else "white")
    axes.set_yticks(range(len(labels)), [plain(label) for label in labels])
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#e7e3db", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def plain(text: object, most: int = 40) -> str:
    """Text that is no formula to matplotlib, cut."""
    text = visible(text)
    return (text if len(text) <= most else text[: most - 1] + "…").replace("$", r"\$")


def checked_place(report: Any, component: int) -> int:
    """The number of a component.

    Raises:
        InputError: There is none of that number.
    """
    number = len(report.parts)
    if not 0 <= component < number:
        raise InputError(f"component must be from 0 to {number - 1}, got {component!r}")
    return component
