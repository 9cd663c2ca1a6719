"""Ctrl-C and SIGTERM while a run is being written."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from geodrift._terminal import say_at_once


class StoppedInPilotError(KeyboardInterrupt):
    """A run was asked to stop before it had a plan: of its steps nothing is kept.

    Attributes:
        number: Of the signal.
    """

    def __init__(self, message: str, number: int | None) -> None:
        super().__init__(message)
        self.number = number


class StopRequest(threading.Event):
    """Set by the first Ctrl-C or SIGTERM.

    Attributes:
        number: Of the signal; None: none has come.
    """

    number: int | None = None


@contextmanager
def stop_signals(*, silent: bool = False) -> Iterator[StopRequest]:
    """Turn the first Ctrl-C (or SIGTERM) into an event: a chunk of steps is never cut in two.

    The second is left to the handlers that were there before. In a thread other than the main one signals
    are left alone. ``silent``: nothing is said of the first.
    """
    stop = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def request(number: int, frame: object) -> None:
        if stop.is_set():
            put_back()
            signal.raise_signal(number)
            return
        stop.number = number
        stop.set()
        if not silent:
            say_at_once("stopping after the work in hand (again: at once, as of the last checkpoint)")

    def put_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        put_back()
