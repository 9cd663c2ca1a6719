"""A regular expression from a user, with a limit on the time that it may take.

Python's expressions try all ways to match: ``(a+)+b`` takes more than the age of the universe on a hundred
letters a, and no look at an expression finds all that do so. They can be interrupted by a signal.
"""

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from geodrift._errors import InputError

_SECONDS = 4.0
_CHARACTERS_A_SECOND = 1_000_000  # twenty times slower than usual expressions


class _OutOfTimeError(Exception):
    """The expression has run for longer than it may."""


def compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression.

    Raises:
        InputError: It is none.
    """
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise InputError(f"token pattern {pattern[:200]!r} cannot be used: {error}") from None


def limited(split: Callable[[str], list[str]], pattern: str) -> Callable[[str], list[str]]:
    """A function from a text to its words, which ends after some seconds with an error.

    The limit is 4 seconds, and a second more for each million characters. It needs signals, which Python
    gives to the main thread alone: in other threads there is none.

    Args:
        split: Applies the pattern.
        pattern: For the error message.
    """

    def within_time(text: str) -> list[str]:
        seconds = _SECONDS + len(text) / _CHARACTERS_A_SECOND
        try:
            with _alarm(seconds):
                return split(text)
        except _OutOfTimeError:
            raise InputError(
                f"token pattern {pattern[:200]!r} took more than {seconds:.0f} s on one text, which begins "
                f"{text[:40]!r}: take a pattern without repetitions inside of repetitions"
            ) from None

    return within_time


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise `_OutOfTimeError` in the block after so many seconds."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def out_of_time(number: int, frame: FrameType | None) -> None:
        raise _OutOfTimeError

    before = signal.signal(signal.SIGALRM, out_of_time)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        # None: a handler that was not set by Python, which cannot be put back.
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)
