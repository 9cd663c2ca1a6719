"""Packages whose names load their modules on first use."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy(package: str, modules: Mapping[str, tuple[str, ...]]) -> tuple[Callable[[str], Any], list[str]]:
    """What a package needs in the place of imports: its ``__getattr__`` and its ``__all__``.

    Args:
        package: Its ``__name__``.
        modules: For each module, by its name below the package or in full, the names that the package has of
            it.
    """
    full = {module: module if module.startswith("geodrift.") else f"{package}.{module}" for module in modules}
    where = {name: full[module] for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(where[name]), name)

    return find, sorted(where)
