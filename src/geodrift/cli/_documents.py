"""The command that prints the documents in which each component leads: documents."""

from typing import Annotated

import typer

from geodrift._terminal import say, show, show_json
from geodrift.cli import _model_options as m
from geodrift.cli import _options as o
from geodrift.cli._root import app


def documents(
    run: o.RunPath,
    top: Annotated[int, typer.Option(min=1, help="Documents of each component.")] = 5,
    title: Annotated[
        str | None, typer.Option(help='Field that is shown beside the id. Not given: "title".')
    ] = None,
    most: Annotated[
        int, typer.Option(min=1, help="Documents to look at; of a larger corpus so many at random.")
    ] = 20_000,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Print the documents in which each topic, or other component, has most of the words."""
    from geodrift.cli._waiting import Waiting
    from geodrift.data._documents import check_fields
    from geodrift.driver import Run
    from geodrift.models import model_of
    from geodrift.models.kit import corpus_of
    from geodrift.models.kit._document_tables import leading_text
    from geodrift.models.kit._leading_documents import leading_documents

    opened = Run.open(run)
    model = model_of(opened)
    with Waiting("reading the corpus") as waiting:
        corpus = corpus_of(opened)
        if title is not None:
            check_fields([title], getattr(corpus, "fields", []))
        field = "title" if title is None else title
        found = leading_documents(
            opened, model, corpus, top, title=field, most=most, seed=seed, progress=waiting.at
        )
    if most < corpus.num_documents:
        say(f"note: {most:,} of {corpus.num_documents:,} documents were looked at, chosen at random (--most)")
    if as_json:
        show_json({"documents": found})
    else:
        show(leading_text(found, model.component))


app.command(
    help="Print the documents of the run's corpus in which each component has most weight, with ids, titles"
    " and 90% intervals.\n\n" + m.help_of(lambda model: model.transform_help),
    epilog="Example: geodrift documents articles-20 --top 5",
)(documents)
