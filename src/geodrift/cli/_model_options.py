"""Options of the commands that are made from the specifications of the models."""

import inspect
import operator
from collections.abc import Callable, Collection, Iterable
from typing import Annotated, Any

import typer

from geodrift._errors import InputError
from geodrift.cli import UsageError
from geodrift.cli._options import set_parameters
from geodrift.models import model_named, models
from geodrift.models._registry import refusal
from geodrift.models.kit import Model, Setting

_PANEL = "Model"


def with_options(
    options_of: Callable[[Model], Iterable[Setting]], of: Iterable[Model] | None = None
) -> Callable[[Callable], Callable]:
    """Give a command that takes ``**settings`` an option for each of some settings.

    Args:
        options_of: The settings of a model.
        of: The models that the command is for; None: all.
    """
    chosen = list(models().values() if of is None else of)

    def change(command: Callable) -> Callable:
        signature = inspect.signature(command, eval_str=True)
        own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        set_parameters(command, [*own, *_parameters(options_of, chosen)])
        return command

    return change


def given(
    model: Model, settings: dict[str, Any], options_of: Callable[[Model], Iterable[Setting]]
) -> dict[str, Any]:
    """The settings that were typed, read; those that the model does not have are refused.

    Raises:
        UsageError: One is another model's.
        InputError: One is not what it may be; the message names the option.
    """
    told = {setting.name: setting for setting in options_of(model)}
    everyone = {s.name: s for other in models().values() for s in options_of(other)}
    typed = {name: value for name, value in settings.items() if value is not None}
    for name in typed:
        if name not in told:
            raise UsageError(refusal(model, name, f"--{everyone[name].option}"))
    read = {name: told[name].allowed.read(value) for name, value in typed.items()}
    for name, value in read.items():
        if not told[name].allowed.holds(value):
            raise InputError(f"--{told[name].option} must be {told[name].allowed.text}, got {value}")
    return read


def option_of(name: str) -> str | None:
    """The option by which a setting is typed that Python calls so; None: it is no setting."""
    every = (setting for model in models().values() for setting in settings_of(model))
    return {"held_out": "held-out"}.get(name) or next(
        (setting.option for setting in every if name in (setting.name, setting.parameter)), None
    )


def checked_model(name: str) -> Model:
    """The model of that name, or a usage error."""
    try:
        return model_named(name)
    except ValueError as error:
        raise UsageError(str(error)) from None


def model_help() -> str:
    """What the models are."""
    return "; ".join(f"{model.name}: {model.title}" for model in models().values()) + "."


def help_of(part_of: Callable[[Model], str]) -> str:
    """What the models' specifications say of a command; once, where all say the same."""
    return _by_model([(model.name, f"{part_of(model)}.") for model in models().values()], "\n\n", models())


def _by_model(told: list[tuple[str, str]], separator: str, of: Collection) -> str:
    """Texts with the names of their models in front; one text, where all of some models share it."""
    if len(told) == len(of) and len({text for _, text in told}) == 1:
        return told[0][1]
    return separator.join(f"{model}: {text}" for model, text in told)


def _parameters(options_of: Callable[[Model], Iterable[Setting]], of: list[Model]) -> list[inspect.Parameter]:
    found: dict[str, list[tuple[str, Setting]]] = {}
    for model in of:
        for setting in options_of(model):
            found.setdefault(setting.name, []).append((model.name, setting))
    return [_parameter(name, told, of) for name, told in found.items()]


def _parameter(name: str, told: list[tuple[str, Setting]], of: list[Model]) -> inspect.Parameter:
    """One option for the setting of that name of all models that have it."""
    kinds = {setting.allowed.kind for _, setting in told}
    kind = kinds.pop() if len(kinds) == 1 else str
    option = typer.Option(
        f"--{told[0][1].option}", help=_help(told, of), rich_help_panel=_PANEL, show_default=False
    )
    annotation = operator.getitem(Annotated, (kind | None, option))
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _help(told: list[tuple[str, Setting]], of: list[Model]) -> str:
    return _by_model([(model, help_of_setting(setting)) for model, setting in told], " ", of)


def help_of_setting(setting: Setting) -> str:
    """What a setting is, and its default."""
    value = setting.default
    if value is None:
        return setting.help
    shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
    return f"{setting.help} Default: {shown}."


def settings_of(model: Model) -> tuple[Setting, ...]:
    """The settings of a model."""
    return model.settings_type.settings()


def demo_settings_of(model: Model) -> list[Setting]:
    """The settings of the model that can be chosen in the demo."""
    return [setting for setting in settings_of(model) if setting.name in model.demo_settings]


def evaluation_options_of(model: Model) -> tuple[Setting, ...]:
    """What the model's scores can be told."""
    return model.evaluation_options
