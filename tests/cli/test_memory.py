"""Freed blocks go back to the system where a command asks for that."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from geodrift.cli._memory import give_large_blocks_back

def held():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) // 1024

if sys.argv[1] == "asks":
    give_large_blocks_back()
np.ones(2**21)  # 16 MB: from now on glibc keeps what is smaller
before, large, small = held(), [], []
for _ in range(8):
    large.append(np.ones(2**20))  # 8 MB
    small.append(np.ones(2**16))  # above it in the heap, where it holds up what is below
del large
print(held() - before - 4)  # MB, without the small ones
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator than glibc's")
def test_freed_blocks_do_not_stay():
    kept = {}
    for kind in ("asks", "does not"):
        done = subprocess.run([sys.executable, "-c", PROGRAM, kind], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        kept[kind] = int(done.stdout)
    assert kept["asks"] <= 4
    assert kept["does not"] >= 32
