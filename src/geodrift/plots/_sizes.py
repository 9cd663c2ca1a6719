"""Sizes of components with their intervals."""

from typing import TYPE_CHECKING

from geodrift._errors import InputError
from geodrift.plots._axes import axes_or_new, dots
from geodrift.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def sizes(report: Report, *, words: int = 3, axes: "Axes | None" = None) -> "Axes":
    """Every component's size, a share of the words, documents or rows, the largest on top.

    Args:
        report: From ``model.report`` or `geodrift.models.report`.
        words: Words in the label of each; of vectors whose columns have no names, rows that are nearest.
        axes: To draw on; None: those of a new figure.

    Raises:
        InputError: The components have no sizes, or there is no matplotlib.
    """
    if not report.parts or "size" not in report.parts[0]:
        raise InputError(f"the {report.component}s of this report have no sizes: its method keeps none")
    order = report.by_size()
    labels = [" ".join([str(place), *report.names_of(place)[:words]]) for place in order]
    told = [tuple(report.parts[place][name] for name in ("size", "size_low", "size_high")) for place in order]
    drawn = axes_or_new(axes, 5.5, 0.6 + 0.22 * len(order))
    dots(drawn, labels, told)
    drawn.set_xlabel(f"share of the {report.sizes_of}")
    drawn.set_xlim(left=0)
    return drawn
