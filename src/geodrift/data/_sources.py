"""Sources of text: a source is one file or a group of files that one process reads from end to end."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from geodrift._errors import InputError
from geodrift.data._parquet import read_parquet
from geodrift.data._records import open_text, read_csv, read_jsonl
from geodrift.data._regular_files import refuse_irregular

_FILES_A_SOURCE = 1000
_KINDS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}


@dataclass(frozen=True)
class Source:
    """Text files (one document each), or one JSONL, CSV or Parquet file (one document a record).

    Attributes:
        kind: "text", "jsonl", "csv" or "parquet".
        paths: The files.
        text_field: Field or column that holds the text of a record.
        encoding: Encoding of the files, except of Parquet.
    """

    kind: str
    paths: tuple[str, ...]
    text_field: str = "text"
    encoding: str = "utf-8-sig"


def find_sources(
    inputs: Sequence[str | Path], text_field: str = "text", encoding: str = "utf-8-sig"
) -> list[Source]:
    """List the sources in files and directories, in an order that depends on names only.

    Args:
        inputs: Files, and directories whose files at any depth are taken. The end of a file's name tells its
            kind.
        text_field: Field or column that holds the text of a record.
        encoding: Encoding of the files, except of Parquet.

    Raises:
        InputError: An input does not exist, a file is empty or no regular file, or a directory has no files.
    """
    sources = []
    for path in map(Path, inputs):
        if path.is_dir():
            files = _files_below(path)
            if not files:
                raise InputError(f"directory {path} holds no files")
            sources += [Source(kind, group, text_field, encoding) for kind, group in _grouped(files)]
            continue
        refuse_irregular(path)
        sources.append(Source(_kind_of(path), (str(path),), text_field, encoding))
    return sources


def read_documents(source: Source) -> Iterator[str]:
    """Read the texts of a source, in order.

    Raises:
        InputError: A file is not text in the source's encoding, or a record does not have the text field.
    """
    readers = {"text": _read_text, "jsonl": _read_jsonl, "csv": _read_csv, "parquet": _read_parquet}
    for path in source.paths:
        try:
            yield from readers[source.kind](path, source)
        except UnicodeDecodeError as error:
            name = source.encoding.removesuffix("-sig")
            raise InputError(f"{path} is not {name} text (byte {error.start}); give its --encoding") from None
        except UnicodeError as error:
            raise InputError(f"{path} cannot be read in the encoding {source.encoding!r}: {error}") from None


def _kind_of(path: str | Path) -> str:
    """The kind of a file by its name, see `Source`."""
    return _KINDS.get(Path(path).suffix.lower(), "text")


def _grouped(files: list[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Kind and files of each source: neighbouring text files, up to a thousand, or one file of records."""
    for kind, alike in groupby(files, _kind_of):
        size, group = _FILES_A_SOURCE if kind == "text" else 1, list(alike)
        yield from ((kind, tuple(group[i : i + size])) for i in range(0, len(group), size))


def _files_below(folder: Path) -> list[str]:
    """All files at any depth, sorted; names that begin with a dot are left out."""
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [os.path.join(parent, name) for name in names if not name.startswith(".")]
    return sorted(found)


def _read_text(path: str, source: Source) -> Iterator[str]:
    with open_text(path, source.encoding) as stream:
        text = stream.read()
    if "\x00" in text:
        raise InputError(f"{path} is a binary file, not text")
    yield text


def _read_jsonl(path: str, source: Source) -> Iterator[str]:
    return read_jsonl(path, source.text_field, source.encoding)


def _read_csv(path: str, source: Source) -> Iterator[str]:
    return read_csv(path, source.text_field, source.encoding)


def _read_parquet(path: str, source: Source) -> Iterator[str]:
    return read_parquet(path, source.text_field)
