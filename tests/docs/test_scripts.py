"""Scripts outside the package are run by hand, and rarely: what they take from it must be there."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path for folder in ("benchmarks", "reproductions") for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_that_a_script_imports_exist(script):
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "geodrift":
            module = importlib.import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name) or importlib.import_module(f"{node.module}.{name.name}")
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] == "geodrift":
                    importlib.import_module(name.name)


def commands(text):
    """The calls of scripts in a text: the script's path, and the options, also those in brackets."""
    for call in re.findall(r"python ((?:benchmarks|reproductions)/\S+\.py.*(?:\n +\[.*|\\\n.*)*)", text):
        yield call.split()[0].rstrip("`"), re.findall(r"(?<![\w-])--[a-z][\w-]*", call.partition("#")[0])


PAGES = sorted(
    path for folder in ("benchmarks", "reproductions") for path in (ROOT / folder).rglob("README.md")
)


@pytest.mark.parametrize("source", [*SCRIPTS, *PAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_scripts_take_the_options_with_which_they_are_called(source):
    text = source.read_text()
    if source.suffix == ".py":
        text = ast.get_docstring(ast.parse(text)) or ""
    for script, options in commands(text):
        code = ast.parse((ROOT / script).read_text())
        # A folder's scripts share some arguments; some make theirs of a dictionary of names.
        modules = [code, *(ast.parse(path.read_text()) for path in (ROOT / script).parent.glob("common.py"))]
        texts = [n.value for c in modules for n in ast.walk(c) if isinstance(n, ast.Constant)]
        taken = {text for text in texts if isinstance(text, str) and re.fullmatch(r"(--)?[a-z][\w-]*", text)}
        for option in options:
            assert taken & {option, option.removeprefix("--")}, f"{script} has no {option}"


def test_the_folder_of_results_is_there():
    assert (ROOT / "benchmarks" / "results").is_dir()
