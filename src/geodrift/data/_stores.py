"""Files of text behind paths, and behind URLs such as ``s3://bucket/articles.jsonl``, which fsspec reads."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from geodrift._errors import InputError
from geodrift.data._regular_files import open_regular, refuse_irregular

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(path: str | Path) -> bool:
    """Whether a text is a URL and no path."""
    return isinstance(path, str) and _URL.match(path) is not None


def open_file(path: str) -> BinaryIO:
    """Open a regular file, or what stands behind a URL, for reading in binary.

    Raises:
        InputError: There is no such file, it is empty, or cannot be read; of URLs also where fsspec, or the
            package that it needs for this kind of store, is not installed.
    """
    if not is_url(path):
        return open_regular(path)
    with _told(path):
        store, place = _store(path)
        return store.open(place, "rb")


def state_of(path: str) -> list[Any]:
    """Size of a file, which may be empty, and what else changes with its contents: to be compared later.

    Raises:
        InputError: See `open_file`; of URLs also where the store does not tell the size.
    """
    if not is_url(path):
        refuse_irregular(path, may_be_empty=True)
        found = os.stat(path)
        return [found.st_size, found.st_mtime_ns]
    with _told(path):
        store, place = _store(path)
        told = store.info(place)
    if told["type"] != "file":
        raise InputError(f"{path} is no file")
    if told.get("size") is None:  # as of pages that a server makes when they are asked for
        raise InputError(f"{path} has a store that does not tell its size: save it to a file, and read that")
    marks = ("ETag", "etag", "md5Hash", "LastModified", "last_modified", "mtime", "updated", "created")
    return [told["size"], *(str(told[mark]) for mark in marks if mark in told)]


def files_behind(url: str) -> dict[str, str] | None:
    """The URLs of all files at any depth below a URL, sorted, and their paths below it.

    Names that begin with a dot are left out. None where the URL is that of a file.

    Raises:
        InputError: See `open_file`.
    """
    with _told(url):
        store, place = _store(url)
        if not store.isdir(place):
            return None
        below = {file: file.removeprefix(place).strip("/") for file in sorted(store.find(place))}
        return {
            store.unstrip_protocol(file): name
            for file, name in below.items()
            if not any(part.startswith(".") for part in name.split("/"))
        }


def _store(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the place in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InputError(
            f"reading {url} needs fsspec: python -m pip install 'geodrift[stores]', and the package for this"
            " kind of store, such as s3fs or gcsfs"
        ) from None
    return url_to_fs(url)


@contextmanager
def _told(url: str) -> Iterator[None]:
    """Raise InputError, which names the URL, in the place of what stores raise."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{url} does not exist") from None
    except (OSError, ImportError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{url} cannot be read: {error}") from None
