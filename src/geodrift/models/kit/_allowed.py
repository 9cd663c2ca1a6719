"""The values that a setting of a model may have, and how each is typed on the command line."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from geodrift._whole import is_whole


@runtime_checkable
class Allowed(Protocol):
    """The values that a setting may have.

    Attributes:
        kind: The type that a value is typed in on the command line.
    """

    @property
    def kind(self) -> type:
        """The type that a value is typed in on the command line."""
        ...

    @property
    def text(self) -> str:
        """What is allowed, in words."""
        ...

    def holds(self, value: Any) -> bool:
        """Whether a value is allowed."""
        ...

    def read(self, typed: Any) -> Any:
        """The value that was typed on the command line, of the type ``kind``."""
        ...


def _number(kind: type, typed: Any) -> Any:
    try:
        return kind(typed)
    except ValueError:
        return typed


@dataclasses.dataclass(frozen=True)
class Whole:
    """Whole numbers in a range."""

    least: int
    most: int | None = None
    kind = int

    @property
    def text(self) -> str:
        """What is allowed, in words."""
        bounds = f"of at least {self.least}" if self.most is None else f"from {self.least} to {self.most}"
        return f"a whole number {bounds}"

    def holds(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return is_whole(value, self.least) and (self.most is None or value <= self.most)

    def read(self, typed: Any) -> Any:
        """The number; what is none as it is, to be refused."""
        return _number(int, typed)


@dataclasses.dataclass(frozen=True)
class WholeOr:
    """Whole numbers from 1, or a word."""

    word: str
    most: int
    kind = str

    @property
    def text(self) -> str:
        """What is allowed, in words."""
        return f"{Whole(1, self.most).text}, or {self.word}"

    def holds(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return value == self.word if isinstance(value, str) else Whole(1, self.most).holds(value)

    def read(self, typed: Any) -> Any:
        """The number, or the word; what is neither as it is, to be refused."""
        return _number(int, typed)


@dataclasses.dataclass(frozen=True)
class Between:
    """Numbers from one to another, both included: beyond them the model cannot be computed."""

    least: float
    most: float
    kind = float

    @property
    def text(self) -> str:
        """What is allowed, in words."""
        return f"a number from {self.least:g} to {self.most:g}"

    def holds(self, value: Any) -> bool:
        """Whether a value is allowed."""
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        return number and self.least <= value <= self.most

    def read(self, typed: Any) -> Any:
        """The number; what is none as it is, to be refused."""
        return _number(float, typed)


@dataclasses.dataclass(frozen=True)
class Share:
    """Numbers from 0 to below 1."""

    kind = float
    text = "at least 0 and below 1"

    def holds(self, value: Any) -> bool:
        """Whether a value is allowed."""
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        return number and bool(0.0 <= value < 1.0)

    def read(self, typed: Any) -> Any:
        """The number; what is none as it is, to be refused."""
        return _number(float, typed)


@dataclasses.dataclass(frozen=True)
class OneOf:
    """Some words."""

    words: tuple[str, ...]
    kind = str

    @property
    def text(self) -> str:
        """What is allowed, in words."""
        return f"one of {', '.join(self.words)}"

    def holds(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return value in self.words

    def read(self, typed: Any) -> Any:
        """The word."""
        return typed


@dataclasses.dataclass(frozen=True)
class YesNo:
    """True or False; ``yes`` or ``no`` on the command line."""

    kind = str
    text = "True or False (yes or no)"

    def holds(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return isinstance(value, bool)

    def read(self, typed: Any) -> Any:
        """True for yes, False for no; anything else as it is, to be refused."""
        return {"yes": True, "no": False}.get(typed, typed)


@dataclasses.dataclass(frozen=True)
class Numbers:
    """One number or several, checked by the settings' class; separated by commas on the command line."""

    text: str
    kind = str

    def holds(self, value: Any) -> bool:
        """Whether a value is a number or numbers."""
        several = (isinstance(value, Sequence) and not isinstance(value, str)) or np.ndim(value) > 0
        values = value if several else [value]
        return all(isinstance(x, int | float | np.number) and not isinstance(x, bool) for x in values)

    def read(self, typed: Any) -> Any:
        """A number, or a tuple of numbers where there is a comma."""
        try:
            numbers = tuple(float(part) for part in typed.split(","))
        except ValueError:
            return typed
        return numbers if len(numbers) > 1 else numbers[0]
