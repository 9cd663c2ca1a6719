"""All components at a glance: a table by size, the figure of sizes, and the map."""

import numpy as np

from geodrift.report._called import called, heading
from geodrift.report._data import Report
from geodrift.report._html_table import Cell, Column, csv_button, html_table, svg_button
from geodrift.report._map_figure import map_figure
from geodrift.report._marks import DIFFER, LABELS, kind_label, kind_sentence, mark
from geodrift.report._markup import Markup, joined, outside, tag
from geodrift.report._number_figure import numbers_figures
from geodrift.report._size_figure import (
    CELL,
    concentration_text,
    size_cell,
    size_figure,
    size_scale,
    size_text,
)
from geodrift.report._text import counted, of_sizes

WORDS = 8  # of each component in the table
PAIRS = 10  # nearest ones, in words


def parts_section(report: Report) -> Markup:
    """The table, with a box to filter it."""
    name = report.component
    more = "words" if "words" in report.parts[0] else "nearest"
    return tag(
        "section",
        tag("h2", f"{name.capitalize()}s"),
        tag("p", _about(report), class_="about"),
        _legend(report),
        numbers_figures(report),
        tag(
            "div",
            tag("label", f"Filter {name}s ", tag("input", type="search", data_filter="table-parts")),
            tag("span", "", class_="count", role="status", data_count="table-parts"),
            csv_button(f"{name}s"),
            tag("span", csv_button(more), class_="named", data_label=more),
            class_="tools",
        ),
        _table(report),
        _figure_of_sizes(report),
        id="parts",
    )


def map_section(report: Report) -> Markup:
    """The map, and the nearest of each component in words beside it."""
    name, drawn = report.component, report.map
    about = (
        f"A distance is the angle between two {name}s: {_ends(report)}. The plane shows"
        f" {drawn.explained:.0%} of the squared angles; ellipses hold nine tenths of a {name}'s places over"
        f" draws and chains. A dashed line joins {name}s whose angle may be below {drawn.same:.0f}°, at which"
        f" {name}s of two chains can count as the same."
    )
    figure = tag("div", map_figure(report), svg_button(), class_="plate")
    told = tag(
        "p", f"Move over or tab to a {name} for its neighbours.", id="map-told", class_="told", role="status"
    )
    return tag(
        "section",
        tag("h2", "Map"),
        tag("p", about, class_="about"),
        tag("div", figure, tag("div", told, _nearest_pairs(report)), class_="map-box"),
        tag("div", csv_button("angles"), class_="tools"),
        id="map",
    )


def _ends(report: Report) -> str:
    if report.parts and "concentration" in report.parts[0]:
        return "0° for the same direction, 90° for unrelated ones"
    return "0° for the same words in the same measure, 90° for no word in common"


def _nearest_pairs(report: Report) -> Markup:
    """The pairs at the smallest angles, in words."""
    drawn, name = report.map, report.component
    one, other = np.triu_indices(len(report.parts), 1)
    lines = []
    for at in np.argsort(drawn.angles[one, other], kind="stable")[:PAIRS]:
        a, b = int(one[at]), int(other[at])
        low, high = drawn.low[a, b], drawn.high[a, b]
        interval = "" if np.isnan(low) else f" [{low:.0f}, {high:.0f}]"
        links = [
            [tag("a", place, href=f"#{name}-{place}"), " ", outside(called(report, place, 1))]
            for place in (a, b)
        ]
        told = [*links[0], " and ", *links[1], f": {drawn.angles[a, b]:.0f}°{interval}"]
        lines.append(tag("li", told, class_="faded" if drawn.alike(a, b) else None))
    return joined(tag("h4", "Nearest pairs"), tag("ul", lines, class_="pairs")) if lines else Markup()


def _about(report: Report) -> str:
    text = counted(len(report.parts), report.component)
    if "size" in report.parts[0]:
        whose = "its" if len(report.parts) == 1 else "their"
        text += f" by {whose} size, which is a share of the {report.sizes_of}, with 90% intervals"
    return " ".join(filter(None, [f"{text}.", of_sizes(report.parts, report.component)]))


def _legend(report: Report) -> Markup:
    seen = [kind for kind in LABELS if kind in report.kinds]
    lines = []
    for kind in seen:
        number = report.kinds.count(kind)
        part = report.parts[report.kinds.index(kind)]
        sentence = (
            kind_sentence(kind, part, report.component, report.at_rest)
            if number == 1 or kind == "own"
            else _plural(kind, report)
        )
        lines.append(tag("li", mark(kind), " ", tag("b", f"{number} {LABELS[kind]}"), f": {sentence}"))
    return tag("ul", lines, class_="legend")


def _plural(kind: str, report: Report) -> str:
    name = report.component
    return {
        "shared": "found by enough chains that their intervals hold for another run"
        if report.at_rest
        else f"found by enough chains and alike, though {DIFFER}",
        "split": f"each is two {name}s in other chains; no intervals",
        "merged": f"each is a part of one {name} in other chains; no intervals",
        "some chains": "found by some chains: possibilities, without intervals",
        "one chain": "found by one chain alone: possibilities, without intervals",
    }[kind]


def _table(report: Report) -> Markup:
    name, sized = report.component, "size" in report.parts[0]
    vectors = "concentration" in report.parts[0]
    head = "Words" if "words" in report.parts[0] else f"Nearest {report.document}s"
    columns = [Column(name.capitalize(), numbers=True), Column(head, sorts=False)]
    columns += [Column("", sorts=False), Column("Size", numbers=True)] if sized else []
    columns += [Column("Concentration", numbers=True)] if vectors else []
    columns += [Column("Found by")]
    scale = size_scale(report, 6, CELL - 6) if sized else None
    rows = []
    for place in report.by_size():
        part = report.parts[place]
        known = heading(report, place, WORDS if "words" in part else 3)
        row = [Cell(tag("a", place, href=f"#{name}-{place}"), place), known]
        if sized:
            row += [size_cell(part, scale), Cell(size_text(part), part["size"])]
        if vectors:
            row.append(Cell(concentration_text(part), part["concentration"]))
        kinds = list(LABELS)
        key = part["found"] - kinds.index(report.kinds[place]) / len(kinds)
        row.append(Cell(kind_label(report, place), key))
        rows.append(row)
    return html_table("parts", f"{name.capitalize()}s by size", columns, rows)


def _figure_of_sizes(report: Report) -> Markup | None:
    if "size" not in report.parts[0]:
        return None
    figure = tag("div", size_figure(report), svg_button(), class_="plate")
    return tag("details", tag("summary", "Sizes as a figure"), figure)
