"""Text in files of records: JSON lines and CSV, one document a record."""

import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from geodrift._errors import InputError
from geodrift.data._spans import Span, Window
from geodrift.data._stores import open_file


class Record(NamedTuple):
    """A document of a file of records.

    Attributes:
        text: Its text.
        number: Its line in JSON lines; in other files its number among the records, from 1.
        values: All of its fields, by name.
    """

    text: str
    number: int
    values: dict[str, Any]


def open_text(
    path: str, encoding: str, newline: str | None = None, span: Span | None = None
) -> io.TextIOWrapper:
    """Open a file, or a part of one, as text; see `open_file`.

    Raises:
        InputError: It cannot be opened, or the encoding has no name that is known.
    """
    stream = open_file(path)
    if span is not None and span.start > 0 and encoding == "utf-8-sig":
        encoding = "utf-8"  # what looks like a byte order mark there is a letter
    try:
        part = stream if span is None else io.BufferedReader(Window(stream, span.start, span.stop), 2**20)
        return io.TextIOWrapper(part, encoding, newline=newline)
    except (LookupError, ValueError):
        stream.close()
        raise InputError(f"{path}: there is no encoding of text called {encoding[:40]!r}") from None


def read_jsonl(path: str, text_field: str, encoding: str, span: Span | None = None) -> Iterator[Record]:
    """Read the records of a file with a JSON object on each line; blank lines are passed over.

    Args:
        path: The file.
        text_field: Field of the objects that holds the text.
        encoding: Of the file.
        span: The part of the file to read; None: all.

    Raises:
        InputError: A line is not a JSON object with such a field.
    """
    with open_text(path, encoding, span=span) as stream:
        for number, line in enumerate(stream, 1 if span is None else span.lines + 1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                record = json.loads(line)
            except json.JSONDecodeError as error:
                end = "" if line.endswith("\n") else "; the file may have been cut off there"
                raise InputError(f"{where}: not JSON ({error.msg}, column {error.colno}){end}") from None
            except (ValueError, RecursionError) as error:
                raise InputError(f"{where}: not JSON that can be read ({error})") from None
            if not isinstance(record, dict):
                kind = type(record).__name__
                raise InputError(f"{where}: not a JSON object with a field {text_field!r}, but a {kind}")
            if text_field not in record:
                raise _no_field(where, text_field, list(record))
            yield Record(_text(record[text_field], text_field, where), number, record)


def read_csv(path: str, text_field: str, encoding: str, span: Span | None = None) -> Iterator[Record]:
    """Read the records of a CSV file whose first line names the columns.

    Args:
        path: The file.
        text_field: Name of the column that holds the text.
        encoding: Of the file.
        span: The part of the file to read, which begins behind the first line; None: all.

    Raises:
        InputError: There is no such column or there are two, a record has more or fewer fields than the first
            line, or a quote is not closed.
    """
    # The default limit of 128 KiB is shorter than many documents.
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    with open_text(path, encoding, newline="") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            columns = next(reader, [])
        except csv.Error as error:
            raise _no_csv(path, 1, error) from None
        if columns.count(text_field) != 1:
            raise _no_field(f"{path}, line 1", text_field, columns)
        columns = _different(columns)
        if span is None:
            yield from _csv_records(path, reader, columns, text_field)
            return
    with open_text(path, encoding, "", span) as stream:
        reader = csv.reader(stream, strict=True)
        yield from _csv_records(path, reader, columns, text_field, span.lines, span.records)


def _csv_records(
    path: str, reader: Any, columns: list[str], text_field: str, lines: int = 0, number: int = 0
) -> Iterator[Record]:
    """The records of a reader in front of which the file has so many lines and records."""
    place, line = columns.index(text_field), lines + reader.line_num + 1  # the first of the next record
    try:
        for record in reader:
            if record and len(record) != len(columns):
                raise InputError(
                    f"{path}, line {line}: has {len(record)} fields, line 1 names {len(columns)} columns "
                    "(a comma or a line break in a text needs quotes around it)"
                )
            if record:
                number += 1
                yield Record(record[place], number, dict(zip(columns, record, strict=True)))
            line = lines + reader.line_num + 1
    except csv.Error as error:
        raise _no_csv(path, line, error) from None


def _different(columns: list[str]) -> list[str]:
    """Names of columns; of several that are alike the later ones get numbers, as pandas gives them."""
    taken, last, names = set(columns), dict.fromkeys(columns, -1), []
    for column in columns:
        last[column] += 1
        name = column
        while column and last[column] and (name := f"{column}.{last[column]}") in taken:
            last[column] += 1
        taken.add(name)
        names.append(name)
    return names


def _no_csv(path: str, line: int, error: csv.Error) -> InputError:
    why: object = error
    if "end of data" in str(error):
        why = "a quote is opened and not closed"
    elif "',' expected" in str(error):
        why = "columns have commas between them, and a quote within a text is written twice"
    return InputError(f"{path}, line {line}: not CSV ({why})")


def _no_field(where: str, text_field: str, fields: list[str]) -> InputError:
    shown = ", ".join(map(str, fields[:20])) or "none"
    how = "two fields" if fields.count(text_field) > 1 else "no field"
    do = "name it with --text-field"
    if len(fields) == 1 and text_field in re.split("[;\t]", fields[0]):
        do = "columns have commas between them: save it so"
    return InputError(f"{where}: {how} {text_field!r} (fields: {shown}); {do}")


def _text(value: object, field: str, where: str) -> str:
    """The text of a field; a missing one is an empty document."""
    if value is None:
        return ""
    # Anything else that is not text is a mistake in the field's name.
    if not isinstance(value, str):
        raise InputError(f"{where}: field {field!r} holds {type(value).__name__}, not text")
    return value
