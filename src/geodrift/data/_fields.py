"""What is kept of the fields of a record: numbers, dates, and the first characters of text."""

import math
from collections.abc import Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from types import NoneType
from typing import Any

import numpy as np

MOST_CHARACTERS = 1000  # of a value that is kept; longer ones are cut
_MOST_DIGITS = 100  # of a decimal number that is kept exactly


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
    value = of_python(value)
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


def can_be_kept(value: Any) -> bool:
    """Whether a value is missing, or a number, a truth value, a date, a time or text."""
    return isinstance(of_python(value), str | int | float | date | time | NoneType)


def of_python(value: Any) -> Any:
    """A value of NumPy, pandas or `decimal` as Python's own, where it has one that says the same."""
    if isinstance(value, np.datetime64):
        return _as_date(value)
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        return value.item()
    if isinstance(value, Decimal):
        return _as_number(value)
    # pandas need not be there: what is of it is known by its name.
    if type(value).__module__.partition(".")[0] == "pandas":
        return {"Period": str(value), "NAType": None}.get(type(value).__name__, value)
    return value


def _as_date(value: np.datetime64) -> date | str | None:
    """A date or a time as Python has it, to the microsecond; as text where the year is not 1 to 9999."""
    found = value.item()
    if isinstance(found, int):  # nanoseconds and the like, or a year that Python does not have
        found = value.astype("datetime64[us]").item()
    return str(value) if isinstance(found, int) else found


def _as_number(value: Decimal) -> int | float:
    """Without decimal places exactly, with them as near as a float is."""
    if not value.is_finite():
        return math.nan
    whole = int(value.as_tuple().exponent) >= 0 and value.adjusted() < _MOST_DIGITS
    return int(value) if whole else float(value)
