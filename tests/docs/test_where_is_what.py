"""Every name on the page "Where is what" exists, in the file that the page names."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "developer" / "where-is-what.md").read_text()
NAMES = sorted(set(re.findall(r"`([\w.]+:[\w.]+)`", PAGE)))
FILES = sorted(set(re.findall(r"`((?:src|tests)/[\w./]+)`", PAGE)))
TESTS = sorted(set(re.findall(r"`(tests/[\w./]+::\w+)`", PAGE)))
ROWS = [line for line in PAGE.splitlines() if line.startswith("|") and not line.startswith("| ---")]


@pytest.mark.parametrize("name", NAMES)
def test_name_is_where_the_page_says(name):
    module, _, path = name.partition(":")
    found = importlib.import_module(f"geodrift.{module}")
    first, *rest = path.split(".")
    member = getattr(found, first)
    assert member.__module__ == found.__name__, f"{first} is in {member.__module__}"
    for part in rest:
        member = getattr(member, part)


@pytest.mark.parametrize("file", FILES)
def test_file_exists(file):
    assert (ROOT / file).exists()


@pytest.mark.parametrize("test", TESTS)
def test_test_exists(test):
    file, _, name = test.partition("::")
    assert f"\ndef {name}(" in (ROOT / file).read_text()


def test_every_row_names_something():
    rows = [row for row in ROWS if not row.endswith(" | where |")]
    without = [row for row in rows if ":" not in row and "see " not in row and "tests/" not in row]
    assert len(rows) > 100
    assert not without
