"""Turns the docstrings' ``.. math::`` and ``:math:`` into MathML, which browsers show without a script."""

import re
from typing import Any

from griffe import Extension, Object
from latex2mathml.converter import convert

_BLOCK = re.compile(
    r"^\.\. math::[ \t]*(?P<first>[^\n]*)(?P<rest>(?:\n(?:[ \t]+[^\n]*|(?=\n)))*)", re.MULTILINE
)
_ROLE = re.compile(r":math:`(?P<formula>[^`]+)`")


def to_mathml(text: str) -> str:
    """The text of a docstring with its formulas converted."""

    def block(match: re.Match[str]) -> str:
        formula = " ".join((match["first"] + match["rest"]).split())
        return f"{convert(formula, display='block')}\n"

    text = _BLOCK.sub(block, text)
    return _ROLE.sub(lambda match: convert(" ".join(match["formula"].split())), text)


class DocstringMath(Extension):
    """Applies `to_mathml` to every docstring that is read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called by griffe for each module, class and function."""
        if obj.docstring:
            obj.docstring.value = to_mathml(obj.docstring.value)
