r"""The one place where text goes to a terminal: stdout for results, stderr for everything else.

Words, names of fields and files, and whatever else comes from outside may hold codes that move the cursor,
recolour the screen or turn the order of letters round. They come out as text: an escape as ``\x1b``.
"""

import codecs
import json
import os
import re
import shutil
import sys
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from rich.console import Console

# C0, DEL and C1; the Arabic letter mark, the left-to-right and right-to-left marks, separators of lines and
# paragraphs, embeddings, overrides and isolates; halves of surrogate pairs, such as file names that are not
# UTF-8 have.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_STDERR = 2
_LEAST_WIDTH, _USUAL_WIDTH = 40, 80  # of a terminal; where there is none
_SHOW_CURSOR = b"\x1b[?25h\r\x1b[K"


def visible(text: object) -> str:
    """Text in which every character that could steer a terminal is written out, newlines among them."""
    return _UNSAFE.sub(_written_out, str(text))


def show(text: str) -> None:
    """A result, on stdout; its newlines are kept, so names in it must have gone through `visible`."""
    _write(sys.stdout, "\n".join(map(visible, text.split("\n"))))


def show_json(value: Any, indent: int | None = None) -> None:
    """A result as JSON, on stdout: what `visible` would change is written as JSON writes it."""
    encoding = codecs.lookup(sys.stdout.encoding or "utf-8").name
    text = json.dumps(value, ensure_ascii=encoding != "utf-8", indent=indent)
    # Between strings JSON has no such character but the newlines of the indentation.
    lines = (_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in text.split("\n"))
    _write(sys.stdout, "\n".join(lines))


def terminal_width() -> int:
    """Characters in a line of the terminal, or what COLUMNS says; 80 where neither is known."""
    return max(_LEAST_WIDTH, shutil.get_terminal_size((_USUAL_WIDTH, 24)).columns)


def columns(text: str) -> int:
    """Of a terminal: two a letter of Chinese or Korean, none a mark that stands on another letter."""
    from rich.cells import cell_len

    return cell_len(text)


def padded(text: str, width: int) -> str:
    """Followed by spaces, to so many columns."""
    return text + " " * (width - columns(text))


def cut(text: str, width: int) -> str:
    """At most so many columns: what is left out is told by an ellipsis."""
    from rich.cells import set_cell_size

    # Half of a wide letter becomes a space.
    return text if columns(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def say(text: object, stream: Any = None) -> None:
    """One line on stderr, or on ``stream``."""
    _write(stream or sys.stderr, visible(text))


def say_at_once(text: object) -> None:
    """One line on stderr from a signal handler, which may come in the midst of another line."""
    if os.isatty(_STDERR):
        os.write(_STDERR, _SHOW_CURSOR)
    os.write(_STDERR, f"{visible(text)}\n".encode("ascii", "backslashreplace"))


def progress_console() -> "Console":
    """Where progress goes: stderr."""
    from rich.console import Console

    return Console(stderr=True)


def silent_console() -> "Console":
    """In the place of `progress_console` where nothing is to be shown."""
    from rich.console import Console

    return Console(quiet=True)


def open_closed_streams() -> None:
    """Give a process that was started without stdin, stdout or stderr (``2>&-``) the null device there.

    The next file that is opened would have the number, and what libraries write to stderr would go into it.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (_STDERR, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            target = os.open(os.devnull, os.O_RDWR)
            if target != number:
                os.dup2(target, number)
                os.close(target)
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def end_at_once(status: int) -> NoReturn:
    """End the process with what it has said, without waiting for processes that may be gone."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


def move_native_output(path: str) -> None:
    """What Python writes goes on to stdout and stderr; what libraries write to their numbers, to a file."""
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, name in ((1, "stdout"), (_STDERR, "stderr")):
        _move(number, name, target)
    os.close(target)


def keep_stdout_for_results() -> None:
    """What Python writes goes on to stdout; what libraries write to its number, to stderr."""
    _move(1, "stdout", _STDERR)


def _move(number: int, name: str, target: int) -> None:
    stream = getattr(sys, name)
    stream.flush()
    kept = os.fdopen(os.dup(number), "w", encoding=stream.encoding, errors=stream.errors, buffering=1)
    setattr(sys, name, kept)
    os.dup2(target, number)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(
        found[0], f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    )


def _write(stream: Any, text: str) -> None:
    """Text and a newline, at once; letters that the stream's encoding does not have are written out."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
    except OSError as error:
        # A full disk behind `> file`, or a reader (head, less) that has left: the interpreter must not try
        # the rest again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise type(error)(error.errno, error.strerror, stream.name) from None
