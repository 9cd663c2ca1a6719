"""Text in files of records: JSON lines and CSV, one document a record."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from geodrift._errors import InputError
from geodrift.data._regular_files import open_regular


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


def open_text(path: str, encoding: str, newline: str | None = None) -> io.TextIOWrapper:
    """Open a regular file as text; see `open_regular`.

    Raises:
        InputError: It is no regular file, or the encoding has no name that is known.
    """
    stream = open_regular(path)
    try:
        return io.TextIOWrapper(stream, encoding, newline=newline)
    except (LookupError, ValueError):
        stream.close()
        raise InputError(f"{path}: there is no encoding of text called {encoding[:40]!r}") from None


def read_jsonl(path: str, text_field: str, encoding: str) -> Iterator[Record]:
    """Read the records of a file with a JSON object on each line; blank lines are passed over.

    Args:
        path: The file.
        text_field: Field of the objects that holds the text.
        encoding: Of the file.

    Raises:
        InputError: A line is not a JSON object with such a field.
    """
    with open_text(path, encoding) as stream:
        for number, line in enumerate(stream, 1):
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
            if not isinstance(record, dict) or text_field not in record:
                raise _no_field(where, text_field, list(record) if isinstance(record, dict) else [])
            yield Record(_text(record[text_field], text_field, where), number, record)


def read_csv(path: str, text_field: str, encoding: str) -> Iterator[Record]:
    """Read the records of a CSV file whose first line names the columns.

    Args:
        path: The file.
        text_field: Name of the column that holds the text.
        encoding: Of the file.

    Raises:
        InputError: There is no such column or there are two, a record has more or fewer fields than the first
            line, or a quote is not closed.
    """
    # The default limit of 128 KiB is shorter than many documents.
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    with open_text(path, encoding, newline="") as stream:
        reader = csv.reader(stream, strict=True)
        line = 1  # the first of the record that is read
        try:
            columns = next(reader, [])
            if columns.count(text_field) != 1:
                raise _no_field(f"{path}, line 1", text_field, columns)
            place, line, number = columns.index(text_field), reader.line_num + 1, 0
            for record in reader:
                if record and len(record) != len(columns):
                    raise InputError(
                        f"{path}, line {line}: has {len(record)} fields, line 1 names {len(columns)} columns "
                        "(a comma or a line break in a text needs quotes around it)"
                    )
                if record:
                    number += 1
                    yield Record(record[place], number, dict(zip(columns, record, strict=True)))
                line = reader.line_num + 1
        except csv.Error as error:
            why = "a quote is opened and not closed" if "end of data" in str(error) else error
            raise InputError(f"{path}, line {line}: not CSV ({why})") from None


def _no_field(where: str, text_field: str, fields: list[str]) -> InputError:
    shown = ", ".join(map(str, fields[:20])) or "none"
    how = "two fields" if fields.count(text_field) > 1 else "no field"
    return InputError(f"{where}: {how} {text_field!r} (fields: {shown}); name it with --text-field")


def _text(value: object, field: str, where: str) -> str:
    """The text of a field; a missing one is an empty document."""
    if value is None:
        return ""
    # Anything else that is not text is a mistake in the field's name.
    if not isinstance(value, str):
        raise InputError(f"{where}: field {field!r} holds {type(value).__name__}, not text")
    return value
