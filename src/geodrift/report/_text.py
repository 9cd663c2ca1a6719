"""Text from outside, and numbers, as a reader sees them."""

import math
import unicodedata
from collections.abc import Iterable
from typing import Any

from geodrift._terminal import visible

LONGEST = 80  # characters of a word or a title that are shown
MARKS = 3  # of one letter


def cut(text: object, most: int = LONGEST) -> str:
    """The beginning of a text; an ellipsis stands for the rest."""
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def shown(text: object, most: int = LONGEST) -> str:
    """The beginning of a text without anything that could steer a reader: see `visible`."""
    return cut(visible(_unstacked(cut(text, most))), most)


def _unstacked(text: str) -> str:
    """Letters with at most so many marks above and below them: more would cover the lines beside them."""
    kept, marks = [], 0
    for letter in text:
        marks = marks + 1 if unicodedata.combining(letter) else 0
        if marks <= MARKS:
            kept.append(letter)
    return "".join(kept)


def percent(share: float) -> str:
    """A share with three digits at most, such as 12.3% and 0.04%."""
    value = 100 * share
    places = 1 if abs(value) >= 0.995 else 2
    return f"{value:.{places}f}%"


def weight(value: float, signed: bool) -> str:
    """The weight of a word: a share, or the entry of a unit vector."""
    return f"{value:+.3f}".replace("-", "\N{MINUS SIGN}") if signed else percent(value)


def number(value: float | None, digits: int = 4) -> str:
    """A number with so many digits; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "\N{EN DASH}"
    rounded = f"{value:.{digits}g}"
    return f"{value:,.0f}" if abs(float(rounded)) >= 10**digits else rounded


def significant(value: float | int | None) -> float | int | None:
    """A number with six digits, as files have it; None for what is not finite."""
    if value is None or isinstance(value, int):
        return value
    return float(f"{value:.6g}") if math.isfinite(value) else None


def counted(number: int, name: str) -> str:
    """A number of things."""
    return f"{number:,} {name}" + ("" if number == 1 else "s")


def has_the_highest(number: int) -> str:
    """Which number of topics has the highest held-out score."""
    return f"{counted(number, 'topic')} {'has' if number == 1 else 'have'} the highest held-out score"


def of_sizes(parts: Iterable[dict[str, Any]], component: str) -> str:
    """Why sizes need not sum to 100%, where they are means over different chains; else nothing."""
    if all("size" not in part or part["found"] == part["chains"] for part in parts):
        return ""
    return (
        f"A {component}'s size is its mean over the chains that found it, so the sizes need not sum to 100%."
    )
