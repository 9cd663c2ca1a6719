"""Files and directories that are not finished yet, under names that begin with ``.NAME.partial-``.

Who writes one holds a lock on it, which ends with the process however that ends. One without a lock is left
of a process that was killed, and is removed when something of the same name is written again.
"""

import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # no such locks on Windows, where nothing is removed
    fcntl = None


@contextmanager
def partial(
    path: Path, *, directory: bool = False, goes_on: Callable[[Path], bool] | None = None
) -> Iterator[Path]:
    """A new file or directory beside ``path``, locked in the block, to be renamed to ``path`` there.

    What killed processes have left beside ``path`` of its earlier partials is removed before. What is left of
    this one when the block ends is the caller's to remove.

    Args:
        path: What is being written.
        directory: Whether it is a directory; else a file, empty at first.
        goes_on: Whether the work goes on in a directory that was left, which is yielded then; None: in none.
    """
    parent, start = path.absolute().parent, f".{path.name}.partial-"
    left = _remove_left(parent, start, goes_on)
    if left is not None:
        try:
            yield left[0]
        finally:
            os.close(left[1])
        return
    own = f"{os.getpid()}-{secrets.token_hex(4)}"
    # Under another name until it is locked: another process would take it for one that was left.
    unlocked, temporary = parent / f".{path.name}.begun-{own}", parent / (start + own)
    if directory:
        unlocked.mkdir()
    else:
        unlocked.touch(exist_ok=False)
    lock = _locked(unlocked)
    try:
        unlocked.rename(temporary)
        yield temporary
    finally:
        if lock is not None:
            os.close(lock)


def _remove_left(parent: Path, start: str, goes_on: Callable[[Path], bool] | None) -> tuple[Path, int] | None:
    """Remove what begins with ``start`` and nobody holds a lock on, but for one in which the work goes on.

    Returns:
        That one, and the lock on it.
    """
    with os.scandir(parent) as entries:
        found = [parent / entry.name for entry in entries if entry.name.startswith(start)]
    kept = None
    for left in found:
        lock = _locked(left)
        if lock is None:
            continue
        if kept is None and goes_on is not None and goes_on(left):
            kept = left, lock
            continue
        try:
            if stat.S_ISDIR(os.fstat(lock).st_mode):
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
        finally:
            os.close(lock)
    return kept


def _locked(path: Path) -> int | None:
    """A descriptor that holds the lock of a file or directory; None: it was not to be had."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
    except OSError:
        # Held by another, or a file system without such locks.
        pass
    os.close(descriptor)
    return None
