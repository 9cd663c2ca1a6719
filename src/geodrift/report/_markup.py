"""HTML and SVG from Python values: text is escaped unless it is markup already."""

import html
from collections.abc import Iterable
from typing import Any

from geodrift.report._text import shown

# Elements of HTML without an end tag; those of SVG are closed by a slash.
_VOID = {"meta", "input", "br", "link"}
_EMPTY = {"circle", "line", "path", "rect", "ellipse", "use"}


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


def tag(element: str, *children: Any, **attributes: Any) -> Markup:
    """An element.

    Args:
        element: Its name.
        children: Markup as it is, other text escaped, sequences one after the other, None left out.
        attributes: By name, ``_`` for ``-``, a trailing one dropped (``class_``); True: without a value; None
            and False: left out.
    """
    told = "".join(
        _attribute(name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items()
    )
    if element in _VOID:
        return Markup(f"<{element}{told}>")
    if element in _EMPTY:
        return Markup(f"<{element}{told}/>")
    return Markup(f"<{element}{told}>{joined(*children)}</{element}>")


def joined(*children: Any) -> Markup:
    """Children one after the other; see `tag`."""
    return Markup("".join(_child(child) for child in children))


def escaped(text: object) -> Markup:
    """Text in which nothing is markup, nor steers the order of letters; cut after 80 characters a word."""
    return Markup(html.escape(str(text), quote=True))


def outside(text: object) -> Markup:
    """Text from outside, isolated from the direction of what stands beside it."""
    plain = shown(text)
    return escaped(plain) if plain.isascii() else tag("bdi", escaped(plain))


def _child(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escaped(child)
    if isinstance(child, Iterable):
        return joined(*child)
    return escaped(child)


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f' {name}="{escaped(text)}"'
