"""Pages whose code runs when the documentation is built."""

import contextlib
import io
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
EXECUTED = sorted(
    str(page.relative_to(DOCS))
    for page in DOCS.rglob("*.md")
    if "```python exec" in page.read_text(encoding="utf-8")
)


def blocks_of(name):
    """The code of a page, block by block."""
    text = (DOCS / name).read_text(encoding="utf-8")
    return re.findall(r"```python exec[^\n]*\n(.*?)```", text, flags=re.DOTALL)


def run_page(name, blocks=None):
    """The names that a page's code, or some blocks of it, leaves, and what it prints."""
    names: dict = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks_of(name) if blocks is None else blocks:
            exec(compile(block, name, "exec"), names)
    return names, printed.getvalue()
