"""Groups of documents by one of their fields: its values, or spans of numbers and dates."""

import datetime
import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from geodrift._errors import InputError

MOST_VALUES = 12  # different numbers or dates that are groups of their own
MOST_GROUPS = 50
_MONTH = re.compile(r"\d{4}-\d{2}")
_DAY = re.compile(r"\d{8}")
# Of values that are no dates to us, those that somebody may have meant so: 22.06.2019, 6/22/19, 2013-Q4.
_DATE_LIKE = re.compile(r"(\d{1,4}[-./ ]\w{1,9}([-./ ]\d{1,4})?|\w{3,9} \d{1,2},? \d{4})([T, ].*)?")
_FORMS = "dates must have the form 2019-06-22, 2019-06 or 20190622"


class Groups(NamedTuple):
    """Which document is in which group.

    Attributes:
        names: Of the groups, in order.
        of: The group of each document; -1 where the document does not have the field.
        centres: Mean value of each group, where values are numbers or dates (in years); else None.
        dates: Whether values are dates, all of them.
        days: Whether these are numbers, of eight digits each.
    """

    names: list[str]
    of: Int[np.ndarray, " D"]
    centres: Float[np.ndarray, " G"] | None
    dates: bool = False
    days: bool = False

    @property
    def sizes(self) -> Int[np.ndarray, " G"]:
        """Number of documents of each group."""
        return np.bincount(self.of[self.of >= 0], minlength=len(self.names))


def groups_of(values: list[Any], field: str, bins: int | None = None) -> Groups:
    """Groups of documents by the values of a field.

    Numbers and dates of many different values are cut into spans that hold about as many documents each.

    Args:
        values: One for each document; None: it does not have the field.
        field: Its name, for error messages.
        bins: Spans of numbers or dates; None: 8 where there are more than `MOST_VALUES` values, else every
            value is a group.

    Raises:
        InputError: There are fewer than two groups, or more than `MOST_GROUPS`; spans are asked for of what
            is neither numbers nor dates.
    """
    has = np.array([value is not None and value != "" for value in values], bool)
    told = [value for value, there in zip(values, has, strict=True) if there]
    days = bool(told) and all(_DAY.fullmatch(str(value)) for value in told)
    numbers = _numbers([f"{value}T00" for value in told]) if days else None
    days = numbers is not None
    numbers = _numbers(told) if numbers is None else numbers
    different = len(set(map(str, told)))
    if numbers is None and bins is not None:
        raise InputError(
            f"field {field!r} does not hold numbers or dates alone: there are no --bins of it{_forms(told)}"
        )
    if numbers is not None and (bins is not None or different > MOST_VALUES):
        names, inner = _spans(numbers, told, bins or 8)
    else:
        keys = np.zeros(len(told)) if numbers is None else numbers
        ordered = sorted(set(zip(keys.tolist(), map(str, told), strict=True)))
        order = {name: place for place, (_, name) in enumerate(ordered)}
        names, inner = list(order), np.array([order[str(value)] for value in told], int)
    if not 2 <= len(names) <= MOST_GROUPS:
        shown = [repr(value) for value, _ in Counter(map(str, told)).most_common(5)]
        common = ", ".join(shown + ["..."] * (different > len(shown))) or "none"
        made = "one group" if len(names) == 1 else f"{len(names):,} groups"
        more = _forms(told) if numbers is None and names else ""
        raise InputError(f"field {field!r} makes {made} ({common}); 2 to {MOST_GROUPS} can be compared{more}")
    of = np.full(len(values), -1)
    of[has] = inner
    if numbers is None:
        return Groups(names, of, None)
    centres = np.array([numbers[inner == group].mean() for group in range(len(names))])
    return Groups(names, of, centres, days or all(_plain_number(value) is None for value in told), days)


def _forms(values: list[Any]) -> str:
    """For a refusal: what form dates must have, where most of the values may be dates of another."""
    like = sum(_DATE_LIKE.fullmatch(str(value)) is not None for value in values)
    return f"; {_FORMS}" if 2 * like > len(values) else ""


def _numbers(values: list[Any]) -> Float[np.ndarray, " n"] | None:
    """Values as numbers, dates as years with fractions; None where one is neither."""
    found = []
    for value in values:
        number = _number(value)
        if number is None:
            return None
        found.append(number)
    return np.array(found)


def _plain_number(value: Any) -> float | None:
    """A value that is a number, and no date; None of any other."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    number = _plain_number(value)
    if number is not None:
        return number if np.isfinite(number) else None
    text = str(value)
    try:
        # A month stands where the middle of it does.
        day = datetime.datetime.fromisoformat(f"{text}-15" if _MONTH.fullmatch(text) else text)
    except ValueError:
        return None
    begin = datetime.datetime(day.year, 1, 1)
    return day.year + (day.replace(tzinfo=None) - begin).total_seconds() / (366 * 86400)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _spans(
    numbers: Float[np.ndarray, " n"], values: list[Any], bins: int
) -> tuple[list[str], Int[np.ndarray, " n"]]:
    """Spans of about as many documents each, and which one each value is in."""
    cuts = np.unique(np.quantile(numbers, np.linspace(0, 1, bins + 1)[1:-1]))
    _, inner = np.unique(np.searchsorted(cuts, numbers, side="right"), return_inverse=True)
    names = []
    for group in range(inner.max(initial=-1) + 1):
        places = np.flatnonzero(inner == group)
        ends = (places[numbers[places].argmin()], places[numbers[places].argmax()])
        first, last = (_short(values[place]) for place in ends)
        names.append(first if first == last else f"{first} to {last}")
    return names, inner
