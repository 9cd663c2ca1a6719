"""Leading documents as text for a person."""

from typing import Any

from geodrift._terminal import columns, terminal_width, visible
from geodrift.models.kit._tables import by_size, hanging, heading

TITLE = 60  # characters that are shown


def leading_text(found: list[dict[str, Any]], component: str) -> str:
    """The same as lines of a table for each component."""
    lines, width = [], terminal_width()
    for told in by_size(found):
        head, words = heading(told, component), " ".join(map(visible, told["words"]))
        lines.append(hanging(words, f"{head}: ", width, "  ") if words else head)
        for document in told["documents"]:
            interval = "-" if document["low"] is None else f"[{document['low']:.3f}, {document['high']:.3f}]"
            title = "" if document["title"] is None else "  " + _cut(visible(document["title"]))
            head = f"  {document['mean']:.3f}  {interval:<14}  "
            name = _with_room(visible(document["id"]), width - columns(head))
            lines.append(hanging(f"{name}{title}", head, width))
        lines.append("")
    return "\n".join(lines)


def _with_room(name: str, room: int) -> str:
    """An id of whose words none is wider: of a long path the end tells it from others."""
    return " ".join(word if columns(word) <= room else _end(word, room) for word in name.split(" "))


def _end(word: str, room: int) -> str:
    while columns(word) >= room:
        word = word[1 + (columns(word) - room) // 2 :]  # a letter takes two columns at most
    return f"…{word}"


def _cut(text: str) -> str:
    return text if len(text) <= TITLE else text[: TITLE - 1] + "…"
