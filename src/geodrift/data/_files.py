"""Files and directories that appear whole or not at all."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from geodrift._durable import replace_file
from geodrift._durable import sync_directory as sync_directory
from geodrift.data._errors import InputError


def refuse_existing(path: Path) -> None:
    """Raise if anything stands at `path`, a dangling link included, or a file where a parent should be."""
    if os.path.lexists(path):
        raise InputError(f"{path} exists already: nothing is overwritten, choose another name or remove it")
    nearest = nearest_directory(path)
    if not nearest.is_dir():
        raise InputError(f"cannot make {path}: {nearest} is not a directory")


def nearest_directory(path: Path) -> Path:
    """The nearest of the parents of `path` that exists; the others are made when `path` is written."""
    return next(parent for parent in path.absolute().parents if os.path.lexists(parent))


def sync_tree(path: Path) -> None:
    """Make every file and every name under `path` durable."""
    for folder, _, names in os.walk(path):
        for name in names:
            # A directory opened for reading can be fsynced on POSIX, and so can a file.
            sync_directory(Path(folder) / name)
        sync_directory(Path(folder))


@contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """Build a directory under a temporary name beside `path` and rename it when the block ends.

    Parents that do not exist are made.

    Raises:
        InputError: Something stands at `path` already.
    """
    path = Path(path)
    refuse_existing(path)
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    temporary = path.absolute().parent / f".{path.name}.partial-{os.getpid()}"
    temporary.mkdir()
    try:
        yield temporary
        sync_tree(temporary)
        refuse_existing(path)
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_directory(path.absolute().parent)


def write_file(path: Path, write: Callable[[BinaryIO], object], *, overwrite: bool = False) -> None:
    """Write a file under a temporary name, make it durable, then rename it to `path`; parents are made."""
    path = Path(path)
    if not overwrite:
        refuse_existing(path)
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, path.with_name(f".{path.name}.partial-{os.getpid()}"), write)


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], *, overwrite: bool = False) -> None:
    """Write a .npz of plain arrays by `write_file`."""
    for name, value in arrays.items():
        # numpy would pickle such an array without a word.
        if value.dtype.hasobject:
            raise TypeError(f"{name} is an array of Python objects, which is not stored")
    saved: dict[str, Any] = dict(arrays)
    write_file(path, lambda stream: np.savez(stream, **saved), overwrite=overwrite)


def write_json(path: Path, value: Any, *, overwrite: bool = False) -> None:
    """Write JSON by `write_file`; numpy scalars become plain numbers."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=_plain) + "\n"
    write_file(path, lambda stream: stream.write(text.encode()), overwrite=overwrite)


def read_json(path: Path, what: str) -> dict[str, Any]:
    """Read a JSON object, or say in one line what is wrong with it."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path.parent} is not {what}: it has no {path.name}") from None
    except NotADirectoryError:
        raise InputError(f"{path.parent} is not {what}: it is not a directory") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise InputError(f"{path} is damaged or was cut off: it is not valid JSON") from None
    if not isinstance(value, dict):
        raise InputError(f"{path} is damaged: it should hold a JSON object")
    return value


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
