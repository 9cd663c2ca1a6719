"""Prints constraints for pip: the oldest versions, by pyproject.toml, of what geodrift and its tests need."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
for requirement in project["dependencies"] + project["optional-dependencies"]["test"]:
    bound = re.match(r"([\w.-]+)>=([\d.]+)", requirement)
    if bound is None:
        raise SystemExit(f"pyproject.toml: {requirement!r} has no oldest version")
    print(f"{bound[1]}=={bound[2]}")
