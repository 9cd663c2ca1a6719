"""Words of a component with their intervals."""

from typing import TYPE_CHECKING

from geodrift._errors import InputError
from geodrift.plots._axes import axes_or_new, checked_place, dots
from geodrift.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def words(report: Report, component: int, *, top: int = 10, axes: "Axes | None" = None) -> "Axes":
    """The leading words of a component: a dot at the posterior mean, a line for the 90% interval.

    Args:
        report: From ``model.report`` or `geodrift.models.report`.
        component: Its number.
        top: Words, at most those that the report has.
        axes: To draw on; None: those of a new figure.

    Raises:
        InputError: There is no such component, the report has no words, or there is no matplotlib.
    """
    part = report.parts[checked_place(report, component)]
    if "words" not in part:
        raise InputError(
            f"the {report.component}s of this report have no words: make it with a vocabulary, a name for"
            " each column, or see report.names_of(component) for the rows that are nearest"
        )
    entries = part["words"][:top]
    drawn = axes_or_new(axes, 4.5, 0.6 + 0.24 * len(entries))
    told = [(entry["weight"], entry["low"], entry["high"]) for entry in entries]
    dots(drawn, [entry["word"] for entry in entries], told)
    drawn.set_xlabel("weight" if report.signed else "probability")
    drawn.set_title(f"{report.component} {component}", loc="left")
    return drawn
