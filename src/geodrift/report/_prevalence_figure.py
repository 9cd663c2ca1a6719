"""Shares of one component in groups of documents: a band over time, or a dot with its interval a group."""

from typing import Any

import numpy as np
from jaxtyping import Float

from geodrift.report._markup import Markup, tag
from geodrift.report._scale import Scale, scale_of, tick_text
from geodrift.report._text import counted, percent, shown

WIDTH, LEFT, RIGHT, TOP = 360, 44, 352, 10
BOTTOM, HEIGHT = 126, 146  # of a band
ROW, NAMES, LETTERS = 16, 132, 20  # of dots: a line a group, and where its name ends


def prevalence_figure(
    effect: dict[str, Any], centres: Float[np.ndarray, " G"] | None, most: float, called: str
) -> Markup:
    """An SVG.

    Args:
        effect: Of one component, as `geodrift effect --json` has it.
        centres: Where the groups stand, where they are numbers or dates.
        most: The largest share of all figures, which have one scale.
        called: What is drawn.
    """
    if centres is None:
        drawn, height = _dots(effect["groups"], most), TOP + 12 + ROW * len(effect["groups"])
    else:
        drawn, height = _band(effect["groups"], centres, most), HEIGHT
    return tag(
        "svg",
        drawn,
        class_="figure prevalence",
        viewBox=f"0 0 {WIDTH} {height}",
        role="list",
        aria_label=f"Shares of {called}",
        data_name=f"{called.replace(' ', '-')}-prevalence",
    )


def _band(groups: list[dict[str, Any]], centres: Float[np.ndarray, " G"], most: float) -> list[Markup]:
    across = scale_of(centres.tolist(), LEFT + 8, RIGHT - 8, zero=False)
    up = scale_of([most], BOTTOM, TOP)
    drawn = [*_grid(up)]
    for tick in across.ticks(4):
        drawn.append(tag("text", _plain(tick), x=across(tick), y=BOTTOM + 16, class_="t mid"))
    order = np.argsort(centres)
    at = [(across(centres[place]), groups[place]) for place in order]
    if groups[0]["low"] is not None:
        upper = [f"{x:g} {up(100 * told['high']):g}" for x, told in at]
        lower = [f"{x:g} {up(100 * told['low']):g}" for x, told in reversed(at)]
        drawn.append(tag("path", d=f"M{'L'.join(upper + lower)}z", class_="band"))
    line = "L".join(f"{x:g} {up(100 * told['mean']):g}" for x, told in at)
    drawn.append(tag("path", d=f"M{line}", class_="s"))
    for x, told in at:
        dot = tag("circle", cx=x, cy=up(100 * told["mean"]), r=3)
        drawn.append(tag("g", tag("title", _told(told)), dot, role="listitem"))
    return drawn


def _dots(groups: list[dict[str, Any]], most: float) -> list[Markup]:
    across = scale_of([most], NAMES + 8, RIGHT - 8)
    height, drawn = TOP + 12 + ROW * len(groups), []
    for tick in across.ticks(4):
        x = across(tick)
        drawn.append(tag("path", d=f"M{x:g} {TOP + 4}V{height}", class_="g"))
        drawn.append(tag("text", f"{tick_text(tick)}%", x=x, y=TOP, class_="t mid"))
    for number, told in enumerate(groups):
        y = TOP + 12 + ROW * number
        line = None
        if told["low"] is not None:
            ends = across(100 * told["low"]), across(100 * told["high"])
            line = tag("path", d=f"M{ends[0]:g} {y:g}H{ends[1]:g}", class_="i")
        dot = tag("circle", cx=across(100 * told["mean"]), cy=y, r=3, class_=None if line else "o")
        name = tag("text", shown(told["group"], LETTERS), x=NAMES, y=y + 4, class_="w")
        drawn.append(tag("g", tag("title", _told(told)), name, line, dot, role="listitem"))
    return drawn


def _grid(up: Scale) -> list[Markup]:
    drawn = []
    for tick in up.ticks(4):
        drawn.append(tag("path", d=f"M{LEFT} {up(tick):g}H{RIGHT}", class_="g"))
        drawn.append(tag("text", f"{tick_text(tick)}%", x=LEFT - 6, y=up(tick) + 4, class_="t end"))
    return drawn


def _plain(value: float) -> str:
    """A year without a comma in it."""
    return f"{value:.8g}" if 1000 <= value < 3000 else tick_text(value)


def _told(group: dict[str, Any]) -> str:
    interval = "" if group["low"] is None else f" [{percent(group['low'])}, {percent(group['high'])}]"
    number = counted(group["documents"], "document")
    return f"{shown(group['group'])}: {percent(group['mean'])}{interval}, {number}"
