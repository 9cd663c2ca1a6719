"""What a record says that its document is called."""

import math
from collections.abc import Callable
from typing import Any

from geodrift._errors import InputError
from geodrift.data._fields import of_python
from geodrift.data._records import Record


def identity_of(name: str, record: Record, field: str | None, no_id: Callable[[], object]) -> str:
    """The id of a record: what it says, or where it stands.

    Args:
        name: Of its file.
        record: The record.
        field: Of the id, which it must have; None: "id", where it has one.
        no_id: Is called where a value of "id" is no id.

    Raises:
        InputError: The field is not there, or its value is no id.
    """
    value = record.values.get(field or "id")
    found = id_of(value)
    if found:
        return found
    missing = found is not None
    if field is None:
        if not missing:
            no_id()
        return f"{name}:{record.number}"
    where = f"{name}, document {record.number}"
    if missing:
        shown = ", ".join(map(str, list(record.values)[:20])) or "none"
        raise InputError(f"{where}: no id in field {field!r} (fields: {shown}); name it with --id-field")
    raise InputError(
        f"{where}: field {field!r} holds {_shown(value)}, and an id is text or a whole number; name"
        " another with --id-field"
    )


def _shown(value: Any) -> str:
    """A value of which only the beginning may be shown, with its type."""
    text = str(value)
    return f"{text if len(text) <= 40 else text[:39] + '…'} ({type(value).__name__})"


def id_of(value: Any) -> str | None:
    """A value as the id of a document: text, or a whole number, also one that is stored as a float.

    Returns:
        "" where the value is missing, None where it is no id.
    """
    value = of_python(value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
