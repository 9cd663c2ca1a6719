"""A ladder of numbers of topics on a terminal: a table with a picture of the scores in it."""

import math
from typing import TYPE_CHECKING, Any

from geodrift._terminal import terminal_width, visible
from geodrift.models.kit._tables import paragraphs
from geodrift.report._text import counted, has_the_highest

if TYPE_CHECKING:
    from geodrift.models.topics._ladder import Ladder

WIDTH = 24  # of the picture, in characters
ENDS = 2.0  # standard errors on either side of a dot
# Columns of a terminal that has room for the number of shared topics, for NPMI too, and for the picture too.
SHARED, NPMI, PICTURE = 45, 52, 78


def ladder_text(ladder: "Ladder") -> str:
    """The table, what it says, and the rule."""
    rows = ladder.rows
    finite = [row for row in rows if math.isfinite(row["difference"])]
    least = min(-row["difference"] - ENDS * row["difference_error"] for row in finite)
    most = max(-row["difference"] + ENDS * row["difference_error"] for row in finite)
    head = "  " + _cells("topics", "perplexity", f"{'score':^{WIDTH}}", "worse by", "shared", "NPMI")
    lines = [head, *(_line(row, ladder.chosen, least, most) for row in rows)]
    told = [
        f"{has_the_highest(ladder.best)} ({ladder.documents:,} documents, {ladder.tokens:,} held-out words).",
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
    picture, perplexity = _picture(row, least, most), f"{row['perplexity']:,.1f}"
    return f"{mark} {_cells(str(row['topics']), perplexity, picture, worse, shared, npmi)}"


def _cells(topics: str, perplexity: str, picture: str, worse: str, shared: str, npmi: str) -> str:
    """A line of the table, without the columns that the terminal has no room for."""
    width = terminal_width()
    line = f"{topics:>6}  {perplexity:>10}"
    if width >= PICTURE:
        line += f"  {picture}"
    line += f"  {worse:<16}"
    if width >= SHARED:
        line += f" {shared:>6}"
    if width >= NPMI:
        line += f"  {npmi:>5}"
    return line.rstrip()


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
