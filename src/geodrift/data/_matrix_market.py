"""Matrix Market files of documents by words, such as gensim's `MmCorpus` and SciPy's `mmwrite` write.

They are read here and not by SciPy, whose compiled reader takes the memory that a header asks for and ends
the process where it does not get it.
"""

import warnings
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float, Int

from geodrift._errors import InputError
from geodrift.data._limits import check_documents
from geodrift.data._number_lines import open_numbers, read_blocks

_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_LONGEST_LINE = 4096
_MOST_DIGITS = 15  # whole numbers of so many are exact in double precision
_FORM = "'%%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric'"

_SPACE, _NUMBER, _OTHER = range(3)
_KINDS = np.full(256, _OTHER, np.uint8)
_KINDS[list(b" \t\r\n")] = _SPACE
_KINDS[list(b"0123456789+-.eEnNaAiIfF")] = _NUMBER  # nan and inf are refused as counts


class _Header(NamedTuple):
    """What stands above the entries."""

    coordinates: bool  # entries are 'row column value'; else values alone, column by column
    pattern: bool  # entries have no value
    symmetric: bool  # entries below the diagonal stand for those above it too
    sizes: tuple[int, ...]  # rows, columns and, of coordinates, entries
    lines: int  # of the file, up to here

    @property
    def width(self) -> int:
        """Numbers on a line of entries."""
        return (2 if self.pattern else 3) if self.coordinates else 1


def read_matrix_market(path: Path) -> sp.csr_matrix:
    """Read a Matrix Market file of documents by words; memory grows with the entries that it has.

    Args:
        path: The file, which may be compressed (.gz, .bz2).

    Raises:
        InputError: The file is not in this format, was cut off, has other entries than its header says, or
            names a row or a column that it does not have.
    """
    with open_numbers(path) as stream:
        header = _header(stream, path)
        table = np.concatenate([np.zeros((0, header.width)), *_tables(stream, path, header)])
    rows, columns = header.sizes[:2]
    entries = header.sizes[2] if header.coordinates else rows * columns
    if len(table) != entries:
        raise InputError(
            f"{path} was cut off or changed: it has {len(table):,} entries, its header says {entries:,}"
        )
    if not header.coordinates:
        return sp.csr_matrix(table.reshape(columns, rows).T)
    values = np.ones(len(table)) if header.pattern else table[:, 2]
    row, column = table[:, 0].astype(np.int64) - 1, table[:, 1].astype(np.int64) - 1
    if header.symmetric:
        mirrored = row != column
        row, column = np.append(row, column[mirrored]), np.append(column, row[mirrored])
        values = np.append(values, values[mirrored])
    return sp.csr_matrix(sp.coo_matrix((values, (row, column)), shape=(rows, columns)))


def _header(stream: BufferedIOBase, path: Path) -> _Header:
    words = stream.readline(_LONGEST_LINE).decode("latin1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise InputError(f"{path} is not a Matrix Market file: line 1 should be {_FORM}")
    form, field, symmetry = words[2:]
    if field == "complex":
        raise InputError(f"{path} holds complex numbers; counts are real")
    known = form in ("coordinate", "array") and field in _FIELDS and symmetry in ("general", "symmetric")
    if not known or (form == "array" and (field == "pattern" or symmetry == "symmetric")):
        raise InputError(f"{path} is a Matrix Market file of another kind: line 1 should be {_FORM}")
    number = 1
    while True:
        line, number = stream.readline(_LONGEST_LINE), number + 1
        if not line or len(line) == _LONGEST_LINE or not (line.startswith(b"%") or not line.strip()):
            break
    coordinates = form == "coordinate"
    sizes = _sizes(line, 3 if coordinates else 2, f"{path}, line {number}")
    if symmetry == "symmetric" and sizes[0] != sizes[1]:
        raise InputError(f"{path}, line {number}: a symmetric matrix has as many rows as columns")
    check_documents(sizes[0], path.stat().st_size, path)
    return _Header(coordinates, field == "pattern", symmetry == "symmetric", sizes, number)


def _sizes(line: bytes, number: int, where: str) -> tuple[int, ...]:
    sizes = line.split() if len(line) < _LONGEST_LINE else []
    if len(sizes) != number or not all(size.isdigit() and len(size) <= _MOST_DIGITS for size in sizes):
        what = "rows, columns and entries" if number == 3 else "rows and columns"
        shown = line[:60].decode("latin1").strip()
        raise InputError(f"{where} should be the number of {what}, got {shown!r}")
    return tuple(int(size) for size in sizes)


def _tables(stream: BufferedIOBase, path: Path, header: _Header) -> Iterator[Float[np.ndarray, "N width"]]:
    """The entries block by block, checked; blank lines are passed over."""
    first, seen = header.lines + 1, 0
    most = header.sizes[2] if header.coordinates else header.sizes[0] * header.sizes[1]
    for block in read_blocks(stream):
        kinds = _KINDS[np.frombuffer(block, np.uint8)]
        if (kinds == _OTHER).any():
            place = int(np.argmax(kinds == _OTHER))
            _refuse(path, block, block.count(b"\n", 0, place), first, "holds something other than numbers")
        inside = kinds == _NUMBER
        starts = np.flatnonzero(np.diff(inside.astype(np.int8), prepend=0) == 1)
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
        lengths = np.diff(np.searchsorted(starts, ends), prepend=0)
        wrong = (lengths != header.width) & (lengths != 0)
        if wrong.any():
            _refuse(path, block, int(np.argmax(wrong)), first, f"should hold {header.width} number(s)")
        numbers = _numbers(block)
        if len(numbers) != len(starts):
            _refuse(path, block, _first_no_number(block), first, "holds something other than numbers")
        table = numbers.reshape(-1, header.width)
        if header.coordinates:
            _check_places(table, header, path, block, np.flatnonzero(lengths), first)
        seen += len(table)
        if seen > most:
            raise InputError(f"{path} was changed: it has more entries than its header says, {most:,}")
        first += len(ends)
        yield table


def _check_places(
    table: Float[np.ndarray, "N width"],
    header: _Header,
    path: Path,
    block: bytes,
    lines: Int[np.ndarray, " N"],
    first: int,
) -> None:
    """Refuse a row or a column that the matrix does not have; ``lines`` are those of the block's entries."""
    for column, most, what in ((0, header.sizes[0], "rows"), (1, header.sizes[1], "columns")):
        places = table[:, column]
        wrong: Bool[np.ndarray, " N"] = ~((places >= 1) & (places <= most) & (places == np.rint(places)))
        if wrong.any():
            _refuse(
                path, block, int(lines[np.argmax(wrong)]), first, f"{what} are 1 to {most:,} by the header"
            )


def _numbers(block: bytes) -> Float[np.ndarray, " N"]:
    """The numbers up to the first thing that is none."""
    with warnings.catch_warnings():
        # Of what is no number, which the caller finds itself.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return np.fromstring(block, sep=" ")
        except ValueError:
            return np.zeros(0)


def _first_no_number(block: bytes) -> int:
    """The first line, from 0, with something that Python reads as no number either."""
    for line, text in enumerate(block.split(b"\n")):
        try:
            [float(part) for part in text.split()]
        except ValueError:
            return line
    return 0


def _refuse(path: Path, block: bytes, line: int, first: int, why: str) -> NoReturn:
    """Raise an error that quotes a line of a block; ``first`` is the number of the block's first line."""
    shown = block.split(b"\n", line + 1)[line][:60].decode("latin1").strip()
    raise InputError(f"{path}, line {first + line}: {why}: {shown!r}")
