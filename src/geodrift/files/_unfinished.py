"""What stands under a temporary name while it is written, and goes when the writing fails or is stopped."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_being_written: set[Path] = set()


@contextmanager
def unfinished(temporary: Path) -> Iterator[None]:
    """Remove a file or directory if it still stands under its temporary name when the block ends."""
    temporary = temporary.absolute()
    _being_written.add(temporary)
    try:
        yield
    finally:
        _remove(temporary)
        _being_written.discard(temporary)


def remove_unfinished() -> None:
    """Remove all that this process is writing under temporary names: it is about to end."""
    for temporary in list(_being_written):
        _remove(temporary)


def _remove(temporary: Path) -> None:
    if temporary.is_dir():
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        temporary.unlink(missing_ok=True)
