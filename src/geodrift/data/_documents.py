"""Who the documents are: the id of each and its fields, such as a title, a date or a group.

A part of a table is a file with a JSON array ``[id, {field: value}]`` on each line, and an array of where the
lines end, so that a few documents are read at the cost of those few.
"""

import io
import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from jaxtyping import Int, UInt8

from geodrift._errors import InputError
from geodrift.data._fields import kept_fields
from geodrift.data._shards import open_array

PARTS = ("documents.jsonl", "document-ends.npy")  # the files NAME-... of a part
MOST_FIELDS = 1000  # of all documents together
_MAX_DOCUMENTS = 1_000_000  # of a part


class Document(NamedTuple):
    """Who a document is.

    Attributes:
        id: What its source calls it, or where it stands there.
        fields: What else its source says of it, by name; what it does not say is not there.
    """

    id: str
    fields: dict[str, Any]


class PartInfo(NamedTuple):
    """A part's entry in the manifest."""

    name: str
    documents: int


class Part(NamedTuple):
    """Some documents that follow one another.

    Attributes:
        ends: Where the line of each ends in ``lines``.
        lines: Their lines.
        where: What to call it in an error.
    """

    ends: Int[np.ndarray, " D"]
    lines: UInt8[np.ndarray, " bytes"]
    where: str

    def row(self, place: int) -> Document:
        """One document."""
        begin, end = (int(self.ends[place - 1]) if place else 0), int(self.ends[place])
        try:
            name, fields = json.loads(self.lines[begin:end].tobytes())
            if isinstance(name, str) and isinstance(fields, dict):
                return Document(name, fields)
        except (ValueError, TypeError, RecursionError):
            pass
        raise InputError(f"{self.where}, line {place + 1}: is not [id, fields of a document]")


class DocumentTable:
    """Ids and fields of all documents of a corpus, in memory or in files of which only what is asked is read.

    Args:
        parts: In the order of documents.
        fields: The names of all fields, in the order in which they first came.
    """

    def __init__(self, parts: Sequence[Part], fields: Sequence[str]) -> None:
        self._parts, self.fields = list(parts), list(fields)
        self._starts = np.concatenate([[0], np.cumsum([len(part.ends) for part in parts], dtype=np.int64)])

    @classmethod
    def open(cls, folder: Path, infos: Iterable[PartInfo], fields: Sequence[str]) -> "DocumentTable":
        """The table of a corpus directory."""
        return cls([open_part(folder, info) for info in infos], fields)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def rows(self, indices: Iterable[int]) -> list[Document]:
        """Documents by their numbers, in any order."""
        found = []
        for index in map(int, indices):
            if not 0 <= index < len(self):
                raise IndexError(f"documents are 0 to {len(self) - 1}, got {index}")
            part = int(np.searchsorted(self._starts, index, side="right")) - 1
            found.append(self._parts[part].row(index - int(self._starts[part])))
        return found

    def __iter__(self) -> Iterator[Document]:
        for part in self._parts:
            yield from map(part.row, range(len(part.ends)))

    def column(self, field: str) -> list[Any]:
        """One field of all documents; None where a document does not have it.

        Raises:
            InputError: No document has such a field.
        """
        if field not in self.fields:
            shown = ", ".join(self.fields[:20]) or "none"
            raise InputError(f"the documents have no field {field!r} (fields: {shown})")
        return [document.fields.get(field) for document in self]


class DocumentWriter:
    """Writes a table, a line at a time.

    Args:
        folder: The corpus directory; None: in memory.
        prefix: Of the parts' names.
    """

    def __init__(self, folder: Path | None, prefix: str = "part") -> None:
        self._folder, self._prefix = folder, prefix
        self._done: list[tuple[PartInfo, array, bytes]] = []
        self._stream: BinaryIO | None = None
        self._ends, self._end = array("q"), 0
        self.fields: dict[str, None] = {}

    def add(self, document: Document) -> None:
        """Write one document.

        Raises:
            InputError: With it the documents have too many fields.
        """
        if self._stream is None or len(self._ends) == _MAX_DOCUMENTS:
            self._begin()
        self.fields.update(dict.fromkeys(document.fields))
        if len(self.fields) > MOST_FIELDS:
            raise InputError(
                f"the documents have more than {MOST_FIELDS:,} fields: name those to keep (--fields)"
            )
        text = json.dumps([document.id, document.fields], ensure_ascii=False, separators=(",", ":"))
        # A file's name, and JSON, may have half of a surrogate pair.
        line = text.encode("utf-8", "surrogatepass") + b"\n"
        self._stream.write(line)  # type: ignore[union-attr]
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

    def _begin(self) -> None:
        self._finish()
        path = None if self._folder is None else self._folder / f"{self._name()}-{PARTS[0]}"
        self._stream = io.BytesIO() if path is None else path.open("wb")

    def _finish(self) -> None:
        if self._stream is None:
            return
        info, lines = PartInfo(self._name(), len(self._ends)), b""
        if isinstance(self._stream, io.BytesIO):
            lines = self._stream.getvalue()
        else:
            np.save(self._folder / f"{info.name}-{PARTS[1]}", np.frombuffer(self._ends, np.int64))  # type: ignore[operator]
        self._stream.close()
        self._done.append((info, self._ends if self._folder is None else array("q"), lines))
        self._stream, self._ends, self._end = None, array("q"), 0


def open_part(folder: Path, info: PartInfo) -> Part:
    """A part of a corpus directory, by memory map.

    Raises:
        InputError: Its files do not fit together.
    """
    lines, file = folder / f"{info.name}-{PARTS[0]}", folder / f"{info.name}-{PARTS[1]}"
    ends, size = open_array(file, np.int64, info.documents), lines.stat().st_size
    if size == 0 or not info.documents or ends[-1] != size or ends[0] < 1 or (np.diff(ends) < 1).any():
        raise InputError(f"{file} does not say where the lines of {lines.name} end")
    return Part(ends, np.memmap(lines, np.uint8, "r"), str(lines))


def table_of(
    number: int, ids: Sequence[Any] | None, fields: Mapping[str, Sequence[Any]] | None
) -> DocumentTable:
    """The table of ids and columns in memory.

    Args:
        number: Of documents.
        ids: One for each; None: their numbers.
        fields: Columns by name, such as those of a DataFrame.

    Raises:
        InputError: A column is longer or shorter.
    """
    columns = {} if fields is None else {str(name): list(fields[name]) for name in fields}
    names = [str(i) for i in range(number)] if ids is None else [str(name) for name in ids]
    for what, values in {"ids": names, **{f"field {name!r}": v for name, v in columns.items()}}.items():
        if len(values) != number:
            raise InputError(f"{what} has {len(values):,} values, the documents are {number:,}")
    writer = DocumentWriter(None)
    for place, name in enumerate(names):
        writer.add(Document(name, kept_fields({f: values[place] for f, values in columns.items()})))
    return writer.table()
