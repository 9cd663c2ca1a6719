"""From an exception to one line on stderr and an exit status."""

import csv
import io
import json
import logging
import lzma
import os
import re
import struct
import sys
import traceback
import zipfile
import zlib
from typing import Any

import typer

from geodrift._terminal import say

# What `typer` raises for wrong arguments; it brings its own click, or uses the one that is installed.
CLICK_ERROR: type[Exception] = typer.BadParameter.__mro__[2]

# Set to 1, the place in the code is printed too.
TRACEBACK = "GEODRIFT_TRACEBACK"

# Raised by libraries over the contents of files, without a word on which file.
_OF_CONTENTS: tuple[type[Exception], ...] = (
    json.JSONDecodeError,
    UnicodeError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    csv.Error,
    struct.error,
    EOFError,
    RecursionError,
    NotImplementedError,
)


class UsageError(ValueError):
    """Arguments that do not go together; exit status 2."""


def told(error: Exception) -> int:
    """Say what went wrong in one line, and return the exit status."""
    if os.environ.get(TRACEBACK) == "1":
        for line in "".join(traceback.format_exception(error)).splitlines():
            say(line)
    # Of what a library still reads elsewhere when this ends the command, nobody is to hear.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    if isinstance(error, typer.Abort) and isinstance(error.__cause__, Exception):
        # Typer takes the end of a file for the end of what a person types.
        error = error.__cause__
    if isinstance(error, CLICK_ERROR):
        return _usage(error)
    if isinstance(error, BrokenPipeError):
        return 1  # nobody is there to be told
    say(f"error: {_line(error)}")
    return 2 if isinstance(error, UsageError) else 1


def _line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None and type(error).__module__ != "builtins":
            return error.strerror  # ours, which says where
        place = error.filename if error.filename is not None else _command()
        return f"{place}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"out of memory: {error or _command()}".rstrip(": ")
    if isinstance(error, _OF_CONTENTS) or type(error).__module__.split(".")[0] == "pyarrow":
        return f"{_command()}: cannot read what is there: {_words(error)} ({type(error).__name__})"
    if isinstance(error, ValueError | RuntimeError):
        # InputError, UsageError, and the models' own checks are ValueErrors, SamplingError is a RuntimeError.
        return _as_typed(_words(error))
    return (
        f"{_command()}: {type(error).__name__}: {_words(error)}; this is a mistake in geodrift, please report"
        f" it: with {TRACEBACK}=1 the command prints where it happened"
    )


def _words(error: Exception) -> str:
    """The message on one line; other characters than newlines and spaces are left to `say`."""
    return re.sub("[ \n\t]+", " ", str(error)).strip()


def _as_typed(words: str) -> str:
    """The models' own checks name a setting as Python does: its option is what was typed."""
    from geodrift.cli._model_options import option_of
    from geodrift.cli._options import Text

    name, _, rest = words.partition(" ")
    if name in sys.argv[1:]:
        return words  # a path that is called as a setting is
    option = option_of(name) or (name.replace("_", "-") if name in Text._fields else None)
    return words if option is None else f"--{option} {rest}"


def _command() -> str:
    """What was typed, for errors that do not know their file."""
    return " ".join(["geodrift", *sys.argv[1:]])


def _usage(error: Any) -> int:
    """Typer's own refusal of arguments, which repeats them: the usage, a hint, the error."""
    written = io.StringIO()
    error.show(file=written)
    for line in written.getvalue().rstrip("\n").split("\n"):
        say(line)
    return int(error.exit_code)
