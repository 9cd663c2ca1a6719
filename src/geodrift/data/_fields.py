"""What is kept of the fields of a record: numbers, dates, and the first characters of text."""

import math
from collections.abc import Mapping, Sequence
from datetime import date, time
from typing import Any

import numpy as np

MOST_CHARACTERS = 1000  # of a value that is kept; longer ones are cut


def kept_fields(
    record: Mapping[str, Any], names: Sequence[str] | None = None, *without: str
) -> dict[str, Any]:
    """The fields of a record that are kept: numbers, dates, and text, of which the first characters.

    Args:
        record: Values by name.
        names: Which; None: all.
        without: Names that are not.
    """
    kept = {}
    for name, value in record.items():
        if name in without or not (names is None or name in names):
            continue
        plain = plain_value(value)
        if plain is not None:
            kept[str(name)[:MOST_CHARACTERS]] = plain
    return kept


def plain_value(value: Any) -> str | int | float | bool | None:
    """A value as JSON holds it; None for what is missing, not finite, or no number, date or text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value if len(value) <= MOST_CHARACTERS else value[: MOST_CHARACTERS - 1] + "…"
    if isinstance(value, bool | int):
        return value if abs(value) < 2**63 else str(value)[:MOST_CHARACTERS]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, date | time):
        text = value.isoformat()
        return None if text == "NaT" else text
    return None
