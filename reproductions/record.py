"""Results as JSON, with what is needed to make them again."""

import json
import platform
import subprocess
from pathlib import Path
from typing import Any

import jax
import numpy as np

import geodrift as gd

ROOT = Path(__file__).resolve().parents[1]


def write(
    folder: Path, name: str, settings: dict[str, Any], measured: dict[str, Any], digits: int = 6
) -> None:
    """Write ``results/<name>.json`` in a folder of this one, and print what was measured.

    Args:
        folder: Of the paper.
        name: Of the table or figure.
        settings: What was run.
        measured: What came out: numbers, arrays and dictionaries of them.
        digits: Of a number that is not whole.
    """
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    versions = {
        "python": platform.python_version(),
        "geodrift": gd.__version__,
        "jax": jax.__version__,
        "numpy": np.__version__,
    }
    record = {"settings": settings, "measured": measured, "versions": versions, "commit": commit or "unknown"}
    path = folder / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(rounded(record, digits), indent=2) + "\n", encoding="utf-8")
    print(json.dumps(rounded(measured, digits), indent=2))


def rounded(node: Any, digits: int = 6) -> Any:
    """The same numbers with so many digits, as JSON can hold them."""
    if isinstance(node, dict):
        return {str(key): rounded(value, digits) for key, value in node.items()}
    if isinstance(node, np.ndarray | list | tuple):
        return [rounded(value, digits) for value in node]
    return float(f"{node:.{digits}g}") if isinstance(node, float | np.floating) else node
