"""Traces of a number of each draw."""

from typing import TYPE_CHECKING

from geodrift._errors import InputError
from geodrift.plots._axes import axes_or_new, plain
from geodrift.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def traces(report: Report, name: str, *, axes: "Axes | None" = None) -> "Axes":
    """A number that no order of the components changes, one line a chain.

    Args:
        report: Of a run.
        name: Of ``report.traces``, such as ``log_joint``.
        axes: To draw on; None: those of a new figure.

    Raises:
        InputError: The report has no such trace, or there is no matplotlib.
    """
    if name not in report.traces:
        there = ", ".join(report.traces) or "none"
        raise InputError(f"name must be a trace of this report (there are: {there}), got {name!r}")
    drawn = axes_or_new(axes, 5.5, 2.8)
    for chain, values in enumerate(report.traces[name]):
        drawn.plot(range(1, len(values) + 1), values, linewidth=1, label=f"chain {chain}")
    drawn.set_xlabel("draw")
    drawn.set_ylabel(plain(name.replace("_", " ")))
    drawn.legend(frameon=False, fontsize="small")
    return drawn
