"""A table of the page: columns that sort, and a button that writes it as CSV."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from geodrift.report._markup import Markup, tag


class Column(NamedTuple):
    """A column: its head, whether it holds numbers, and whether the rows can be sorted by it."""

    head: str
    numbers: bool = False
    sorts: bool = True


class Cell(NamedTuple):
    """A cell: what is shown, and the number by which it sorts."""

    shown: Any
    key: float | None = None


def html_table(name: str, caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> Markup:
    """A table in a box that scrolls sideways where the window is narrow.

    Args:
        name: Of the table.
        caption: For those who do not see it.
        columns: The heads.
        rows: Cells, or what is shown in them.
    """
    heads = [
        tag("th", tag("button", c.head, type="button") if c.sorts else c.head, scope="col", class_=_of(c))
        for c in columns
    ]
    body = [
        tag("tr", [_cell(cell, column) for cell, column in zip(row, columns, strict=True)]) for row in rows
    ]
    inner = tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", heads)),
        tag("tbody", body),
        id=f"table-{name}",
    )
    return tag("div", inner, class_="scroll", tabindex=0, role="region", aria_label=caption)


def csv_button(name: str) -> Markup:
    """A button that writes one of the tables of `_tables` as CSV."""
    return tag("button", "CSV", type="button", class_="get", data_csv=name, title=f"{name}.csv")


def svg_button() -> Markup:
    """A button that writes the figure beside it as an SVG."""
    return tag("button", "SVG", type="button", class_="get", data_svg=True, title="this figure as SVG")


def _cell(cell: Any, column: Column) -> Markup:
    content, key = cell if isinstance(cell, Cell) else (cell, None)
    return tag("td", content, class_=_of(column), data_key=None if key is None else f"{key:.6g}")


def _of(column: Column) -> str | None:
    return "num" if column.numbers else None
