"""Settings of a model, each with its symbol, its range and what it means, declared once.

The checks, the command line's options, the scikit-learn facade and the page on settings are made from this.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np

from geodrift.driver import Shares

_KEY = "setting"


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
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and value >= self.least and (self.most is None or value <= self.most)

    def read(self, typed: Any) -> Any:
        """The number; what is none as it is, to be refused."""
        return _number(int, typed)


@dataclasses.dataclass(frozen=True)
class Positive:
    """Positive finite numbers."""

    kind = float
    text = "a positive finite number"

    def holds(self, value: Any) -> bool:
        """Whether a value is allowed."""
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        return number and math.isfinite(value) and value > 0

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
        return isinstance(value, int | float) and 0.0 <= value < 1.0

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
        values = value if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) else [value]
        return all(isinstance(x, int | float | np.number) and not isinstance(x, bool) for x in values)

    def read(self, typed: Any) -> Any:
        """A number, or a tuple of numbers where there is a comma."""
        try:
            numbers = tuple(float(part) for part in typed.split(","))
        except ValueError:
            return typed
        return numbers if len(numbers) > 1 else numbers[0]


@dataclasses.dataclass(frozen=True)
class Setting:
    """What is told of a setting.

    Attributes:
        name: In the settings' class.
        default: Its value where nothing is said; None stands for a default that ``help`` describes.
        allowed: Its values.
        help: What it is, with its symbol in the papers, one sentence or two.
        option: The command line's, without dashes in front.
        parameter: The scikit-learn facade's.
    """

    name: str
    default: Any
    allowed: Allowed
    help: str
    option: str
    parameter: str


def setting(
    default: Any, allowed: Allowed, help: str, *, option: str | None = None, parameter: str | None = None
) -> Any:
    """A field of a settings class; see `Setting`."""
    told = {"allowed": allowed, "help": help, "option": option, "parameter": parameter}
    return dataclasses.field(default=default, metadata={_KEY: told})


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The base of a model's settings: a frozen dataclass whose fields are made by `setting`.

    Raises:
        ValueError: A value is outside what its setting allows.
    """

    num_draws: int = setting(
        100, Whole(1), "Posterior draws that are stored of each chain.", option="draws", parameter="n_draws"
    )
    warm_up_fraction: float = setting(
        0.5,
        Share(),
        "Part of the steps that is warm-up; at least 140 steps are, or half of a shorter run.",
    )

    @property
    def shares(self) -> Shares:
        """How a run is divided in warm-up and draws."""
        return Shares(self.warm_up_fraction, self.num_draws)

    def __post_init__(self) -> None:
        """Check every value, then what `check_together` asks of several."""
        for told in self.settings():
            value = getattr(self, told.name)
            if not told.allowed.holds(value) and not (value is None and told.default is None):
                optional = " or None" if told.default is None else ""
                raise ValueError(f"{told.name} must be {told.allowed.text}{optional}, got {value!r}")
        self.check_together()

    def check_together(self) -> None:
        """Raise ValueError where values do not go together."""

    @classmethod
    def settings(cls) -> tuple[Setting, ...]:
        """What is told of each setting."""
        return tuple(_told(field) for field in dataclasses.fields(cls) if _KEY in field.metadata)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The settings that `to_dict` wrote.

        Raises:
            ValueError: A name is not a setting.
        """
        known = {told.name for told in cls.settings()}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(f"unknown settings {unknown}; known are {sorted(known)}")
        return cls(**values)


def _told(field: dataclasses.Field) -> Setting:
    told = field.metadata[_KEY]
    option = told["option"] or field.name.replace("_", "-")
    return Setting(
        field.name, field.default, told["allowed"], told["help"], option, told["parameter"] or field.name
    )
