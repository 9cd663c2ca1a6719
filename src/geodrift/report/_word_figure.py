"""The words of one component: dots with intervals, and the probability of being among its ten highest."""

from typing import Any

from geodrift.report._markup import Markup, tag
from geodrift.report._scale import Scale, scale_of, tick_text
from geodrift.report._text import shown, weight

WIDTH, ROW, TOP = 360, 18, 20  # pixels
LEFT, RIGHT = 124, 300  # of the dots
LONGEST = 17  # characters of a word
NEGATIVE = 5  # words of the negative end that are drawn


def word_figure(part: dict[str, Any], component: str, place: int, signed: bool) -> Markup:
    """An SVG of one row a word; each row has its numbers as a title, which is shown and read aloud."""
    words = list(part["words"])
    lowest = list(part.get("negative_words", ()))[:NEGATIVE][::-1]
    factor = 1.0 if signed else 100.0
    ends = [
        factor * entry[name]
        for entry in words + lowest
        for name in ("weight", "low", "high")
        if entry[name] is not None
    ]
    scale = scale_of(ends, LEFT, RIGHT)
    height = TOP + ROW * (len(words) + len(lowest)) + (8 if lowest else 0) + 4
    rows = [_row(entry, TOP + ROW * i, scale, factor, signed, "top 10") for i, entry in enumerate(words)]
    below = TOP + ROW * len(words) + 8
    rows += [
        _row(entry, below + ROW * i, scale, factor, signed, "bottom 10") for i, entry in enumerate(lowest)
    ]
    return tag(
        "svg",
        _axis(scale, height, "" if signed else "%"),
        rows,
        class_="figure words",
        viewBox=f"0 0 {WIDTH} {height}",
        role="list",
        aria_label=f"Words of {component} {place}",
        data_name=f"{component}-{place}-words",
    )


def _axis(scale: Scale, height: int, unit: str) -> list[Markup]:
    drawn = [tag("text", "P(top 10)", x=WIDTH - 2, y=11, class_="t end")]
    for tick in scale.ticks(4):
        x = scale(tick)
        drawn.append(tag("path", d=f"M{x:g} {TOP - 4}V{height - 2}", class_="g"))
        drawn.append(tag("text", tick_text(tick) + unit, x=x, y=11, class_="t mid"))
    return drawn


def _row(entry: dict[str, Any], y: int, scale: Scale, factor: float, signed: bool, top: str) -> Markup:
    middle, value = y + ROW // 2, weight(entry["weight"], signed)
    told, line = f"{shown(entry['word'])} {value}", None
    if entry["low"] is not None:
        told += f" [{weight(entry['low'], signed)}, {weight(entry['high'], signed)}]"
        line = tag(
            "path",
            d=f"M{scale(factor * entry['low']):g} {middle}H{scale(factor * entry['high']):g}",
            class_="i",
        )
    told += f", P({top}) {entry['p_top10']:.2f}"
    dot = tag("circle", cx=scale(factor * entry["weight"]), cy=middle, r=3, class_=None if line else "o")
    baseline = middle + 4
    return tag(
        "g",
        tag("title", told),
        tag("text", shown(entry["word"], LONGEST), x=LEFT - 8, y=baseline, class_="w"),
        line,
        dot,
        tag("text", f"{entry['p_top10']:.2f}", x=WIDTH - 2, y=baseline, class_="p"),
        role="listitem",
    )
