"""The posterior of a number, such as of how many components there are: a bar for each value."""

from typing import Any

from geodrift.report._data import Report
from geodrift.report._html_table import csv_button, svg_button
from geodrift.report._markup import Markup, tag
from geodrift.report._scale import scale_of, tick_text
from geodrift.report._text import percent

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480, 190, 52, 470, 12, 150
MOST_LABELS = 12  # values that are written below their bars


def numbers_figures(report: Report) -> Markup | None:
    """A figure for each of the report's numbers that are whole, with its 90% interval in words."""
    whole = [told for told in report.numbers if "probabilities" in told]
    if not whole:
        return None
    figures = []
    for told in whole:
        caption = f"{_words(told)}: {_interval(told)}, mean {told['mean']:.3g}"
        plate = tag("div", number_figure(told), svg_button(), class_="plate")
        figures.append(tag("figure", tag("figcaption", caption), plate))
    return tag(
        "div",
        tag("h3", f"How many {report.component}s"),
        tag("div", figures, class_="traces"),
        tag("div", csv_button("probabilities"), class_="tools"),
        id="numbers",
    )


def number_figure(told: dict[str, Any]) -> Markup:
    """Bars whose heights are probabilities; those within the 90% interval are dark."""
    found = {int(number): share for number, share in told["probabilities"].items()}
    first, last = min(found), max(found)
    x = scale_of([first - 0.5, last + 0.5], LEFT, RIGHT, zero=False)
    y = scale_of([100 * share for share in found.values()], BOTTOM, TOP)
    width = min(40.0, 0.8 * (x(first + 0.5) - x(first - 0.5)))
    drawn = []
    for tick in y.ticks(4):
        drawn.append(tag("path", d=f"M{LEFT} {y(tick):g}H{RIGHT}", class_="g"))
        drawn.append(tag("text", f"{tick_text(tick)}%", x=LEFT - 8, y=y(tick) + 4, class_="t end"))
    every = max(1, -(-(last - first + 1) // MOST_LABELS))
    for number in range(first, last + 1, every):
        drawn.append(tag("text", number, x=x(number), y=BOTTOM + 16, class_="t mid"))
    for number, share in sorted(found.items()):
        inside = told["low"] <= number <= told["high"]
        drawn.append(
            tag(
                "g",
                tag("title", f"{number}: {percent(share)}"),
                tag(
                    "rect",
                    x=round(x(number) - width / 2, 1),
                    y=y(100 * share),
                    width=round(width, 1),
                    height=round(BOTTOM - y(100 * share), 1),
                    class_="b" if inside else "b out",
                ),
                role="listitem",
            )
        )
    drawn.append(tag("text", _words(told), x=RIGHT, y=HEIGHT - 6, class_="t end"))
    return tag(
        "svg",
        drawn,
        class_="figure trace",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="list",
        aria_label=f"Posterior of: {_words(told)}",
        data_name=told["name"].replace("_", "-"),
    )


def _words(told: dict[str, Any]) -> str:
    return f"{told['name'].replace('_above', '').replace('_', ' ')} with {told['of']}"


def _interval(told: dict[str, Any]) -> str:
    if told["low"] == told["high"]:
        return f"{told['low']} (90%)"
    return f"{told['low']} to {told['high']} (90%)"
