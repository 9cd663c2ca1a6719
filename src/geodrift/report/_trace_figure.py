"""Traces: a number in each draw, or on the way, one line a chain."""

import numpy as np
from jaxtyping import Float

from geodrift.report._markup import Markup, tag
from geodrift.report._scale import scale_of, tick_text

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480, 190, 76, 470, 12, 160
MOST_POINTS = 200  # of a line


def trace_figure(name: str, lines: list[Float[np.ndarray, "n 2"]], across: str) -> Markup:
    """One line a chain.

    Args:
        name: What is drawn.
        lines: Of each chain the places along the axis and the values.
        across: What the axis counts.
    """
    points = np.concatenate(lines) if lines else np.zeros((0, 2))
    x = scale_of(points[:, 0].tolist(), LEFT, RIGHT, zero=False)
    y = scale_of(points[:, 1].tolist(), BOTTOM, TOP, zero=False)
    drawn = []
    for tick in y.ticks(4):
        drawn.append(tag("path", d=f"M{LEFT} {y(tick):g}H{RIGHT}", class_="g"))
        drawn.append(tag("text", tick_text(tick), x=LEFT - 8, y=y(tick) + 4, class_="t end"))
    for tick in x.ticks(5):
        if tick == int(tick):
            drawn.append(tag("text", tick_text(tick), x=x(tick), y=BOTTOM + 16, class_="t mid"))
    drawn.append(tag("text", across, x=RIGHT, y=HEIGHT - 1, class_="t end"))
    for chain, line in enumerate(lines):
        kept = line[np.linspace(0, len(line) - 1, min(len(line), MOST_POINTS)).astype(int)]
        kept = kept[np.isfinite(kept).all(axis=1)]
        path = "M" + "L".join(f"{x(a):g} {y(b):g}" for a, b in kept.tolist())
        if len(kept):
            drawn.append(
                tag(
                    "g",
                    tag("title", f"chain {chain}"),
                    tag("path", d=path, class_="l"),
                    class_=f"c{chain % 6}",
                )
            )
    return tag(
        "svg",
        drawn,
        class_="figure trace",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"{name}, one line a chain",
        data_name=name.replace(" ", "-"),
    )


def lines_of(draws: Float[np.ndarray, "C N"]) -> list[Float[np.ndarray, "N 2"]]:
    """The lines of draws, counted from 1."""
    return [np.stack([np.arange(1, len(chain) + 1), chain], axis=1) for chain in draws]
