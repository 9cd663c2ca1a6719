"""Opening files that are given as input: only regular ones, which end and which cannot make a reader wait."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from geodrift._errors import InputError

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def open_regular(path: str | Path, what: str = "") -> BinaryIO:
    """Open a file for reading in binary.

    Args:
        path: The file, or a link to it.
        what: What the file is, for error messages, such as ``"vocabulary file"``.

    Raises:
        InputError: It does not exist, is empty, or is a pipe, a device, a directory or a socket. It is never
            waited for.
    """
    name = f"{what} {path}".strip()
    refuse_irregular(path, name)
    try:
        # A pipe that took the file's place since is not waited for either.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from None
    return os.fdopen(descriptor, "rb")


def refuse_irregular(path: str | Path, name: str = "", may_be_empty: bool = False) -> None:
    """Raise InputError unless a file with contents stands at ``path``, or a link to one.

    Args:
        path: What is to be read.
        name: What it is called in the error message; the path when not given.
        may_be_empty: Whether it may be without contents.
    """
    name = name or str(path)
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{name} does not exist") from None
    except (ValueError, OSError) as error:
        # ValueError: a name with a zero byte.
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{name} cannot be read: {why}") from None
    kind = next((kind for test, kind in _KINDS if test(found.st_mode)), None)
    if kind is not None:
        raise InputError(f"{name} is {kind}, and only regular files are read: save its contents to a file")
    if found.st_size == 0 and not may_be_empty:
        raise InputError(f"{name} is empty")
