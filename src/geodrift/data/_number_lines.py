"""Text files of whole numbers, a block of lines at a time; the line that is something else is named."""

import bz2
import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np

from geodrift._errors import InputError

_BLOCK = 2**22  # bytes
_MOST_DIGITS = 18  # more may be beyond 64 bits
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}

_SPACE, _DIGIT, _NEWLINE, _COLON, _MINUS, _OTHER = range(6)
_KINDS = np.full(256, _OTHER, np.uint8)
for _kind, _bytes in enumerate((b" \t\r", b"0123456789", b"\n", b":", b"-")):
    _KINDS[list(_bytes)] = _kind


class NumberLines(NamedTuple):
    """The numbers of some lines."""

    first: int
    """Number of the first of the lines in its file, from 1."""
    numbers: np.ndarray
    """Of all lines, one after the other, [N] int64."""
    lengths: np.ndarray
    """How many each line holds, [lines]."""
    colons: np.ndarray
    """Whether a colon follows each number, [N]."""

    @property
    def starts(self) -> np.ndarray:
        """Where each line begins in ``numbers``, [lines]."""
        return np.cumsum(self.lengths) - self.lengths

    def refuse(self, path: Path, bad: np.ndarray, why: str) -> None:
        """Raise for the first line that is marked, with the line's numbers.

        Args:
            path: The file.
            bad: [lines].
            why: What is wrong with it.
        """
        if bad.any():
            line = int(np.argmax(bad))
            start = int(self.starts[line])
            shown = " ".join(map(str, self.numbers[start : start + self.lengths[line]][:8].tolist()))
            raise InputError(f"{path}, line {self.first + line}: {why}: {shown!r}")


@contextmanager
def open_numbers(path: Path) -> Iterator[BinaryIO]:
    """Open a file, decompressing by its name (.gz, .bz2); damage to it becomes an InputError."""
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.is_dir():
        raise InputError(f"{path} is a directory, not a file of counts")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty")
    try:
        opener: Callable[..., Any] = _OPENERS.get(path.suffix.lower(), open)
        with opener(path, "rb") as stream:
            yield stream
    except (EOFError, zlib.error, OSError) as error:
        # The decompressors' own errors have no number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{path} is damaged or was cut off ({error})") from None


def read_lines(stream: BinaryIO, path: Path, first: int = 1) -> Iterator[NumberLines]:
    """The lines of a stream from its present place, whose next line has the number ``first``.

    Raises:
        InputError: A line has anything but whole numbers that are not negative.
    """
    for block in _blocks(stream):
        kinds = _KINDS[np.frombuffer(block, np.uint8)]
        ends = np.flatnonzero(kinds == _NEWLINE)
        for kind, what in ((_MINUS, "a negative number"), (_OTHER, "something other than whole numbers")):
            if (kinds == kind).any():
                _refuse_byte(path, block, int(np.argmax(kinds == kind)), first, what)
        digits = kinds == _DIGIT
        edges = np.diff(digits.astype(np.int8), prepend=0)
        starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        if (stops - starts).max(initial=0) > _MOST_DIGITS:
            _refuse_byte(
                path, block, int(starts[np.argmax(stops - starts)]), first, "a number beyond 64 bits"
            )
        numbers = np.fromstring(block.replace(b":", b" "), dtype=np.int64, sep=" ")
        lengths = np.diff(np.searchsorted(starts, ends), prepend=0)
        yield NumberLines(first, numbers, lengths, kinds[stops] == _COLON)
        first += len(ends)


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Whole lines, each ended by a newline; blank ones at the end of the file are left out."""
    rest = b""
    while chunk := stream.read(_BLOCK):
        chunk = rest + chunk
        cut = chunk.rfind(b"\n") + 1
        while cut and not chunk[(before := chunk.rfind(b"\n", 0, cut - 1) + 1) : cut].strip():
            cut = before
        rest = chunk[cut:]
        if cut:
            yield chunk[:cut]
    if rest.strip():
        yield rest + b"\n"


def _refuse_byte(path: Path, block: bytes, place: int, first: int, what: str) -> NoReturn:
    line = block[block.rfind(b"\n", 0, place) + 1 : block.find(b"\n", place)]
    shown = line[:60].decode("utf-8", "replace").strip()
    number = first + block.count(b"\n", 0, place)
    raise InputError(f"{path}, line {number} holds {what}: {shown!r}")
