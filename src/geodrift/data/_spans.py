"""Parts of files of records, which processes read side by side. Where they end is told by the file alone."""

import csv
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

BYTES_A_PART = 2**25
# Encodings in which the bytes of line breaks, quotes and commas are those and nothing else.
_SPLIT_AT_BYTES = ("utf8", "ascii", "usascii", "latin1", "iso8859", "cp125", "windows125")


@dataclass(frozen=True)
class Span:
    """A part of a file: bytes of JSON lines and CSV, rows of Parquet.

    Attributes:
        start: The first byte or row.
        stop: The one behind the last.
        lines: Lines of the file before it.
        records: Records before it, where they are counted.
    """

    start: int
    stop: int
    lines: int = 0
    records: int = 0


def can_be_cut(encoding: str) -> bool:
    """Whether text in an encoding can be cut behind a line break without being decoded."""
    plain = encoding.lower().replace("-", "").replace("_", "")
    return plain.startswith(_SPLIT_AT_BYTES)


def spans_of_lines(stream: BinaryIO) -> list[Span]:
    """Parts of a file of lines, each of `BYTES_A_PART` and the rest of the last line."""
    found, start, lines = [], 0, 0
    while block := stream.read(BYTES_A_PART):
        block += stream.readline()
        found.append(Span(start, start + len(block), lines))
        start += len(block)
        lines += block.count(b"\n")
        if b"\r" in block:  # a line break too, where no line feed follows
            lines += block.count(b"\r") - block.count(b"\r\n")
    return found


def spans_of_csv(stream: BinaryIO) -> list[Span]:
    """Parts of a CSV file, without its first line; empty where it is not CSV, as its reader will say.

    Only a reader knows which line breaks end a record. This one takes each byte for a letter.
    """
    lines = _Lines(stream)
    reader = csv.reader(lines, strict=True)
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    found: list[Span] = []
    try:
        next(reader, None)
        start, before, first, records = lines.read, reader.line_num, 0, 0
        for record in reader:
            records += bool(record)
            if lines.read - start >= BYTES_A_PART:
                found.append(Span(start, lines.read, before, first))
                start, before, first = lines.read, reader.line_num, records
    except csv.Error:
        return []
    finally:
        lines.release()
    if lines.read > start:
        found.append(Span(start, lines.read, before, first))
    return found


class _Lines:
    """Lines of a stream, each byte a letter; how many bytes were read is counted."""

    def __init__(self, stream: BinaryIO) -> None:
        mark = stream.read(3)
        self.read = 3 if mark == b"\xef\xbb\xbf" else 0  # a byte order mark
        stream.seek(self.read)
        self._text = io.TextIOWrapper(stream, "latin-1", newline="")

    def __iter__(self) -> Iterator[str]:
        for line in self._text:
            self.read += len(line)
            yield line

    def release(self) -> None:
        """Leave the stream open for its owner to close."""
        self._text.detach()


def spans_of_rows(rows: int, size: int) -> list[Span]:
    """Parts of so many rows that take ``size`` bytes together, each of about `BYTES_A_PART`."""
    step = max(1, min(rows, rows * BYTES_A_PART // max(size, 1)))
    return [Span(start, min(start + step, rows), 0, start) for start in range(0, rows, step)]


class Window(io.RawIOBase):
    """The bytes of a stream from a place to another.

    Args:
        stream: Open for reading, and closed with this.
        start: The first byte.
        stop: The one behind the last.
    """

    def __init__(self, stream: BinaryIO, start: int, stop: int) -> None:
        self._stream, self._left = stream, stop - start
        stream.seek(start)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer, as far as there are bytes."""
        part = self._stream.read(min(len(buffer), self._left))
        buffer[: len(part)] = part
        self._left -= len(part)
        return len(part)

    def close(self) -> None:
        """Close the stream too."""
        self._stream.close()
        super().close()
