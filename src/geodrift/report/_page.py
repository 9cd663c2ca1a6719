"""The page: one file that asks nothing of anybody, and may not."""

import base64
import hashlib
import json
from importlib import resources
from typing import Any

from geodrift import __version__
from geodrift.report._cards import cards_section
from geodrift.report._data import Report
from geodrift.report._diagnostics_section import diagnostics_section
from geodrift.report._documents_section import documents_section
from geodrift.report._markup import Markup, joined, outside, tag
from geodrift.report._parts_section import map_section, parts_section
from geodrift.report._settings_section import settings_section
from geodrift.report._tables import tables
from geodrift.report._text import shown

GENERATOR = "geodrift report"  # by which an earlier report is known


def page(report: Report) -> str:
    """The HTML of a report."""
    styles = [_resource("page.css"), _resource("figures.css")]
    script = _resource("page.js")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(styles, script)),
        tag("meta", name="generator", content=f"{GENERATOR} {__version__}"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", shown(report.title)),
        tag("style", Markup(styles[0])),
        tag("style", Markup(styles[1]), id="figures"),
    )
    data = tag("script", Markup(_json(_data(report))), type="application/json", id="data")
    body = tag(
        "body", _top(report), tag("main", _sections(report)), _foot(), data, tag("script", Markup(script))
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _top(report: Report) -> Markup:
    name = report.component
    links = [
        ("parts", f"{name.capitalize()}s"),
        ("words", "Words"),
        ("map", "Map"),
        ("documents", "Documents"),
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
            tag("ul", [tag("li", outside_line(line)) for line in report.sentences], class_="verdict"),
        ),
    )


def outside_line(line: str) -> Markup:
    """A sentence, which may be longer than a title; options of commands are not broken."""
    words = [
        tag("span", word, class_="whole") if "--" in word else word for word in shown(line, 2000).split(" ")
    ]
    return tag("bdi", [[word, " "] for word in words])


def _sections(report: Report) -> list[Markup]:
    return [
        parts_section(report),
        cards_section(report),
        map_section(report),
        documents_section(report),
        diagnostics_section(report),
        settings_section(report),
    ]


def _foot() -> Markup:
    return tag("footer", f"Written by geodrift {__version__}. This page asks nothing of any other place.")


def _data(report: Report) -> dict[str, Any]:
    """The tables, each row without the empty cells at its end."""
    found = {}
    for table in tables(report):
        rows = [
            row[: max((i + 1 for i, value in enumerate(row) if value is not None), default=0)]
            for row in table.rows
        ]
        found[table.name] = {"columns": table.columns, "rows": rows}
    return {"component": report.component, "title": shown(report.title), "tables": found}


def _json(value: Any) -> str:
    """JSON that ends no element and has no character that UTF-8 lacks."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return "".join(c if not 0xD800 <= ord(c) <= 0xDFFF else f"\\u{ord(c):04x}" for c in text)


def _policy(styles: list[str], script: str) -> str:
    """Nothing may be fetched; styles and the script are these alone."""
    allowed = " ".join(_digest(style) for style in styles)
    sources = f"style-src {allowed}; script-src {_digest(script)}"
    return f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _resource(name: str) -> str:
    return resources.files("geodrift.report").joinpath(name).read_text("utf-8")
