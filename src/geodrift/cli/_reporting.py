"""The command that writes a report."""

from pathlib import Path
from typing import Annotated

import typer

from geodrift._terminal import show, visible
from geodrift.cli import _options as o
from geodrift.cli._root import app

NAME = "report.html"  # in the run directory


@app.command(epilog="Example: geodrift report articles-20")
def report(
    run: o.RunPath,
    out: Annotated[
        Path | None, typer.Option(help="File to write, .html; RUN/report.html unless told.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=100, help="Words of each component.")] = 15,
    documents: Annotated[
        int,
        typer.Option(
            min=0, max=100_000, help="Documents whose weights are told, at most; 0 does without the corpus."
        ),
    ] = 2000,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Field that makes groups of documents, or times, whose shares are compared; more than"
            " one may be given; none: no groups. Not given: a date or else a group, where the documents have"
            " them."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Field of the documents' titles.")] = None,
    text: Annotated[
        str | None,
        typer.Option(help="Field of texts, of which the beginning was kept (corpus --fields)."),
    ] = None,
    seed: o.Seed = 0,
) -> None:
    """Write what a run has found as one HTML page that needs no network.

    Words, sizes and a map with intervals, documents, diagnostics, settings; tables as CSV, figures as SVG. An
    earlier report is replaced, any other file is refused.
    """
    from geodrift.cli import UsageError
    from geodrift.cli._files import check_name
    from geodrift.cli._waiting import Waiting
    from geodrift.driver import Run
    from geodrift.models import model_of
    from geodrift.report import refuse_foreign

    if by is not None and "none" in by and len(by) > 1:
        raise UsageError("--by none is no groups: give it alone, or leave it out")
    groups = [] if by == ["none"] else by
    of_documents = {"--by": groups, "--title": title, "--text": text}
    given = [option for option, typed in of_documents.items() if typed]
    if given and not documents:
        raise UsageError(f"{given[0]} is about documents, and --documents 0 does without them")
    out = run / NAME if out is None else out
    check_name(out, ".html", ".htm")
    opened = Run.open(run)
    refuse_foreign(out)
    answers = model_of(opened).answers()
    asked = {"top": top, "documents": documents, "seed": seed, "by": groups, "title": title, "text": text}
    with Waiting("reading the draws") as waiting:
        made = answers.report(opened, progress=waiting.at, **asked)
        waiting.at(0, 0, "writing the page")
        made.save(out)
    show(visible(out))
