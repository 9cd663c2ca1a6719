"""Both mixtures on several devices, whose rows they share, here of JAX's CPU back end."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from models import mixture_device_program

# Sums, by other instructions, and a function of them.
ROUNDED = ("vectors.kappa", "vectors.log_c_kappa", "vectors.resultants", "vectors.squares")


@pytest.mark.slow
def test_devices_that_share_the_rows_draw_what_one_draws(tmp_path):
    """In the precision of a user's program."""
    found = []
    for devices in (1, 4):
        out = tmp_path / f"{devices}.npz"
        command = [sys.executable, Path(mixture_device_program.__file__), out, str(devices)]
        told = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert told.returncode == 0, told.stderr
        found.append(dict(np.load(out)))
    for model in ("vectors", "counts"):
        assert [int(each.pop(f"{model}.lanes")) for each in found] == [1, 4]
    one, four = found
    assert one.keys() == four.keys()
    assert all(len(np.unique(one[name])) > 1 for name in ("vectors.assignments", "counts.move.assignments"))
    for name in one:
        tolerance = 1e-6 if name in ROUNDED else 0.0
        np.testing.assert_allclose(one[name], four[name], rtol=tolerance, atol=tolerance, err_msg=name)
