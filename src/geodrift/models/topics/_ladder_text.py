"""A ladder of numbers of topics on a terminal: a table with a picture of the scores in it."""

import math
from typing import TYPE_CHECKING, Any

from geodrift._terminal import visible
from geodrift.models.kit._tables import paragraphs
from geodrift.report._text import counted

if TYPE_CHECKING:
    from geodrift.models.topics._ladder import Ladder

WIDTH = 24  # of the picture, in characters
ENDS = 2.0  # standard errors on either side of a dot


def ladder_text(ladder: "Ladder") -> str:
    """The table, what it says, and the rule."""
    rows = ladder.rows
    finite = [row for row in rows if math.isfinite(row["difference"])]
    least = min(-row["difference"] - ENDS * row["difference_error"] for row in finite)
    most = max(-row["difference"] + ENDS * row["difference_error"] for row in finite)
    head = f"  topics  perplexity  {'score':^{WIDTH}}  worse by         shared   NPMI"
    lines = [head, *(_line(row, ladder.chosen, least, most) for row in rows)]
    told = [
        f"{ladder.best} topics have the highest held-out score"
        f" ({ladder.documents:,} documents, {ladder.tokens:,} held-out words).",
        "Worse by: nats a held-out word, paired with the best, +- standard error (over documents and"
        f" {counted(ladder.chains, 'chain')}).",
        _conclusion(ladder),
        *(["Worse by infinity: a held-out word has the probability 0."] if len(finite) < len(rows) else []),
        *map(visible, ladder.notes),
    ]
    return "\n".join([*lines, "", *map(paragraphs, told)])


def _conclusion(ladder: "Ladder") -> str:
    alike = [row["topics"] for row in ladder.rows if not row["apart"]]
    if len(alike) == 1:
        text = f"Every other number is told from it: take {ladder.chosen}."
    else:
        told = ", ".join(map(str, alike))
        text = f"{told} cannot be told apart (two standard errors): {ladder.chosen} is the smallest of them."
    if ladder.chosen == max(row["topics"] for row in ladder.rows):
        text += " It is the largest that was tried: try more."
    return text


def _line(row: dict[str, Any], chosen: int, least: float, most: float) -> str:
    mark = ">" if row["topics"] == chosen else " "
    shared = "-" if row["shared"] is None else f"{row['shared']}/{row['topics']}"
    npmi = "-" if row["npmi"] is None else f"{row['npmi']:.3f}"
    worse = f"{row['difference']:.4f} +- {row['difference_error']:.4f}" if row["difference"] else "best"
    if not math.isfinite(row["difference"]):
        worse = "infinity"
    picture = _picture(row, least, most)
    head = f"{mark} {row['topics']:>6}  {row['perplexity']:>10,.1f}  {picture}"
    return f"{head}  {worse:<16} {shared:>6}  {npmi:>5}"


def _picture(row: dict[str, Any], least: float, most: float) -> str:
    """A dot on a line of two standard errors; higher scores to the right."""

    def at(value: float) -> int:
        share = (value - least) / (most - least) if most > least else 0.5
        return min(WIDTH - 1, max(0, round(share * (WIDTH - 1))))

    score, reach = -row["difference"], ENDS * row["difference_error"]
    cells = [" "] * WIDTH
    if not math.isfinite(score):
        return "".join(cells)
    for place in range(at(score - reach), at(score + reach) + 1):
        cells[place] = "-"
    cells[at(score)] = "o"
    return "".join(cells)
