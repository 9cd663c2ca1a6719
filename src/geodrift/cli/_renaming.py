"""The command that keeps names of components in a run: rename."""

from typing import Annotated

import typer

from geodrift._terminal import show, show_json, visible
from geodrift.cli import _options as o
from geodrift.cli._root import app


@app.command(epilog='Example: geodrift rename articles-20 3 "sports"')
def rename(
    run: o.RunPath,
    number: Annotated[
        int | None, typer.Argument(min=0, metavar="[NUMBER]", help="Of the topic, or other component.")
    ] = None,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="What it is called from now on.")
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Take its name away.")] = False,
    as_json: o.Json = False,
) -> None:
    """Give a topic a name, which topics, report, documents, transform and export show beside its number.

    Without NUMBER and NAME: print the names. Draws and numbers stay as they are. A run that goes on may bring
    its topics in another order: names stay with the topics that have the words.
    """
    from geodrift.cli import UsageError
    from geodrift.driver import Run
    from geodrift.models import model_of

    if (number is None) != (name is None and not forget) or (name is not None and forget):
        raise UsageError("give a NUMBER and a NAME, or a NUMBER and --forget, or neither to print the names")
    opened = Run.open(run)
    answers = model_of(opened).answers()
    if number is not None:
        with opened.locked():
            answers.rename(opened, number, name)
    names, component = answers.names(opened), answers.model.component
    if as_json:
        show_json({"names": {str(place): told for place, told in sorted(names.items())}})
    else:
        lines = [f"{component} {place}: {visible(told)}" for place, told in sorted(names.items())]
        show("\n".join(lines) or f"no {component} of {visible(run)} has a name")
