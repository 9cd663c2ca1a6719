"""JSON files that hold a checksum of themselves."""

import hashlib
import json
from pathlib import Path
from typing import Any

from geodrift._errors import InputError
from geodrift.files._contents import plain, read_json, write_json

SEAL = "checksum"  # the entry that holds it


def write_sealed(path: Path, value: dict[str, Any], *, overwrite: bool = False) -> dict[str, Any]:
    """Write a JSON object with a checksum of its contents in it.

    Returns:
        What was written.
    """
    whole = sealed(value)
    write_json(path, whole, overwrite=overwrite)
    return whole


def sealed(value: dict[str, Any]) -> dict[str, Any]:
    """A JSON object with a checksum of its contents in it."""
    contents = {name: entry for name, entry in value.items() if name != SEAL}
    return contents | {SEAL: _digest(contents)}


def read_sealed(path: Path, what: str) -> dict[str, Any]:
    """Read what `write_sealed` wrote.

    Args:
        path: The file.
        what: What its directory should be, see `read_json`.

    Raises:
        InputError: It is missing, damaged, or was changed by hand.
    """
    value = read_json(path, what)
    check_seal(path, value)
    return value


def check_seal(path: Path, value: dict[str, Any]) -> None:
    """Raise InputError where a JSON object, read from ``path``, is not the one that was written."""
    if value.get(SEAL) != _digest({name: entry for name, entry in value.items() if name != SEAL}):
        raise InputError(f"{path} is not as it was written: it was changed by hand or is damaged (checksum)")


def _digest(value: dict[str, Any]) -> str:
    # As the file will be read: keys are texts there, and tuples lists.
    text = json.dumps(value, sort_keys=True, default=plain)
    return hashlib.sha256(json.dumps(json.loads(text), sort_keys=True).encode()).hexdigest()
