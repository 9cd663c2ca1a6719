"""Every public name, of sub-packages too, has a line in `docs/api/`, and every line there names something."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import geodrift

PAGES = Path(__file__).parents[2] / "docs" / "api"
APPLICATION = {"geodrift.cli"}  # described by its --help and the README


def public_modules(package: ModuleType) -> Iterator[ModuleType]:
    """A package and the modules in it whose names have no underscore in front."""
    yield package
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if info.name.rpartition(".")[2].startswith("_") or info.name in APPLICATION:
            continue
        module = importlib.import_module(info.name)
        yield from public_modules(module) if info.ispkg else [module]


def public_names(module: ModuleType) -> set[str]:
    """What a module exports: its `__all__`, or what it and its private parts define without an underscore."""
    if hasattr(module, "__all__"):
        names = module.__all__
    else:
        own = module.__name__
        names = [
            n for n, value in vars(module).items() if str(getattr(value, "__module__", "")).startswith(own)
        ]
    members = {name: getattr(module, name) for name in names if not name.startswith("_")}
    return {
        f"{module.__name__}.{name}" for name, value in members.items() if not isinstance(value, ModuleType)
    }


def exported() -> set[str]:
    return set().union(*(public_names(module) for module in public_modules(geodrift)))


def documented() -> list[str]:
    text = "\n".join(page.read_text() for page in sorted(PAGES.glob("*.md")))
    return re.findall(r"^::: (\S+)", text, flags=re.MULTILINE)


def resolve(path: str) -> object:
    """The object behind a dotted path."""
    parent, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(parent), name)


def test_every_public_name_has_a_line():
    pages = {id(resolve(path)) for path in documented()}
    missing = sorted(path for path in exported() if id(resolve(path)) not in pages)
    assert not missing, f"add to docs/api: {', '.join(missing)}"


def test_every_line_is_of_an_exported_name_and_stands_once():
    lines = documented()
    assert len(lines) == len(set(lines))
    assert set(lines) <= exported()
