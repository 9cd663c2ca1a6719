"""Sources of text: a source is one file or a group of files that one process reads from end to end."""

import codecs
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from geodrift._errors import InputError
from geodrift.data._documents import Document
from geodrift.data._fields import kept_fields
from geodrift.data._identities import identity_of
from geodrift.data._parquet import read_parquet, spans_of_parquet
from geodrift.data._records import Record, open_text, read_csv, read_jsonl
from geodrift.data._spans import BYTES_A_PART, Span, can_be_cut, spans_of_csv, spans_of_lines
from geodrift.data._stores import files_behind, is_url, open_file, state_of

_FILES_A_SOURCE = 1000
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")  # gzip, bzip2, xz, zstandard
_MISSING = ("NA", "NaN", "nan")  # in a field of CSV, as R, and Python of numbers, write it
_KINDS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}


@dataclass(frozen=True)
class Source:
    """Text files (one document each), or one JSONL, CSV or Parquet file (one document a record).

    Attributes:
        kind: "text", "jsonl", "csv" or "parquet".
        paths: The files.
        text_field: Field or column that holds the text of a record.
        encoding: Encoding of the files, except of Parquet.
        names: What each file is called in the ids of its documents.
        of_many: Whether there are other files, so that documents are told the name of theirs.
        id_field: Field or column of a record that is its id; None: "id" where a record has it.
        fields: Fields or columns of a record that are kept; None: all but the text.
        span: The part of the one file that is read; None: all.
    """

    kind: str
    paths: tuple[str, ...]
    text_field: str = "text"
    encoding: str = "utf-8-sig"
    names: tuple[str, ...] = ()
    of_many: bool = False
    id_field: str | None = None
    fields: tuple[str, ...] | None = None
    span: Span | None = None


def find_sources(
    inputs: Sequence[str | Path],
    text_field: str = "text",
    encoding: str = "utf-8-sig",
    *,
    id_field: str | None = None,
    fields: Sequence[str] | None = None,
) -> list[Source]:
    """List the sources in files and directories, in an order that depends on names only.

    Args:
        inputs: Files, and directories whose files at any depth are taken; or URLs of them, which fsspec
            reads. The end of a file's name tells its kind.
        text_field: Field or column that holds the text of a record.
        encoding: Encoding of the files, except of Parquet.
        id_field: See `Source`.
        fields: See `Source`.

    Raises:
        InputError: An input does not exist, is an empty file or no regular one, or is a directory without
            files; or there is one path that stands in no list. An empty text file of a directory is a
            document without words.
    """
    if isinstance(inputs, (str, Path)):
        raise InputError(f"inputs = {str(inputs)!r}: must be a list of paths: [{str(inputs)!r}]")
    sources, several = [], len(inputs) > 1
    kept = None if fields is None else tuple(fields)
    for place in inputs:
        path = place if isinstance(place, str) and is_url(place) else Path(place)
        files = files_behind(path) if isinstance(path, str) else _files_of(path)  # and their names below
        made = partial(Source, text_field=text_field, encoding=encoding, of_many=several or files is not None)
        made = partial(made, id_field=id_field, fields=kept)
        if files is None:
            if not state_of(str(path))[0]:
                raise InputError(f"{path} is empty")
            sources.append(made(_kind_of(str(path)), (str(path),), names=(_name_of(str(path)),)))
            continue
        if not files:
            raise InputError(f"directory {path} holds no files")
        # Files of the same name in two directories are two.
        above = f"{_name_of(str(path))}/" if several else ""
        for kind, group in _grouped(list(files)):
            sources.append(made(kind, group, names=tuple(above + files[file] for file in group)))
    return sources


def parts_of(source: Source) -> list[Source]:
    """A source in parts that processes read side by side: those of its one file, or itself.

    They depend on nothing but the source. Parts of JSON lines and CSV are found by reading the file once.

    Raises:
        InputError: The file cannot be opened.
    """
    if source.kind == "text":
        return [source]
    path = source.paths[0]
    if source.kind == "parquet":
        spans = spans_of_parquet(path, source.text_field)
    elif state_of(path)[0] <= BYTES_A_PART or not can_be_cut(source.encoding):
        return [source]
    else:
        with open_file(path) as stream:
            spans = spans_of_csv(stream) if source.kind == "csv" else spans_of_lines(stream)
    return [replace(source, span=span) for span in spans] if len(spans) > 1 else [source]


def read_identified(
    source: Source, no_id: Callable[[], object] = lambda: None
) -> Iterator[tuple[str, Document]]:
    """Read the texts of a source, in order, each with who its document is.

    Args:
        source: The source.
        no_id: Is called for each record with a value of "id" that is none, which is left out.

    Raises:
        InputError: As `read_documents`; or a record does not have an id in the field that is named for it.
    """
    for name, record in _records(source, lambda field: _wanted(field, source)):
        if source.kind == "text":
            folder = name.rpartition("/")[0]
            own = {"folder": folder} if folder else {}
            yield record.text, Document(name, own | _kept_text(record, source))
            continue
        where = {"file": name} if source.of_many and source.fields is None else {}
        values = record.values
        kept = kept_fields(values, source.fields, source.text_field, source.id_field or "id")
        if source.kind == "csv":
            # CSV has no missing value of its own, as the other formats have.
            kept = {field: value for field, value in kept.items() if value not in _MISSING}
        identity = identity_of(name, record, source.id_field, no_id)
        yield record.text, Document(identity, where | kept | _kept_text(record, source))


def _kept_text(record: Record, source: Source) -> dict[str, Any]:
    """The beginning of the text, where its field is among those that were asked for by name."""
    asked = source.fields is not None and source.text_field in source.fields
    return kept_fields({source.text_field: record.text}) if asked else {}


def _wanted(field: str, source: Source) -> bool:
    return field == (source.id_field or "id") or source.fields is None or field in source.fields


def _records(source: Source, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Record]]:
    """The records of a source, each with the name of its file."""
    readers = {"text": _read_text, "jsonl": _read_jsonl, "csv": _read_csv}
    names = source.names or tuple(map(_name_of, source.paths))
    for path, name in zip(source.paths, names, strict=True):
        try:
            if source.kind == "parquet":
                found = read_parquet(path, source.text_field, wanted, source.span)
            else:
                found = readers[source.kind](path, source)
            yield from ((name, record) for record in found)
        except UnicodeDecodeError as error:
            name = source.encoding.removesuffix("-sig")
            raise InputError(f"{path} is not {name} text (byte {error.start}); {_remedy(error)}") from None
        except UnicodeError as error:
            raise InputError(f"{path} cannot be read in the encoding {source.encoding!r}: {error}") from None


def _remedy(error: UnicodeDecodeError) -> str:
    """What to do about bytes that are not text of the encoding that was tried."""
    if error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "it begins as utf-16 text does: give --encoding utf-16"
    if error.object.startswith(_COMPRESSED):
        return "it is compressed: decompress it first"
    if b"\0" in error.object:
        return "it holds what no text does: leave it out, or name the files to read"
    return "give its --encoding"


def _kind_of(path: str | Path) -> str:
    """The kind of a file by its name, see `Source`."""
    return _KINDS.get(Path(path).suffix.lower(), "text")


def _grouped(files: list[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Kind and files of each source: neighbouring text files, up to a thousand, or one file of records."""
    for kind, alike in groupby(files, _kind_of):
        size, group = _FILES_A_SOURCE if kind == "text" else 1, list(alike)
        yield from ((kind, tuple(group[i : i + size])) for i in range(0, len(group), size))


def _files_of(path: Path) -> dict[str, str] | None:
    """All files at any depth, sorted, and their paths below, with slashes; None where it is a file.

    Names that begin with a dot are left out.
    """
    if not path.is_dir():
        return None
    found = []
    for parent, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [os.path.join(parent, name) for name in names if not name.startswith(".")]
    return {file: Path(os.path.relpath(file, path)).as_posix() for file in sorted(found)}


def _name_of(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2] if is_url(path) else Path(path).name


def _read_text(path: str, source: Source) -> Iterator[Record]:
    if not state_of(path)[0]:
        yield Record("", 1, {})
        return
    with open_text(path, source.encoding) as stream:
        text = stream.read()
    if "\x00" in text:
        raise InputError(f"{path} is a binary file, not text")
    yield Record(text, 1, {})


def _read_jsonl(path: str, source: Source) -> Iterator[Record]:
    return read_jsonl(path, source.text_field, source.encoding, source.span)


def _read_csv(path: str, source: Source) -> Iterator[Record]:
    return read_csv(path, source.text_field, source.encoding, source.span)
