"""Text files of whole numbers, read in blocks of lines; an error names the line that is wrong."""

import bz2
import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import NamedTuple, NoReturn, cast

import numpy as np
from jaxtyping import Bool, Int, Shaped

from geodrift._errors import InputError
from geodrift.data._limits import BoundedReader
from geodrift.data._regular_files import open_regular

_BLOCK = 2**22  # bytes
_MOST_DIGITS = 18  # more may be beyond 64 bits
_OPENERS: dict[str, Callable[..., BufferedIOBase]] = {".gz": gzip.open, ".bz2": bz2.open}

_SPACE, _DIGIT, _NEWLINE, _COLON, _MINUS, _OTHER = range(6)
_KINDS = np.full(256, _OTHER, np.uint8)
for _kind, _bytes in enumerate((b" \t\r", b"0123456789", b"\n", b":", b"-")):
    _KINDS[list(_bytes)] = _kind


class NumberLines(NamedTuple):
    """The numbers in a block of lines."""

    first: int  # line number of the first of the lines in the file, from 1
    numbers: Int[np.ndarray, " N"]  # of all lines, one after the other
    lengths: Int[np.ndarray, " L"]  # how many numbers each line holds
    colons: Bool[np.ndarray, " N"]  # whether a colon follows each number

    @property
    def starts(self) -> Int[np.ndarray, " L"]:
        """Where each line begins in ``numbers``."""
        return np.cumsum(self.lengths) - self.lengths

    def refuse(self, path: Path, bad: Shaped[np.ndarray, " L"], why: str) -> None:
        """Raise an error that quotes the first wrong line, if any.

        Args:
            path: The file.
            bad: Not 0 where a line is wrong.
            why: What is wrong with such lines.

        Raises:
            InputError: A line is wrong.
        """
        if bad.any():
            line = int(np.argmax(bad))
            start = int(self.starts[line])
            shown = " ".join(map(str, self.numbers[start : start + self.lengths[line]][:8].tolist()))
            raise InputError(f"{path}, line {self.first + line}: {why}: {shown!r}")


@contextmanager
def open_numbers(path: Path) -> Iterator[BufferedIOBase]:
    """Open a file for reading, decompressed where its name ends in .gz or .bz2.

    Raises:
        InputError: The file does not exist, is empty, is no regular file, is damaged, or decompresses to far
            more than its size.
    """
    opener = _OPENERS.get(path.suffix.lower())
    try:
        with open_regular(path) as stream:
            if opener is None:
                yield cast(BufferedIOBase, stream)
            else:
                with opener(stream, "rb") as plain:
                    yield BoundedReader(plain, path, "decompress it first")
    except (EOFError, zlib.error, OSError) as error:
        # The decompressors' own errors have no number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{path} is damaged or was cut off ({error})") from None


def read_lines(stream: BufferedIOBase, path: Path, first: int = 1) -> Iterator[NumberLines]:
    """Read the rest of a stream in blocks of lines.

    Args:
        stream: Its next line has the number ``first``.
        path: The file, for error messages.
        first: Counted from 1.

    Raises:
        InputError: A line holds anything but whole numbers that are not negative, or a colon that does not
            join two of them.
    """
    for block in read_blocks(stream):
        kinds = _KINDS[np.frombuffer(block, np.uint8)]
        ends = np.flatnonzero(kinds == _NEWLINE)
        for kind, what in ((_MINUS, "a negative number"), (_OTHER, "something other than whole numbers")):
            if (kinds == kind).any():
                _refuse_byte(path, block, int(np.argmax(kinds == kind)), first, what)
        digits = kinds == _DIGIT
        colons = np.flatnonzero(kinds == _COLON)
        # A block ends with a newline, and what stands before its first byte is one too.
        astray = colons[~(digits[colons - 1] & digits[colons + 1])]
        if astray.size:
            _refuse_byte(path, block, int(astray[0]), first, "a colon that does not join two numbers")
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


def read_blocks(stream: BufferedIOBase) -> Iterator[bytes]:
    """Blocks of whole lines, each ended by a newline, without the blank lines at the end of the file."""
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
    """Raise an error that quotes the line with the byte at ``place``; ``first`` is the block's first line."""
    line = block[block.rfind(b"\n", 0, place) + 1 : block.find(b"\n", place)]
    shown = line[:60].decode("utf-8", "replace").strip()
    number = first + block.count(b"\n", 0, place)
    raise InputError(f"{path}, line {number} holds {what}: {shown!r}")
