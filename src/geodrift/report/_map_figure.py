"""Components in the plane: angles between them as distances, with how far each place is known."""

import math

import numpy as np

from geodrift.report._data import Report
from geodrift.report._markup import Markup, tag
from geodrift.report._size_figure import size_text
from geodrift.report._text import shown

SIDE, MARGIN = 640, 44
LARGEST = 26.0  # pixels, the radius of the largest component
MANY = 40  # components whose numbers are written smaller
NINETY = math.sqrt(-2 * math.log(0.1))  # standard deviations of the ellipse that holds 90% of a normal law


def map_figure(report: Report) -> Markup:
    """Circles whose area is the size, ellipses of 90% for their places, lines where two may be one."""
    drawn, number = report.map, len(report.parts)
    centre = (drawn.places.max(axis=0) + drawn.places.min(axis=0)) / 2
    extent = float(np.ptp(drawn.places, axis=0).max()) or 1.0
    unit = (SIDE - 2 * MARGIN) / extent
    at = SIDE / 2 + (drawn.places - centre) * unit * np.array([1.0, -1.0])
    height = SIDE if number < 3 else int(2 * MARGIN + np.ptp(at[:, 1])) + 24
    at[:, 1] += height / 2 - SIDE / 2
    return tag(
        "svg",
        _lines(report, at),
        [_circle(report, place, at[place]) for place in report.by_size()],
        [_ellipse(at[place], drawn.spreads[place] * unit**2) for place in range(number)],
        [_label(place, at[place], 11 if number <= MANY else 9) for place in range(number)],
        _ruler(unit, height),
        class_="figure map",
        viewBox=f"0 0 {SIDE} {height}",
        role="group",
        aria_label=f"Map of the {report.component}s",
        data_name=f"{report.component}-map",
    )


def _ellipse(at: np.ndarray, covariance: np.ndarray) -> Markup | None:
    if not np.isfinite(covariance).all():
        return None
    values, vectors = np.linalg.eigh(covariance)
    long, short = NINETY * np.sqrt(np.maximum(values[::-1], 0.0))
    # The vertical axis of the picture points down.
    turn = -math.degrees(math.atan2(vectors[1, -1], vectors[0, -1]))
    where = f"translate({at[0]:.1f} {at[1]:.1f}) rotate({turn:.0f})"
    return tag("ellipse", rx=round(long, 1), ry=round(short, 1), transform=where, class_="e")


def _lines(report: Report, at: np.ndarray) -> list[Markup]:
    """Between components of which the interval of the angle reaches down to the same component."""
    number = len(report.parts)
    pairs = [(one, other) for one in range(number) for other in range(one) if report.map.alike(one, other)]
    ends = [(*at[one], *at[other]) for one, other in pairs]
    return [tag("path", d=f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}", class_="a") for a, b, c, d in ends]


def _circle(report: Report, place: int, at: np.ndarray) -> Markup:
    part = report.parts[place]
    largest = max((p.get("size", 1.0) for p in report.parts), default=1.0) or 1.0
    radius = max(
        4.0, LARGEST * math.sqrt(part.get("size", 1.0) / largest) * min(1.0, 4 / len(report.parts) ** 0.4)
    )
    words = ", ".join(shown(known, 24) for known in report.names_of(place)[:5])
    size = f", {size_text(part)}" if "size" in part else ""
    name = f" {shown(part['name'])}" if part.get("name") else ""
    title = f"{report.component} {place}{name}: {words}{size}"
    disc = tag("circle", cx=round(float(at[0]), 1), cy=round(float(at[1]), 1), r=round(radius, 1))
    kind = f"k-{report.kinds[place].split()[0]}"
    return tag(
        "a", tag("title", title), disc, href=f"#{report.component}-{place}", class_=kind, data_place=place
    )


def _label(place: int, at: np.ndarray, size: int) -> Markup:
    return tag(
        "text",
        place,
        x=round(float(at[0]), 1),
        y=round(float(at[1]) + 4, 1),
        class_="n",
        font_size=size,
        aria_hidden="true",
    )


def _ruler(unit: float, height: int) -> list[Markup]:
    """What an angle of 10 degrees, or of a round number near it, is long."""
    degrees = next((size for size in (5, 10, 20, 40) if size * unit >= 40), 60)
    y = height - 14
    return [
        tag("path", d=f"M16 {y}h{degrees * unit:.1f}m0 -3v6m{-degrees * unit:.1f} 0v-6", class_="r"),
        tag("text", f"{degrees}° of angle", x=round(22 + degrees * unit, 1), y=y + 4, class_="t"),
    ]
