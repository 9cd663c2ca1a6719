"""A report as a file: a file of anybody else's is never replaced."""

from pathlib import Path

from geodrift._errors import InputError
from geodrift.files import refuse_existing, write_file
from geodrift.report._data import Report
from geodrift.report._page import GENERATOR

BEGINNING = 4096  # bytes in which the generator's name stands
PAGE_MARK = f'name="generator" content="{GENERATOR}'


def save(report: Report, path: Path) -> None:
    """Write the page; see `Report.save`."""
    refuse_foreign(path)
    content = report.html().encode("utf-8")
    write_file(path, lambda stream: stream.write(content), overwrite=path.exists(), needed=len(content))


def refuse_foreign(path: Path, mark: str = PAGE_MARK) -> None:
    """Raise where something stands at ``path`` that is no report of ours, before any work is done.

    Args:
        path: The file.
        mark: By which ours are known.

    Raises:
        InputError: It does.
    """
    path = Path(path)
    if path.is_file() and not path.is_symlink():
        with path.open("rb") as stream:
            if mark.encode() in stream.read(BEGINNING):
                return
        raise InputError(
            f"{path} exists already and is no report of geodrift: nothing is overwritten, choose another name"
            " (--out) or remove it"
        )
    refuse_existing(path)
