"""What a process does that a supervisor has started: it ends with it, and keeps its terminal clean."""

import os
import sys
import threading
from typing import NoReturn

LOG = "GEODRIFT_WORKER_LOG"  # where what compiled libraries write goes


def be_worker() -> bool:
    """Do so, if a supervisor has started this process; returns whether it has."""
    log = os.environ.get(LOG)
    if log is None:
        return False
    threading.Thread(target=_end_with_supervisor, name="supervisor", daemon=True).start()
    _move_native_output(log)
    return True


def end(status: int) -> NoReturn:
    """End at once, without waiting for processes that may be gone."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


def _end_with_supervisor() -> None:
    """The supervisor holds the other end of stdin open while it lives."""
    try:
        while os.read(0, 1):
            pass
    except OSError:
        pass
    os._exit(1)


def _move_native_output(log: str) -> None:
    """What Python writes goes on to stdout and stderr; what libraries write to their numbers, to a file."""
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        stream.flush()
        kept = os.fdopen(os.dup(number), "w", encoding=stream.encoding, errors=stream.errors, buffering=1)
        setattr(sys, name, kept)
        os.dup2(target, number)
    os.close(target)
