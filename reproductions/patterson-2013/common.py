"""What the reproductions here share: the score of another folder, results as JSON."""

import importlib.util
import json
import platform
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np

import geodrift as gd

jax.config.update("jax_enable_x64", True)

HERE = Path(__file__).resolve().parent


def load_baker() -> ModuleType:
    """The running experiment of Baker et al. (2018), for its distance of draws from a Dirichlet law."""
    path = HERE.parent / "baker-2018" / "common.py"
    spec = importlib.util.spec_from_file_location("baker_2018_common", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(name: str, settings: dict[str, Any], measured: dict[str, Any]) -> None:
    """Write ``results/<name>.json`` with what is needed to make it again."""
    root = HERE.parents[1]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True, check=False
    ).stdout.strip()
    versions = {"python": platform.python_version(), "geodrift": gd.__version__, "jax": jax.__version__}
    record = {"settings": settings, "measured": measured, "versions": versions, "commit": commit or "unknown"}
    text = json.dumps(_rounded(record), indent=2)
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(json.dumps(_rounded(measured), indent=2))


def _rounded(node: Any) -> Any:
    if isinstance(node, dict):
        return {str(key): _rounded(value) for key, value in node.items()}
    return float(f"{node:.6g}") if isinstance(node, float | np.floating) else node
