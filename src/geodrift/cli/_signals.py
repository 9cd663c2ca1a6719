"""Ctrl-C, SIGTERM and SIGHUP while a command is at work."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from geodrift._terminal import say_at_once

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Ctrl-C, SIGTERM or a terminal that closes ends the process, with the status 128 + the signal's number.

    A line says so. No exception is raised: one that comes in the midst of an import or of a library's
    callback may be taken for another or be lost. Whatever is on disk survives a kill at any moment; what
    stands under a temporary name is removed. While a run is sampled the driver's own handlers of the first
    two are in this one's place.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Under nohup a command goes on when its terminal closes.
    heard = [number for number in STOPPING if not _goes_on_without_terminal(number)]
    before = {number: signal.signal(number, _end) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _goes_on_without_terminal(number: int) -> bool:
    return number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN


def _end(number: int, frame: object) -> None:
    from geodrift.files import remove_unfinished

    for other in STOPPING:
        signal.signal(other, signal.SIG_IGN)
    if "multiprocessing" in sys.modules:
        import multiprocessing

        children = multiprocessing.active_children()
        for child in children:
            child.kill()
        for child in children:
            child.join()
    remove_unfinished()
    with suppress(OSError):  # the terminal may be gone
        say_at_once(
            f"error: interrupted ({signal.Signals(number).name}); nothing half-written is left, and a run"
            " that was begun goes on by geodrift resume"
        )
    os._exit(128 + number)
