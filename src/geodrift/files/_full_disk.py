"""A full disk, a quota or a limit on the size of files, told by the path and by what was needed."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def is_full(error: OSError) -> bool:
    """Whether a write failed for want of room."""
    # NumPy's `tofile` gives no number: "31147 requested and 28640 written".
    return error.errno in _NO_ROOM or (error.errno is None and " requested and " in str(error))


@contextmanager
def full_disk_named(path: Path, temporary: Path) -> Iterator[None]:
    """Say of an error for want of room what was being written, and how much there was room for.

    Args:
        path: What is to stand there in the end.
        temporary: Where it is written, a file or a directory.
    """
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        reason = error.strerror or "No space left on device"
        raise OSError(
            error.errno or errno.ENOSPC,
            f"{reason}: it needs more than the {_size(temporary) / 1e6:,.3f} MB that were written; make room"
            " (nothing half-written is left)",
            str(path),
        ) from error


def _size(temporary: Path) -> int:
    files = [temporary, *temporary.rglob("*")] if temporary.is_dir() else [temporary]
    return sum(file.stat().st_size for file in files if file.is_file())
