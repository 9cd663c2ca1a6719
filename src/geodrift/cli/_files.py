"""Files that commands write, and how they name them."""

import shlex
from pathlib import Path

from geodrift.cli import UsageError
from geodrift.files import refuse_existing


def check_suffix(path: Path, *allowed: str) -> None:
    """Refuse a name of another kind, or a file that exists, before any work is done."""
    check_name(path, *allowed)
    refuse_existing(path)


def check_name(path: Path, *allowed: str) -> None:
    """Refuse a name of another kind."""
    if path.suffix not in allowed:
        raise UsageError(f"--out must end in {' or '.join(allowed)}, got {path}")


def typed(path: Path) -> str:
    """A path within a command that a person may copy: in quotes where a shell would take it apart."""
    # One that begins with a dash would be taken for an option.
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))
