"""Held-out scores by the number of topics: a dot with two standard errors each, and the chains beside it."""

import math
from typing import Any

from geodrift.report._markup import Markup, tag
from geodrift.report._scale import scale_of, tick_text

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 320, 84, 620, 16, 272
NAME = "number-of-topics"
ENDS = 2.0  # standard errors on either side of a dot


def ladder_figure(rows: list[dict[str, Any]], chosen: int, inside: Markup | None = None) -> Markup:
    """Scores against numbers of topics, which lie on a logarithmic axis.

    Args:
        rows: Of each number, as `LadderReport` has them.
        chosen: The number that is marked.
        inside: What else stands in the figure, such as its styles.
    """
    ends = [-row["difference"] + side * ENDS * row["difference_error"] for row in rows for side in (-1, 1)]
    best = max(row["score"] for row in rows)
    chains = [score - best for row in rows for score in row["chain_scores"]]
    x = scale_of([math.log(row["topics"]) for row in rows], LEFT + 30, RIGHT - 30, zero=False)
    y = scale_of([*ends, *chains], BOTTOM, TOP)
    drawn: list[Any] = [inside]
    for tick in y.ticks(6):
        drawn.append(tag("path", d=f"M{LEFT} {y(tick):g}H{RIGHT}", class_="g"))
        drawn.append(tag("text", tick_text(tick), x=LEFT - 8, y=y(tick) + 4, class_="t end"))
    drawn.append(tag("text", "nats a held-out word, against the best", x=LEFT, y=TOP - 4, class_="t"))
    drawn.append(tag("text", "number of topics", x=RIGHT, y=HEIGHT - 8, class_="t end"))
    for row in rows:
        drawn.append(_rung(row, x(math.log(row["topics"])), y, best, row["topics"] == chosen))
    return tag(
        "svg",
        drawn,
        class_="figure",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label="Held-out score by the number of topics",
        data_name=NAME,
    )


def _rung(row: dict[str, Any], at: float, y: Any, best: float, chosen: bool) -> Markup:
    middle, reach = -row["difference"], ENDS * row["difference_error"]
    chains = [score for score in row["chain_scores"] if math.isfinite(score)]
    ticks = [tag("path", d=f"M{at + 8:g} {y(score - best):g}h6", class_="r") for score in chains]
    name = tag("text", f"{row['topics']}", x=at, y=BOTTOM + 18, class_="n" if chosen else "t mid")
    if not math.isfinite(middle):
        told = f"{row['topics']} topics: a held-out word has the probability 0"
        return tag("g", tag("title", told), ticks, name)
    told = f"{row['topics']} topics: worse by {row['difference']:.4f} +- {row['difference_error']:.4f}"
    dot = tag("circle", cx=at, cy=y(middle), r=5 if chosen else 4, class_=None if chosen else "o")
    line = tag("path", d=f"M{at:g} {y(middle - reach):g}V{y(middle + reach):g}", class_="i")
    return tag("g", tag("title", told), line, ticks, dot, name)
