"""What a process does that a supervisor has started: it ends with it, and keeps its terminal clean."""

import os
import threading

from geodrift._terminal import move_native_output

LOG = "GEODRIFT_WORKER_LOG"  # where what compiled libraries write goes


def be_worker() -> bool:
    """Do so, if a supervisor has started this process; returns whether it has."""
    log = os.environ.get(LOG)
    if log is None:
        return False
    threading.Thread(target=_end_with_supervisor, name="supervisor", daemon=True).start()
    move_native_output(log)
    return True


def _end_with_supervisor() -> None:
    """The supervisor holds the other end of stdin open while it lives."""
    try:
        while os.read(0, 1):
            pass
    except OSError:
        pass
    os._exit(1)
