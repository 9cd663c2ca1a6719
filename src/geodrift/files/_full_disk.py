"""A full disk is told with the path and what was needed."""

import errno
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# A full disk, a quota, a file size limit.
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# NumPy's words for it, in an OSError without a number.
_NUMPY_SAYS = re.compile(r"\d+ requested and \d+ written")


class StorageFullError(OSError):
    """The disk is full, or a quota or a limit is reached; the message says for what there is no room."""


@contextmanager
def room_for(path: Path, needed: int | None = None, then: str = "") -> Iterator[None]:
    """Raise `StorageFullError` in the place of an error for want of room.

    Args:
        path: What is being written, a file or a directory.
        needed: Bytes of it; None: not known, and what was written is told.
        then: What to do, for the message.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageFullError):
            if then:
                raise StorageFullError(error.errno, f"{error.strerror}; {then}") from error
            raise
        if error.errno not in _NO_SPACE and not _NUMPY_SAYS.search(str(error)):
            raise
        size = (
            f"it needs about {in_units(needed)}" if needed is not None else f"{_written(path)} were written"
        )
        reason = error.strerror or "No space left on device"
        message = f"{reason}: there is no room for {path}: {size}, {_free(path)} are free there"
        number = error.errno or errno.ENOSPC
        raise StorageFullError(number, f"{message}; {then}" if then else message) from error


def in_units(number: float) -> str:
    """A number of bytes for a person."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:,.0f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"


def _written(path: Path) -> str:
    files = path.rglob("*") if path.is_dir() else [path]
    return in_units(sum(file.stat().st_size for file in files if file.is_file()))


def _free(path: Path) -> str:
    place = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    return in_units(shutil.disk_usage(place).free)
