"""Ctrl-C, SIGTERM and a full disk while a run is being written."""

import errno
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# A full disk, a quota, a file size limit.
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class StorageFullError(OSError):
    """The disk is full; the run is as its last checkpoint left it."""


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C (or SIGTERM) into an event: a chunk of steps is never cut in two.

    In a thread other than the main one signals are left alone.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def request(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        print("stopping after these steps (again: at once, as of the last checkpoint)", file=sys.stderr)

    before = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """Raise `StorageFullError` in the place of an error for want of room in a run directory."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        raise StorageFullError(
            error.errno,
            f"{error.strerror}: run {path} is kept as of its last checkpoint; make room, then go on with it",
        ) from error
