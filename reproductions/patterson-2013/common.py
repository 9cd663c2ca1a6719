"""What the reproductions here share: the score of another folder, results as JSON."""

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import jax

jax.config.update("jax_enable_x64", True)

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import record  # noqa: E402

write = functools.partial(record.write, HERE)


def load_baker() -> ModuleType:
    """The running experiment of Baker et al. (2018), for its distance of draws from a Dirichlet law."""
    path = HERE.parent / "baker-2018" / "common.py"
    spec = importlib.util.spec_from_file_location("baker_2018_common", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
