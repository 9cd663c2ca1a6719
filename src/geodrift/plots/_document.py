"""What one document is made of."""

from typing import TYPE_CHECKING

import numpy as np

from geodrift._errors import InputError
from geodrift.plots._axes import axes_or_new, dots, plain
from geodrift.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _some(numbers: np.ndarray) -> str:
    shown = ", ".join(str(int(each)) for each in numbers[:5])
    return shown if len(numbers) <= 5 else f"{shown}, ... ({len(numbers):,})"


def document(report: Report, number: int, *, top: int = 8, axes: "Axes | None" = None) -> "Axes":
    """The leading components of a document, with the 90% intervals of their weights.

    Args:
        report: With documents.
        number: Of the document, one of ``report.documents.numbers``.
        top: Components, at most.
        axes: To draw on; None: those of a new figure.

    Raises:
        InputError: The report does not tell of the document, or there is no matplotlib.
    """
    told = report.documents
    found = [] if told is None else np.flatnonzero(told.numbers == number)
    if not len(found):
        known = "which has none" if told is None else f"report.documents.numbers: {_some(told.numbers)}"
        raise InputError(f"number must be of a document that the report tells of, {known}; got {number!r}")
    place = int(found[0])
    order = np.argsort(-told.mean[place], kind="stable")[:top]
    others = dict(enumerate(told.others, len(report.parts)))
    labels = [
        f"{report.component} {k}" if k < len(report.parts) else others.get(k, f"other {report.component}s")
        for k in order.tolist()
    ]
    drawn = axes_or_new(axes, 4.5, 0.7 + 0.24 * len(order))
    dots(drawn, labels, [(told.mean[place, k], told.low[place, k], told.high[place, k]) for k in order])
    drawn.set_xlim(0, 1)
    drawn.set_xlabel("weight")
    drawn.set_title(f"{plain(told.names[place])}: {told.told(place)}", loc="left")
    return drawn
