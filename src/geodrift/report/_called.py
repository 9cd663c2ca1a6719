"""What a component is called on the page: the name that a reader gave it, or else its first words."""

from typing import Any

from geodrift.report._markup import Markup, joined, outside, tag
from geodrift.report._text import shown


def called(part: dict[str, Any], words: int, letters: int = 80) -> str:
    """As text: the name, or so many words of at most so many letters each."""
    name = part.get("name")
    if name:
        return shown(name)
    return " ".join(shown(entry["word"], letters) for entry in part["words"][:words])


def heading(part: dict[str, Any], words: int) -> Markup:
    """As markup: the name, and the words behind it."""
    told = joined(*[[outside(entry["word"]), " "] for entry in part["words"][:words]])
    name = part.get("name")
    return joined(tag("b", outside(name)), " ", tag("span", told, class_="soft")) if name else told
