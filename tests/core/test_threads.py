"""Numba's threads spin briefly, and the environment is left as it was."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os
import numba
import numpy as np
from geodrift.kernels._cox_ingersoll_ross import WORTH_THREADS, normals

normals(4 * WORTH_THREADS, seed=0)
print(numba.threading_layer(), os.environ.get("GOMP_SPINCOUNT"))
"""


def run(**variables: str) -> tuple[str, str]:
    """What the script prints, and what OpenMP says of its settings when it is loaded."""
    names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "NUMBA_NUM_THREADS")
    plain = {name: value for name, value in os.environ.items() if name not in names}
    environment = plain | {"OMP_DISPLAY_ENV": "verbose", "NUMBA_NUM_THREADS": "2"} | variables
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    layer, left = done.stdout.split()
    if layer != "omp" or "GOMP_SPINCOUNT" not in done.stderr:
        pytest.skip(f"numba's threads here are those of {layer}, not of GNU OpenMP")
    return left, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "spin", "left"),
    [({}, "1000", "None"), ({"GOMP_SPINCOUNT": "77"}, "77", "77")],
    ids=["default", "chosen"],
)
def test_threads_spin_briefly_unless_told_otherwise(variables: dict, spin: str, left: str) -> None:
    environment, settings = run(**variables)
    assert f"GOMP_SPINCOUNT = '{spin}'" in settings
    assert environment == left


@pytest.mark.slow  # what else a user has chosen is kept likewise
def test_a_wait_policy_is_kept() -> None:
    _, settings = run(OMP_WAIT_POLICY="PASSIVE")
    assert "GOMP_SPINCOUNT = '0'" in settings
