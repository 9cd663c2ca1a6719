"""A file or a directory on disk that is the old one or the new one at any moment, never a mixture."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from geodrift._errors import InputError
from geodrift.files._full_disk import room_for
from geodrift.files._partials import partial
from geodrift.files._unfinished import unfinished


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Make every file and every name under `path` durable."""
    for folder, _, names in os.walk(path):
        for name in names:
            # A directory opened for reading can be fsynced on POSIX, and so can a file.
            sync_directory(Path(folder) / name)
        sync_directory(Path(folder))


def replace_file(
    path: Path, temporary: Path, write: Callable[[BinaryIO], object], needed: int | None = None
) -> None:
    """Write under a temporary name, flush to the disk, then rename; what fails leaves nothing behind.

    Args:
        path: The file, which may exist.
        temporary: A name in the same directory.
        write: Writes the contents.
        needed: Bytes of the contents, told where there is no room for them.

    Raises:
        StorageFullError: The disk is full.
    """
    with unfinished(temporary):
        with room_for(path, needed), temporary.open("wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    # The rename itself lies in the directory, which must reach the disk too.
    sync_directory(path.absolute().parent)


def write_file(
    path: Path, write: Callable[[BinaryIO], object], *, overwrite: bool = False, needed: int | None = None
) -> None:
    """Write a file under a temporary name, make it durable, then rename it to `path`; parents are made.

    What killed processes have left under temporary names of `path` is removed.

    Args:
        path: The file.
        write: Writes the contents.
        overwrite: Whether the file may exist.
        needed: Bytes of the contents, told where there is no room for them.

    Raises:
        InputError: The file exists.
        StorageFullError: The disk is full.
    """
    path = Path(path)
    if not overwrite:
        refuse_existing(path)
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
    with partial(path) as temporary:
        replace_file(path, temporary, write, needed)


@contextmanager
def new_directory(path: Path, goes_on: Callable[[Path], bool] | None = None) -> Iterator[Path]:
    """Build a directory under a temporary name beside `path` and rename it when the block ends.

    Parents that do not exist are made. What killed processes have left under temporary names of `path` is
    removed.

    Args:
        path: The directory.
        goes_on: Whether the block can go on in a directory that was left, which it gets then in place of an
            empty one; None: it begins anew.

    Raises:
        InputError: Something stands at `path` already.
        StorageFullError: The disk is full.
    """
    path = Path(path)
    refuse_existing(path)
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    with partial(path, directory=True, goes_on=goes_on) as temporary, unfinished(temporary):
        with room_for(temporary, then=f"nothing is left at {path}"):
            yield temporary
            sync_tree(temporary)
        refuse_existing(path)
        temporary.rename(path)
    sync_directory(path.absolute().parent)


@contextmanager
def scratch_directory(path: Path) -> Iterator[Path]:
    """A directory beside `path`, named after it and for its user alone, that is gone when the block ends.

    What killed processes have left of such directories is removed.

    Raises:
        StorageFullError: The disk is full.
    """
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.scratch")
    with partial(beside, directory=True) as temporary, unfinished(temporary), room_for(temporary):
        temporary.chmod(0o700)
        yield temporary


def refuse_existing(path: Path) -> None:
    """Raise if anything stands at `path`, a dangling link included, or a file where a parent should be."""
    if not path.name:
        raise InputError(f"{path} is no name for what is to be made: give one")
    if os.path.lexists(path):
        raise InputError(f"{path} exists already: nothing is overwritten, choose another name or remove it")
    nearest = nearest_directory(path)
    if not nearest.is_dir():
        raise InputError(f"cannot make {path}: {nearest} is not a directory")


def nearest_directory(path: Path) -> Path:
    """The nearest of the parents of `path` that exists; the others are made when `path` is written."""
    return next(parent for parent in path.absolute().parents if os.path.lexists(parent))
