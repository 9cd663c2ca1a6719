"""Clusters of vectors as text for a person."""

from collections.abc import Sequence
from typing import Any

from geodrift._terminal import visible
from geodrift.models.clusters._law_of_number import numbers_text
from geodrift.models.kit._answers import Findings
from geodrift.models.kit._model import Model
from geodrift.models.kit._tables import component_head, paragraphs, word_table
from geodrift.report._text import of_sizes


def findings_text(found: Findings, model: Model) -> str:
    """How many clusters there are, the verdict, and a few lines or a table for each."""
    head = [
        paragraphs(numbers_text(found.numbers, model.component, found.verdict)),
        "",
        paragraphs(_sentences(found, model)),
        "",
    ]
    return "\n".join([*head, *(line for part in found.parts for line in _lines(part, model))])


def findings_lines(found: Findings, model: Model, width: int) -> str:
    """One line a cluster, the number of them and the verdict."""
    lines = [
        paragraphs(f"{component_head(part, model.component, model.sizes_of)}; {_concentration(part)}", width)
        for part in found.parts
    ]
    number = paragraphs(numbers_text(found.numbers, model.component, found.verdict), width)
    return "\n".join([*lines, "", number, paragraphs(_sentences(found, model), width)])


def _sentences(found: Findings, model: Model) -> str:
    """The verdict, and what is to be said of the sizes."""
    return "\n".join(filter(None, [str(found.verdict), of_sizes(found.parts, model.component)]))


def _lines(part: dict[str, Any], model: Model) -> list[str]:
    lines = [paragraphs(component_head(part, model.component, model.sizes_of)), f"  {_concentration(part)}"]
    if part.get("nearest"):
        lines.append(paragraphs(f"  nearest {model.document}s (cosine): {_nearest(part['nearest'])}"))
    if "words" in part:
        lines += word_table(part["words"])
    return [*lines, ""]


def _concentration(part: dict[str, Any]) -> str:
    low, high = part["concentration_low"], part["concentration_high"]
    interval = "" if low is None else f" [{low:.4g}, {high:.4g}]"
    return f"concentration {part['concentration']:.4g}{interval}"


def _nearest(rows: Sequence[dict[str, Any]]) -> str:
    return ", ".join(f"{visible(row['row'])} ({row['cosine']:.3f})" for row in rows)
