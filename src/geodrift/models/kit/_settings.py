"""Settings of a model, each with its symbol, its range and what it means, declared once.

The checks, the command line's options, the scikit-learn facade and the page on settings are made from this.
"""

import dataclasses
from collections.abc import Collection
from typing import Any, Self, TypeVar

from geodrift._whole import as_whole
from geodrift.driver import Shares
from geodrift.models.kit._allowed import Allowed, Share, Whole

_KEY = "setting"

S = TypeVar("S", bound="ModelSettings")


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

    def check(self, name: str, value: Any) -> None:
        """Raise ValueError, which calls the setting by this name, unless the value is allowed."""
        if not self.allowed.holds(value) and not (value is None and self.default is None):
            optional = " or None" if self.default is None else ""
            raise ValueError(f"{name} must be {self.allowed.text}{optional}, got {value!r}")


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
        25,
        Whole(1, 1_000_000),
        "Posterior draws to store of each chain, evenly spaced: of few steps, or where draws take long,"
        " they may be fewer, and some more where they do not divide the steps.",
        option="draws",
        parameter="n_draws",
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
            told.check(told.name, getattr(self, told.name))
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


def settings_of(estimator: Any, kind: type[S], **changes: Any) -> S:
    """The settings that an estimator's parameters say, some of them changed.

    Raises:
        ValueError: A parameter, which is named, is outside what its setting allows.
    """
    values = {}
    for told in kind.settings():
        value = getattr(estimator, told.parameter)
        told.check(told.parameter, value)
        values[told.name] = as_whole(value)
    return kind(**values | changes)


def refuse_changes(before: ModelSettings, now: ModelSettings, names: Collection[str] | None = None) -> None:
    """Raise ValueError where `partial_fit` cannot go on with other settings.

    Args:
        before: Of the calls before.
        now: Of this call.
        names: Settings that must be the same; None: all.
    """
    for told in now.settings():
        was, is_now = getattr(before, told.name), getattr(now, told.name)
        if names is None or told.name in names:
            refuse_change(told.parameter, was, is_now)


def refuse_change(parameter: str, was: object, is_now: object) -> None:
    """Raise ValueError where `partial_fit` is called with another value of a parameter than before."""
    if was != is_now:
        raise ValueError(
            f"{parameter} = {is_now!r}: partial_fit goes on from calls with {parameter} = {was!r}; leave it"
            " as it was, or begin anew: call fit, or partial_fit of sklearn.base.clone"
        )


def _told(field: dataclasses.Field) -> Setting:
    told = field.metadata[_KEY]
    option = told["option"] or field.name.replace("_", "-")
    return Setting(
        field.name, field.default, told["allowed"], told["help"], option, told["parameter"] or field.name
    )
