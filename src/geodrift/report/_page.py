"""The page: one file that asks nothing of anybody, and may not."""

import base64
import gzip
import hashlib
import json
from importlib import resources
from typing import Any

from geodrift import __version__
from geodrift.report._cards import cards_section
from geodrift.report._data import TOLD, Report
from geodrift.report._diagnostics_section import diagnostics_section
from geodrift.report._documents_section import documents_section
from geodrift.report._markup import Markup, joined, outside, tag
from geodrift.report._parts_section import map_section, parts_section
from geodrift.report._prevalence_section import prevalence_section
from geodrift.report._settings_section import settings_section
from geodrift.report._tables import tables
from geodrift.report._text import shown

GENERATOR = "geodrift report"  # by which an earlier report is known


def page(report: Report) -> str:
    """The HTML of a report."""
    styles = [resource("page.css"), resource("figures.css")]
    script = resource("page.js")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy(styles, script)),
        tag("meta", name="generator", content=f"{GENERATOR} {__version__}"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", shown(report.title)),
        tag("style", Markup(styles[0])),
        tag("style", Markup(styles[1]), id="figures"),
    )
    data = tag("script", Markup(_packed_json(_data(report))), type="application/octet-stream", id="data")
    body = tag(
        "body", _top(report), tag("main", _sections(report)), _foot(), data, tag("script", Markup(script))
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _top(report: Report) -> Markup:
    name = report.component
    links = [
        ("parts", f"{name.capitalize()}s"),
        ("words", "Words" if any("words" in part for part in report.parts) else "Each"),
        ("map", "Map"),
        *([("prevalence", "Groups and time")] if report.prevalence else []),
        ("documents", f"{report.document.capitalize()}s"),
    ]
    links += [("diagnostics", "Diagnostics"), ("settings", "How it was made")]
    return joined(
        tag("a", "To the content", href="#parts", class_="skip"),
        tag(
            "nav",
            tag("div", [tag("a", text, href=f"#{place}") for place, text in links]),
            class_="top",
            aria_label="Sections",
        ),
        tag(
            "header",
            tag("p", outside(report.model), class_="over"),
            tag("h1", outside(report.title)),
            tag(
                "ul",
                [tag("li", outside_line(line)) for line in [*report.sentences, *report.notes]],
                class_="verdict",
            ),
        ),
    )


def outside_line(line: str) -> Markup:
    """A sentence, which may be longer than a title; options of commands are not broken."""
    words = [
        tag("span", word, class_="whole") if "--" in word else word for word in shown(line, 2000).split(" ")
    ]
    return tag("bdi", [[word, " "] for word in words])


def _sections(report: Report) -> list[Markup]:
    found = [
        parts_section(report),
        cards_section(report),
        map_section(report),
        prevalence_section(report),
        documents_section(report),
        diagnostics_section(report),
        settings_section(report),
    ]
    return [section for section in found if section is not None]


def _foot() -> Markup:
    return tag("footer", f"Written by geodrift {__version__}. This page asks nothing of any other place.")


def _data(report: Report) -> dict[str, Any]:
    """The tables, each row without the empty cells at its end."""
    found = {}
    for table in tables(report):
        if table.name == "document_fields":
            # By columns, which takes half the bytes; the first is that of the documents.
            found[table.name] = {
                "columns": table.columns,
                "of_columns": list(zip(*table.rows, strict=True))[1:],
            }
            continue
        rows = [
            row[: max((i + 1 for i, value in enumerate(row) if value is not None), default=0)]
            for row in table.rows
        ]
        packed = [_packed(row) for row in rows] if table.name == "documents" else rows
        found[table.name] = {"columns": table.columns, "rows": packed}
    others = {} if report.documents is None else dict(enumerate(report.documents.others, len(report.parts)))
    told = {"component": report.component, "title": shown(report.title), "others": others}
    return told | {"tables": found}


def _packed(row: list[Any]) -> list[Any]:
    """A document in half the bytes: thousandths, -1 for no end, 0 for a name that is its number."""
    number, name, told, *weights = row
    numbers = [
        value if at % 4 == 0 else -1 if value is None else round(1000 * value)
        for at, value in enumerate(weights)
    ]
    while len(numbers) % 4:
        numbers.append(-1)
    return [number, 0 if name == f"document {number}" else name, TOLD.index(told), *numbers]


def _packed_json(value: Any) -> str:
    """JSON as gzip in base64, in which no text of anybody's can end the element; a third of the bytes."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode("ascii"), 9, mtime=0)).decode("ascii")


def policy(styles: list[str], script: str | None = None) -> str:
    """Nothing may be fetched; styles and the script are these alone."""
    sources = "style-src " + " ".join(_digest(style) for style in styles)
    if script is not None:
        sources += f"; script-src {_digest(script)}"
    return f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def resource(name: str) -> str:
    """The text of a file of this folder."""
    return resources.files("geodrift.report").joinpath(name).read_text("utf-8")
