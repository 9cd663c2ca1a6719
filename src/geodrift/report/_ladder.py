"""How many topics: a ladder of numbers as one page, and its figure as an SVG."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geodrift import __version__
from geodrift.files import write_file
from geodrift.report._html_table import Cell, Column, html_table
from geodrift.report._ladder_figure import NAME, ladder_figure
from geodrift.report._markup import Markup, tag
from geodrift.report._page import GENERATOR, policy, resource
from geodrift.report._save import PAGE_MARK, refuse_foreign
from geodrift.report._text import has_the_highest, number, shown

LONGEST_NOTE = 200
FIGURE_MARK = f'data-name="{NAME}"'  # by which an earlier figure is known


@dataclasses.dataclass(frozen=True)
class LadderReport:
    """Numbers of topics beside one another, for readers.

    Attributes:
        rows: Of each number, as `geodrift choose-k --json` has them.
        best: The number of the highest score.
        chosen: The smallest number that cannot be told from it.
        chains: Of each run.
        documents: Held-out documents.
        tokens: Their held-out words.
        rule: By which numbers are told apart.
        notes: Which runs were there already, and which are not compared.
    """

    rows: list[dict[str, Any]]
    best: int
    chosen: int
    chains: int
    documents: int
    tokens: int
    rule: str
    notes: Sequence[str] = ()

    def svg(self) -> str:
        """The figure by itself, with its styles."""
        style = tag("style", Markup(resource("figures.css")))
        figure = ladder_figure(self.rows, self.chosen, inside=style)
        return figure.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)

    def html(self) -> str:
        """The page: no script, and no request to anywhere."""
        styles = [resource("page.css"), resource("figures.css")]
        head = tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy(styles)),
            tag("meta", name="generator", content=f"{GENERATOR} {__version__}"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", "How many topics"),
            [tag("style", Markup(style)) for style in styles],
        )
        sections = [
            tag("section", tag("h2", "Held-out score"), ladder_figure(self.rows, self.chosen)),
            tag("section", tag("h2", "Numbers"), self._table()),
        ]
        body = tag(
            "body", tag("header", tag("h1", "How many topics"), self._verdict()), tag("main", sections)
        )
        return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"

    def save(self, path: str | Path) -> None:
        """Write the page, or the figure where the name ends in .svg; an earlier one of ours is replaced.

        Raises:
            InputError: Something else stands at ``path``.
            StorageFullError: The disk is full.
        """
        path = Path(path)
        figure = path.suffix == ".svg"
        refuse_foreign(path, FIGURE_MARK if figure else PAGE_MARK)
        content = (self.svg() if figure else self.html()).encode("utf-8")
        write_file(path, lambda stream: stream.write(content), overwrite=path.exists(), needed=len(content))

    def _verdict(self) -> Markup:
        alike = [row["topics"] for row in self.rows if not row["apart"]]
        lines = [
            f"{has_the_highest(self.best)}, on {self.documents:,} documents"
            f" ({self.tokens:,} held-out words).",
            f"Not told from it: {', '.join(map(str, alike))}. The smallest is {self.chosen}.",
            f"{self.rule[:1].upper()}{self.rule[1:]}.",
            *(shown(note, LONGEST_NOTE) for note in self.notes),
        ]
        return tag("ul", [tag("li", line) for line in lines], class_="verdict")

    def _table(self) -> Markup:
        heads = ("Topics", "Perplexity", "Worse by, nats a word", "Standard error", "Shared", "NPMI", "Run")
        columns = [Column(head, numbers=at < 6, sorts=False) for at, head in enumerate(heads)]
        rows = [
            [
                Cell(row["topics"], row["topics"]),
                number(row["perplexity"], 5),
                "\N{INFINITY}" if math.isinf(row["difference"]) else number(row["difference"], 3),
                number(row["difference_error"], 2),
                "\N{EN DASH}" if row["shared"] is None else f"{row['shared']} of {row['topics']}",
                number(row["npmi"], 3),
                Path(row["run"]).name,
            ]
            for row in self.rows
        ]
        return html_table("ladder", "Numbers of topics beside one another", columns, rows)
