"""The command that prints how groups of documents differ: effect."""

from typing import Annotated, Any

import typer

from geodrift._terminal import say, show, show_json
from geodrift.cli import _options as o
from geodrift.cli._root import app


def effect(
    run: o.RunPath,
    by: Annotated[str, typer.Option(help="Field of the documents: a group, a number or a date.")],
    bins: Annotated[
        int | None,
        typer.Option(min=2, max=50, help="Spans of numbers or dates; 8 where there are many values."),
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="Group with which the others are compared; the first if not given.")
    ] = None,
    most: Annotated[
        int, typer.Option(min=1, help="Documents to look at; of a larger corpus so many at random.")
    ] = 20_000,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Print how much of each group of documents each topic has, and how groups differ, with 90% intervals.

    The documents of each group have a prior of their own, which is drawn with their mixtures, under the run's
    draws of the topics: a prior that is blind to groups would shrink what they differ by.
    """
    from geodrift.cli._waiting import Waiting
    from geodrift.data import InputError
    from geodrift.driver import Run
    from geodrift.models import model_of
    from geodrift.models.kit import corpus_of
    from geodrift.models.kit._effect_tables import effect_text
    from geodrift.models.kit._effects import effects
    from geodrift.models.kit._groups import groups_of

    opened = Run.open(run)
    model = model_of(opened)
    if not model.answers().tells_groups:
        raise model.answers().no_groups(opened)
    with Waiting("reading the corpus") as waiting:
        corpus = corpus_of(opened)
        if corpus.documents is None:
            raise InputError(
                f"the corpus of run {run} does not say who its documents are: make it of records with fields,"
                " or with Corpus.from_matrix(..., fields=...)"
            )
        groups = groups_of(corpus.documents.column(by), by, bins)
        options: dict[str, Any] = {"reference": reference, "most": most, "seed": seed}
        found = effects(opened, model, corpus, groups, progress=waiting.at, **options)
    for note in found.notes(by):
        say(f"note: {note}")
    if as_json:
        show_json({"by": by, "documents": found.documents, "effects": found.parts})
    else:
        show(effect_text(found.parts, model.component, by, groups.dates))


app.command(epilog="Example: geodrift effect articles-20 --by group")(effect)
