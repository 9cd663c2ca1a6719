"""Ctrl-C and SIGTERM while a run is being written."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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
