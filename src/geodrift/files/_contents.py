"""Plain arrays and JSON in files; nothing is ever pickled."""

import hashlib
import json
import lzma
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from geodrift._errors import InputError
from geodrift.files._atomic import write_file

# What numpy and zipfile raise for a damaged .npz. Flags of a zip entry ask for decryption (RuntimeError) or
# for what zipfile does not have (NotImplementedError); a header can tell any size (MemoryError,
# OverflowError) and be no Python literal (SyntaxError, TypeError).
_DAMAGE = (
    ValueError, KeyError, EOFError, OSError, RuntimeError, MemoryError, OverflowError, SyntaxError, TypeError,
    AttributeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError,
)  # fmt: skip


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], *, overwrite: bool = False) -> None:
    """Write a .npz of plain arrays by `write_file`."""
    for name, value in arrays.items():
        # numpy would pickle such an array without a word.
        if value.dtype.hasobject:
            raise TypeError(f"{name} is an array of Python objects, which is not stored")
    saved: dict[str, Any] = dict(arrays)
    size = sum(array.nbytes for array in saved.values())
    write_file(path, lambda stream: np.savez(stream, **saved), overwrite=overwrite, needed=size)


def read_arrays(
    path: Path, what: str, wanted: Callable[[str], bool] = lambda name: True
) -> dict[str, np.ndarray]:
    """Read a .npz of plain arrays.

    Args:
        path: The file.
        what: What the file is, for the error message.
        wanted: Whether to read the array of this name; default all.

    Raises:
        InputError: It is missing or damaged.
    """
    try:
        with path.open("rb") as stream:
            if stream.read(2) != b"PK":  # numpy takes anything else for a pickle
                raise ValueError("not a zip file")
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files if wanted(name)}
    except FileNotFoundError:
        raise InputError(f"{what} {path} is missing") from None
    except _DAMAGE as error:
        raise InputError(f"{what} {path} is damaged ({error or type(error).__name__})") from None


def write_json(path: Path, value: Any, *, overwrite: bool = False) -> None:
    """Write JSON by `write_file`; numpy scalars become plain numbers."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=plain) + "\n"
    # Half of a surrogate pair, which the name of a file may have, is written as JSON's escape.
    content = text.encode("utf-8", "backslashreplace")
    write_file(path, lambda stream: stream.write(content), overwrite=overwrite, needed=len(content))


def read_json(path: Path, what: str) -> dict[str, Any]:
    """Read a JSON object.

    Args:
        path: The file.
        what: What its directory should be, for the error message: ``"a run"``, ``"a corpus"``.

    Raises:
        InputError: It is missing or damaged.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path.parent} is not {what}: it has no {path.name}") from None
    except NotADirectoryError:
        raise InputError(f"{path.parent} is not {what}: it is not a directory") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is damaged or was cut off: it is not valid JSON") from None
    if not isinstance(value, dict):
        raise InputError(f"{path} is damaged: it should hold a JSON object")
    return value


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def plain(value: object) -> object:
    """NumPy's numbers and arrays, and paths, as JSON has them; for ``json.dumps(default=...)``."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
