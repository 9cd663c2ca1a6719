"""Components in the plane."""

import math
from typing import TYPE_CHECKING

import numpy as np

from geodrift.plots._axes import LINE, MARK, axes_or_new
from geodrift.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGEST = 600  # points squared


def component_map(report: Report, *, axes: "Axes | None" = None) -> "Axes":
    """Angles between components as distances; areas are sizes, ellipses hold 90% of a place's draws.

    Args:
        report: From ``model.report`` or `geodrift.models.report`.
        axes: To draw on; None: those of a new figure.

    Raises:
        InputError: There is no matplotlib.
    """
    drawn = axes_or_new(axes, 5.5, 5.5)
    from matplotlib.patches import Ellipse

    places, kinds = report.map.places, report.kinds
    sizes = np.array([part.get("size", 1.0) for part in report.parts])
    areas = LARGEST * sizes / sizes.max()
    sure = np.array([kind in ("shared", "own") for kind in kinds])
    colours = np.where(sure, LINE, "white")
    x, y = places.T
    drawn.scatter(x, y, s=areas, c=colours, edgecolors=MARK, linewidths=1, alpha=0.8)
    for place, (at, spread) in enumerate(zip(places, report.map.spreads, strict=True)):
        if np.isfinite(spread).all():
            values, vectors = np.linalg.eigh(spread)
            short, long = 2 * math.sqrt(-2 * math.log(0.1)) * np.sqrt(np.maximum(values, 0.0))
            turn = math.degrees(math.atan2(vectors[1, 1], vectors[0, 1]))
            drawn.add_patch(
                Ellipse(tuple(at), long, short, angle=turn, fill=False, edgecolor=MARK, linewidth=0.7)
            )
        drawn.annotate(str(place), tuple(at), ha="center", va="center", fontsize=8)
    drawn.set_aspect("equal")
    drawn.margins(0.1)
    drawn.set_xlabel("degrees of angle")
    return drawn
