"""Files that commands write, and how they name them."""

import os
import shlex
from pathlib import Path

from geodrift._terminal import visible
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
    name = f"./{path}" if str(path).startswith("-") else str(path)
    if visible(name) == name:
        return shlex.quote(name)
    # As bash and zsh read what cannot be shown, byte by byte.
    return f"$'{''.join(map(_written_out, name))}'"


def _written_out(char: str) -> str:
    if visible(char) == char and char not in "'\\":
        return char
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))
