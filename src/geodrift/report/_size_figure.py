"""Sizes of components: one dot with its interval each."""

from typing import Any

from geodrift.report._called import called
from geodrift.report._data import Report
from geodrift.report._markup import Markup, tag
from geodrift.report._scale import Scale, scale_of, tick_text
from geodrift.report._text import number, percent, shown

CELL, HEIGHT = 150, 16  # of a small figure in a table
WIDTH, ROW, TOP, LEFT = 640, 16, 22, 300


def size_scale(report: Report, left: float, right: float) -> Scale:
    """The scale of all components' sizes, in percent."""
    ends = [part[name] for part in report.parts for name in ("size", "size_low", "size_high")]
    return scale_of([100 * end for end in ends if end is not None], left, right)


def size_text(part: dict[str, Any]) -> str:
    """The size, and its interval where there is one."""
    if part["size_low"] is None:
        return percent(part["size"])
    return f"{percent(part['size'])} [{percent(part['size_low'])}, {percent(part['size_high'])}]"


def concentration_text(part: dict[str, Any]) -> str:
    """The concentration of a component of vectors, and its interval where there is one."""
    ends = [part[name] for name in ("concentration_low", "concentration_high")]
    interval = "" if ends[0] is None else f" [{number(ends[0])}, {number(ends[1])}]"
    return f"{number(part['concentration'])}{interval}"


def size_cell(part: dict[str, Any], scale: Scale) -> Markup:
    """The dot and the interval of one component, for a cell of a table; the number stands beside it."""
    return tag(
        "svg",
        tag("path", d=f"M{scale.left:g} 8H{scale.right:g}", class_="g"),
        dot_and_interval(part, scale, HEIGHT // 2),
        class_="cell",
        viewBox=f"0 0 {CELL} {HEIGHT}",
        aria_hidden="true",
    )


def dot_and_interval(part: dict[str, Any], scale: Scale, y: float) -> list[Markup]:
    """A filled dot on a line, or an empty one where there is no interval."""
    dot = {"cx": scale(100 * part["size"]), "cy": y, "r": 3}
    if part["size_low"] is None:
        return [tag("circle", **dot, class_="o")]
    line = f"M{scale(100 * part['size_low']):g} {y:g}H{scale(100 * part['size_high']):g}"
    return [tag("path", d=line, class_="i"), tag("circle", **dot)]


def size_figure(report: Report) -> Markup:
    """All components by size, as one figure for a paper."""
    order, scale = report.by_size(), size_scale(report, LEFT, WIDTH - 20)
    height = TOP + ROW * len(order) + 4
    drawn = []
    for tick in scale.ticks(8):
        drawn.append(tag("path", d=f"M{scale(tick):g} {TOP - 4}V{height - 2}", class_="g"))
        drawn.append(tag("text", f"{tick_text(tick)}%", x=scale(tick), y=12, class_="t mid"))
    for row, place in enumerate(order):
        part, y = report.parts[place], TOP + ROW * row + ROW // 2
        words = called(report, place, 4, 16)
        drawn.append(
            tag(
                "g",
                tag("title", f"{report.component} {place}: {size_text(part)}"),
                tag("text", f"{place}  {shown(words, 42)}", x=LEFT - 10, y=y + 4, class_="w"),
                dot_and_interval(part, scale, y),
                role="listitem",
            )
        )
    return tag(
        "svg",
        drawn,
        class_="figure",
        viewBox=f"0 0 {WIDTH} {height}",
        role="list",
        aria_label=f"Sizes of the {report.component}s",
        data_name=f"{report.component}-sizes",
    )
