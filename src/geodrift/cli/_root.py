"""The command `geodrift` itself, to which `_making` and `_reading` add the others."""

from typing import Annotated

import typer

from geodrift import __version__
from geodrift._terminal import show

app = typer.Typer(
    name="geodrift",
    help="Models of documents with a full posterior, from minibatches.",
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
