"""Numba's threads, started so that they free their cores soon after their work."""

import functools
import os

import numba

# Turns of the loop in which a thread waits before it sleeps. GNU OpenMP's own choice amounts to milliseconds,
# in which a waiting thread keeps the core that another one needs: the BLAS's, XLA's, or another process's.
SPIN_COUNT = "1000"
SPIN_VARIABLES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


@functools.cache
def start_threads() -> None:
    """Start numba's threads, once, with a short spin.

    GNU OpenMP reads the environment when it is loaded, which numba does when its threads start. So this is
    called before the first parallel kernel, and the environment is left as it was. A user who sets one of
    `SPIN_VARIABLES` keeps it; where OpenMP is loaded already, or another threading layer is used, nothing
    changes.
    """
    if any(name in os.environ for name in SPIN_VARIABLES):
        return
    os.environ[SPIN_VARIABLES[0]] = SPIN_COUNT
    try:
        numba.get_num_threads()  # starts them
    finally:
        del os.environ[SPIN_VARIABLES[0]]
