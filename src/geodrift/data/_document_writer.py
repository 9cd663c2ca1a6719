"""Tables of documents are written a line at a time, into a corpus directory or into memory."""

import io
import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geodrift._errors import InputError
from geodrift.data._documents import PARTS, Document, DocumentTable, Part, PartInfo
from geodrift.data._fields import can_be_kept, kept_fields
from geodrift.data._identities import id_of

MOST_FIELDS = 1000  # of all documents together
_MAX_DOCUMENTS = 1_000_000  # of a part
_AS_JSON = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":")
).encode  # json.dumps would make one each time


class DocumentWriter:
    """Writes a table, a line at a time.

    Args:
        folder: The corpus directory; None: in memory.
        prefix: Of the parts' names.
    """

    def __init__(self, folder: Path | None, prefix: str = "part") -> None:
        self._folder, self._prefix = folder, prefix
        self._done: list[tuple[PartInfo, array, bytes]] = []
        self._stream: io.BufferedIOBase | None = None
        self._ends, self._end = array("q"), 0
        self.fields: dict[str, None] = {}

    def __enter__(self) -> "DocumentWriter":
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file of a part that is not ended."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def add(self, document: Document) -> None:
        """Write one document.

        Raises:
            InputError: With it the documents have too many fields.
        """
        if len(self._ends) == _MAX_DOCUMENTS:
            self._finish()
        stream = self._stream or self._begin()
        self.fields.update(dict.fromkeys(document.fields))
        if len(self.fields) > MOST_FIELDS:
            raise InputError(
                f"the documents have more than {MOST_FIELDS:,} fields: name those to keep (--fields)"
            )
        text = _AS_JSON([document.id, document.fields])
        # A file's name, and JSON, may have half of a surrogate pair.
        line = text.encode("utf-8", "surrogatepass") + b"\n"
        stream.write(line)
        self._end += len(line)
        self._ends.append(self._end)

    def noted(self, documents: Iterable[tuple[str, Document]]) -> Iterator[str]:
        """The texts of documents, each of which is written down as its text goes by."""
        for text, document in documents:
            self.add(document)
            yield text

    def close(self) -> list[PartInfo]:
        """End the last part; returns the parts."""
        self._finish()
        return [info for info, _, _ in self._done]

    def table(self) -> DocumentTable:
        """The table of a writer in memory."""
        self.close()
        parts = [
            Part(np.frombuffer(ends, np.int64), np.frombuffer(lines, np.uint8), "documents")
            for _, ends, lines in self._done
        ]
        return DocumentTable(parts, list(self.fields))

    def _name(self) -> str:
        return f"{self._prefix}-{len(self._done):05d}"

    def _begin(self) -> io.BufferedIOBase:
        path = None if self._folder is None else self._folder / f"{self._name()}-{PARTS[0]}"
        self._stream = io.BytesIO() if path is None else path.open("wb")
        return self._stream

    def _finish(self) -> None:
        if self._stream is None:
            return
        info, lines = PartInfo(self._name(), len(self._ends)), b""
        if isinstance(self._stream, io.BytesIO):
            lines = self._stream.getvalue()
        elif self._folder is not None:
            np.save(self._folder / f"{info.name}-{PARTS[1]}", np.frombuffer(self._ends, np.int64))
        self._stream.close()
        self._done.append((info, self._ends if self._folder is None else array("q"), lines))
        self._stream, self._ends, self._end = None, array("q"), 0


def table_of(number: int, ids: Sequence[Any] | np.ndarray | None, fields: Any) -> DocumentTable:
    """The table of ids and columns in memory.

    Args:
        number: Of documents.
        ids: One for each; None: their numbers.
        fields: Columns by name, such as those of a DataFrame.

    Raises:
        InputError: A column is longer or shorter, or a value is no number, date or text.
    """
    columns = {} if fields is None else _columns(fields)
    names = [str(i) for i in range(number)] if ids is None else [_id(*one) for one in enumerate(ids)]
    for what, values in {"ids": names, **{f"field {name!r}": v for name, v in columns.items()}}.items():
        if len(values) != number:
            raise InputError(f"{what} has {len(values):,} values, the documents are {number:,}")
    for name, values in columns.items():
        _check_kinds(name, values)
    writer = DocumentWriter(None)
    for place, name in enumerate(names):
        writer.add(Document(name, kept_fields({f: values[place] for f, values in columns.items()})))
    return writer.table()


def _columns(fields: Any) -> dict[str, list]:
    """Columns by name."""
    columns: dict[str, list] = {}
    for name in fields:
        if str(name) in columns:
            raise InputError(f"there are two fields {str(name)!r}: give each column a name of its own")
        columns[str(name)] = list(fields[name])
    return columns


def _id(place: int, value: Any) -> str:
    """An id as text: 7.0, as pandas has whole numbers beside a gap, is 7; the gap has its place."""
    found = id_of(value)
    if found == "" and not isinstance(value, str):
        return str(place)
    return str(value) if found is None else found


def _check_kinds(name: str, values: Sequence[Any]) -> None:
    """Refuse a column that has a value which would not be kept."""
    for place, value in enumerate(values):
        if not can_be_kept(value):
            raise InputError(
                f"field {name!r}, document {place}: a value of type {type(value).__name__} cannot be kept:"
                " give a number, a truth value, a date, a time or text, or leave the field out"
            )
