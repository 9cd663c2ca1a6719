"""Who the documents are: the id of each and its fields, such as a title, a date or a group.

A part of a table is a file with a JSON array ``[id, {field: value}]`` on each line, and an array of where the
lines end, so that a few documents are read at the cost of those few.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int, UInt8

from geodrift._errors import InputError
from geodrift.data._shards import open_array

PARTS = ("documents.jsonl", "document-ends.npy")  # the files NAME-... of a part


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

    def rows(self, indices: Iterable[int] | np.ndarray) -> list[Document]:
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

    def in_memory(self) -> "DocumentTable":
        """A copy that needs no files."""
        parts = [Part(np.array(part.ends), np.array(part.lines), "documents") for part in self._parts]
        return DocumentTable(parts, self.fields)

    def column(self, field: str) -> list[Any]:
        """One field of all documents; None where a document does not have it.

        Raises:
            InputError: No document has such a field.
        """
        check_fields([field], self.fields)
        return [document.fields.get(field) for document in self]


def check_fields(asked: Sequence[str], known: Sequence[str]) -> None:
    """Refuse fields that no document has.

    Raises:
        InputError: One of ``asked`` is not ``known``.
    """
    unknown = next((field for field in asked if field not in known), None)
    if unknown is not None:
        shown = ", ".join(known[:20]) or "none"
        raise InputError(f"the documents have no field {unknown!r} (fields: {shown})")


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
