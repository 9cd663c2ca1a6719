"""A file on disk that is the old one or the new one at any moment, never a mixture."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, temporary: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write under a temporary name, flush to the disk, then rename; what fails leaves nothing behind.

    Args:
        path: The file, which may exist.
        temporary: A name in the same directory.
        write: Writes the contents.
    """
    try:
        with temporary.open("wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    # The rename itself lies in the directory, which must reach the disk too.
    sync_directory(path.absolute().parent)
