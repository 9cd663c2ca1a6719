"""Effects of groups as text for a person."""

import textwrap
from itertools import zip_longest
from typing import Any

from geodrift._terminal import columns, padded, terminal_width, visible
from geodrift.models.kit._tables import by_size, hanging, heading, paragraphs

LEAST_ROOM, MOST_ROOM = 8, 40  # characters of a line that a group's name has


def effect_text(found: list[dict[str, Any]], component: str, field: str, dates: bool = False) -> str:
    """The same as lines, a table for each component.

    Args:
        found: `Effects.parts`.
        component: What a component is called.
        field: The field that makes the groups.
        dates: Whether its values are dates.
    """
    lines, width = [], terminal_width()
    for reference in dict.fromkeys(each["reference"] for each in found):
        lines += [
            paragraphs(f"Count: documents used. Difference: its share less that of {visible(reference)}."),
            "",
        ]
    for told in by_size(found):
        words = " ".join(map(visible, told["words"]))
        lines.append(hanging(words, f"{heading(told, component)}: ", width, "  "))
        lines += _table(told["groups"], field, width)
        if "trend" in told:
            unit = "a year" if dates else f"for each unit of {visible(field)}"
            # Of a field of large numbers it is small: digits that count, wherever they stand.
            lines.append(paragraphs(f"  change {unit}: {_shown(told['trend'], '+#.3g')}"))
        lines.append("")
    return "\n".join(lines)


def _table(groups: list[dict[str, Any]], field: str, width: int) -> list[str]:
    """One group a row; a name that is too long for its column goes on in the rows below.

    Of a terminal that has no room for the difference, as of 40 characters, it has a row of its own.
    """
    rows = [
        (
            f"{group['documents']:,}",
            _shown(group),
            "" if group["difference"] is None else _shown(group["difference"], "+.3f"),
        )
        for group in groups
    ]
    heads = ("count", "share 90% interval", "difference 90% interval")
    count, share, change = (max(map(len, column)) for column in zip(heads, *rows, strict=True))
    names = [visible(field), *(visible(group["group"]) for group in groups)]
    longest, room = max(map(columns, names)), width - (8 + count + share + change)
    below = room < min(LEAST_ROOM, longest)
    if below:
        room += 2 + change
    room = min(longest, max(LEAST_ROOM, min(room, MOST_ROOM)))
    lines = []
    for name, (number, mean, difference) in zip(names, [heads, *rows], strict=True):
        first = [f"{number:>{count}}  {mean:<{share}}" + ("" if below else f"  {difference}")]
        for part, rest in zip_longest(textwrap.wrap(name, room) or [""], first, fillvalue=""):
            lines.append(f"  {padded(part, room)}  {rest}".rstrip())
        if below and name != names[0] and difference:
            lines.append(f"    difference  {difference}")
    return lines


def _shown(summary: dict[str, Any], form: str = ".3f") -> str:
    interval = "-"
    if summary["low"] is not None:
        interval = f"[{summary['low']:{form}}, {summary['high']:{form}}]"
    return f"{summary['mean']:{form}} {interval}"
