"""Groups of documents by one of their fields: its values, or spans of numbers and dates."""

import calendar
import datetime
import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from geodrift._errors import InputError

MOST_VALUES = 12  # different numbers or dates that are groups of their own
MOST_GROUPS = 50
_LEAST_DIGITS, _MOST_DIGITS = 6, 17  # of the ends of a span; 17 tell all floats apart
_MONTH = re.compile(r"\d{4}-\d{2}")
# A column of whole numbers with missing values comes as floats, from a file of text as theirs.
_DAY = re.compile(r"(\d{8})(\.0)?")
# As programs write them: of codes such as 10_0 or 1e5 Python makes numbers too.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-][0-9]+)?", re.IGNORECASE)
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
        values: One for each document; None, NaN or "": it does not have the field.
        field: Its name, for error messages.
        bins: Spans of numbers or dates; None: 8 where there are more than `MOST_VALUES` values, else every
            value is a group.

    Raises:
        InputError: There are fewer than two groups, or more than `MOST_GROUPS`; spans are asked for of what
            is neither numbers nor dates.
    """
    # Not a number is no value, as missing ones are in a column of pandas.
    has = np.array([value is not None and value != "" and value == value for value in values], bool)
    told = [value for value, there in zip(values, has, strict=True) if there]
    digits = [found[1] for value in told if (found := _DAY.fullmatch(str(value)))]
    numbers = _numbers([f"{day}T00" for day in digits]) if digits and len(digits) == len(told) else None
    days = numbers is not None
    if days:
        told = digits
    else:
        numbers = _numbers(told)
    different = len(set(map(str, told)))
    if numbers is None and bins is not None:
        raise InputError(
            f"field {field!r} does not hold numbers or dates alone: there are no --bins of it{_forms(told)}"
        )
    if numbers is not None and (bins is not None or different > MOST_VALUES):
        names, inner = _spans(numbers, told, bins or 8)
    else:
        texts = list(map(str, told))
        keys = [(0.0, text) for text in texts]
        if numbers is not None:
            # 1 and 1.0 are one number, and one group; a month and its middle are two.
            keys = [
                (number, "" if _plain_number(value) is not None else text)
                for number, value, text in zip(numbers.tolist(), told, texts, strict=True)
            ]
        named = dict(zip(reversed(keys), reversed(texts), strict=True))
        order = {key: place for place, key in enumerate(sorted(named))}
        names, inner = [named[key] for key in order], np.array([order[key] for key in keys], int)
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
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value.strip()) else None
    return float(value)


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
    days = 366 if calendar.isleap(day.year) else 365
    return day.year + (day.replace(tzinfo=None) - begin).total_seconds() / (days * 86400)


def _spans(
    numbers: Float[np.ndarray, " n"], values: list[Any], bins: int
) -> tuple[list[str], Int[np.ndarray, " n"]]:
    """Spans of about as many documents each, and which one each value is in."""
    cuts = np.unique(np.quantile(numbers, np.linspace(0, 1, bins + 1)[1:-1]))
    _, inner = np.unique(np.searchsorted(cuts, numbers, side="right"), return_inverse=True)
    groups = [np.flatnonzero(inner == group) for group in range(inner.max(initial=-1) + 1)]
    ends = [
        place
        for places in groups
        for place in (places[numbers[places].argmin()], places[numbers[places].argmax()])
    ]
    names = _names([values[place] for place in ends], len(np.unique(numbers[ends])))
    return [a if a == b else f"{a} to {b}" for a, b in zip(names[::2], names[1::2], strict=True)], inner


def _names(values: list[Any], different: int) -> list[str]:
    """Values of which so many differ, with as few digits as tell these apart."""
    for digits in range(_LEAST_DIGITS, _MOST_DIGITS + 1):
        names = [f"{value:.{digits}g}" if isinstance(value, float) else str(value) for value in values]
        if len(set(names)) >= different:
            break
    return names
