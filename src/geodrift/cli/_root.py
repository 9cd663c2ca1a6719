"""The command `geodrift` itself, to which `_making` and `_reading` add the others."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from geodrift import __version__
from geodrift._terminal import show

# In the order in which one meets them. A line has room for 63 letters on a terminal of 80 columns.
COMMANDS = {
    "demo": "Fit topics to installed documentation and print them.",
    "corpus": "Turn documents into a corpus directory.",
    "fit": "Sample the posterior of a model and write a run directory.",
    "choose-k": "Fit several numbers of topics and say which is enough.",
    "resume": "Go on with a run, or make it longer.",
    "verify": "Say which files of a run or a corpus are damaged.",
    "topics": "Print each topic's words with intervals.",
    "clusters": "Print how many clusters there are, and each one.",
    "report": "Write all that a run has found as one HTML page.",
    "compare": "Say which topics of one run another has, and how they differ.",
    "rename": "Give a topic or a cluster a name.",
    "evaluate": "Score documents that were not fitted.",
    "documents": "Print the leading documents of each topic.",
    "effect": "Print how groups of documents, or times, differ in topics.",
    "transform": "Write what each document is made of as a table.",
    "export": "Write all draws, or what other programs read.",
}


class InOrderOfUse(TyperGroup):
    """The commands of `COMMANDS`, in that order, with those words in the list of all."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands."""
        return sorted(super().list_commands(ctx), key=list(COMMANDS).index)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, with its line of the list."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            command.short_help = COMMANDS[cmd_name]
        return command


app = typer.Typer(
    name="geodrift",
    cls=InOrderOfUse,
    help="Topic models and mixtures with a full posterior, from minibatches.",
    epilog="Start with: geodrift demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> bool:
    if wanted:
        show(f"geodrift {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    pass
