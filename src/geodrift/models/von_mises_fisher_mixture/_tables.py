"""Clusters of vectors as text for a person."""

from collections.abc import Sequence
from typing import Any

from geodrift._terminal import visible
from geodrift.models.clusters._law_of_number import numbers_text
from geodrift.models.kit._answers import Findings
from geodrift.models.kit._tables import component_head, paragraphs, word_table


def findings_text(found: Findings, component: str, document: str) -> str:
    """How many clusters there are, the verdict, and a few lines or a table for each."""
    head = [numbers_text(found.numbers, "cluster"), "", paragraphs(str(found.verdict)), ""]
    return "\n".join([*head, *(line for part in found.parts for line in _lines(part, component, document))])


def findings_lines(found: Findings, component: str, document: str, width: int) -> str:
    """One line a cluster, the number of them and the verdict."""
    lines = [f"{component_head(part, component, document)}; {_concentration(part)}" for part in found.parts]
    return "\n".join(
        [*lines, "", numbers_text(found.numbers, "cluster"), paragraphs(str(found.verdict), width)]
    )


def _lines(part: dict[str, Any], component: str, document: str) -> list[str]:
    lines = [component_head(part, component, document), f"  {_concentration(part)}"]
    if part.get("nearest"):
        lines.append(paragraphs(f"  nearest {document}s (cosine): {_nearest(part['nearest'])}"))
    if "words" in part:
        lines += word_table(part["words"])
    return [*lines, ""]


def _concentration(part: dict[str, Any]) -> str:
    low, high = part["concentration_low"], part["concentration_high"]
    interval = "" if low is None else f" [{low:.4g}, {high:.4g}]"
    return f"concentration {part['concentration']:.4g}{interval}"


def _nearest(rows: Sequence[dict[str, Any]]) -> str:
    return ", ".join(f"{visible(row['row'])} ({row['cosine']:.3f})" for row in rows)
