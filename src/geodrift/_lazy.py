"""Packages whose names load their modules on first use, declared once, where type checkers read them."""

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def lazy(package: str, file: str) -> tuple[Callable[[str], Any], list[str]]:
    """What a package needs in the place of imports: its ``__getattr__`` and its ``__all__``.

    The names are those that its ``__init__.py`` imports under ``if TYPE_CHECKING:``, so that one list serves
    type checkers, documentation and the interpreter.

    Args:
        package: Its ``__name__``.
        file: Its ``__file__``.
    """
    where = _declared(ast.parse(Path(file).read_text(encoding="utf-8")))

    def find(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(where[name]), name)

    module, hidden = sys.modules[package], {"lazy", "TYPE_CHECKING"}
    # What an interactive session completes: the names, loaded or not.
    vars(module)["__dir__"] = lambda: sorted({*vars(module), *where} - hidden)
    return find, sorted(where)


def _declared(module: ast.Module) -> dict[str, str]:
    """The module of each name that is imported for type checkers alone."""
    return {
        alias.name: str(statement.module)
        for block in module.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
