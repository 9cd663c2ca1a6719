r"""Turns the pages' ``$..$`` and ``$$..$$`` into MathML, which browsers show without a script or a request.

``pymdownx.arithmatex`` finds the formulas and keeps Markdown away from what is in them; this hook of MkDocs
converts them. Docstrings have `docstring_math`.
"""

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

# What arithmatex writes in its generic form: \(..\) in a line, \[..\] on lines of its own.
_FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\s*\\(?P<open>[(\[])(?P<formula>.*?)\\[)\]]\s*</(?P=tag)>',
    re.DOTALL,
)
# latex2mathml shows a command that it does not know as the text that it is.
_UNKNOWN = re.compile(r"<m[a-z]+>[^<]*\\[A-Za-z]+")


def on_page_content(html: str, *, page: Any, **_: Any) -> str:
    """Called by MkDocs for each page that has been made HTML.

    Raises:
        PluginError: A formula has a command that cannot be converted; it ends the build.
    """

    def converted(match: re.Match[str]) -> str:
        formula = " ".join(unescape(match["formula"]).split())
        mathml = convert(formula, display="block" if match["open"] == "[" else "inline")
        unknown = _UNKNOWN.search(mathml)
        if unknown:
            raise PluginError(
                f"{page.file.src_uri}: cannot convert {unknown[0]!r} of the formula {formula!r}"
            )
        return mathml

    return _FORMULA.sub(converted, html)
