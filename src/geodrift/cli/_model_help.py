"""The help of a command of many options, and of one that is given a model: its own options alone."""

import copy
from typing import Any

from typer.core import TyperCommand

from geodrift.cli._model_options import help_of_setting, settings_of
from geodrift.cli._options import Text
from geodrift.models import models

_NAMED, _HELPING = "geodrift.model", "geodrift.helping"


class GroupedCommand(TyperCommand):
    """A command of many options, which stand in its help under the headings that they are declared with."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, options without a heading, and each heading with its options."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            told = param.get_help_record(ctx)
            if told is not None:
                kind = "Arguments" if param.param_type_name == "argument" else "Options"
                groups.setdefault(getattr(param, "rich_help_panel", None) or kind, []).append(told)
        for heading, group in groups.items():
            if group:
                with formatter.section(heading):
                    formatter.write_dl(group)


class ModelCommand(GroupedCommand):
    """`fit --help` has the options of all models, `fit lda --help` those of LDA, in LDA's words."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note which model is named: `--help` ends the reading before the arguments are known."""
        ctx.meta[_NAMED] = next((arg for arg in args if arg in models()), None)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with an example of the model that was named."""
        ctx.meta[_HELPING], named = True, ctx.meta.get(_NAMED)
        command = copy.copy(self)
        if named is not None:
            source = "vectors.npy" if models()[named].reads == "vectors" else "articles"
            command.epilog = f"Example: geodrift fit {named} {source} --run {named}-run --seconds 120"
        super(ModelCommand, command).format_help(ctx, formatter)

    def get_params(self, ctx: Any) -> list[Any]:
        """All, or in the help those of the model that was named: others are refused by name when typed."""
        every, named = super().get_params(ctx), ctx.meta.get(_NAMED)
        if named is None or not ctx.meta.get(_HELPING):
            return every
        own = {setting.name: setting for setting in settings_of(models()[named])}
        others = {setting.name for model in models().values() for setting in settings_of(model)}
        if models()[named].reads == "vectors":
            others |= {*Text._fields, "unchecked_corpus"}
        shown: list[Any] = []
        for param in every:
            if param.name in own:
                shown.append(_told(param, help_of_setting(own[param.name])))
            elif param.name not in others:
                shown.append(param)
        return shown


def _told(param: Any, text: str) -> Any:
    """The same option with another text."""
    copied = copy.copy(param)
    copied.help = text
    return copied
