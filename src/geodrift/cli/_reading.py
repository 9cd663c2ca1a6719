"""The commands that read a run: what it has found, evaluate, export."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodrift._terminal import say, show, show_json
from geodrift.cli import _model_options as m
from geodrift.cli import _options as o
from geodrift.cli._root import app
from geodrift.models import models

if TYPE_CHECKING:
    from geodrift.driver import Run


def _add_summary(command: str, help_text: str, top_help: str) -> None:
    """The command that prints what the models of one kind have found."""

    def summary(
        run: o.RunPath,
        top: Annotated[int, typer.Option(min=1, help=top_help)] = 10,
        as_json: o.Json = False,
    ) -> None:
        from geodrift.cli._waiting import Waiting
        from geodrift.driver import Run
        from geodrift.models import model_of

        opened = Run.open(run)
        model = model_of(opened)
        if model.summary.command != command:
            from geodrift.cli import UsageError

            raise UsageError(f"run {run} is of {model.title}: use geodrift {model.summary.command}")
        answers = model.answers()
        with Waiting("reading the draws"):
            found = answers.summarise(opened, top)
        for note in found.notes:
            say(f"note: {note}")
        if as_json:
            numbers = {"numbers": list(found.numbers)} if found.numbers else {}
            show_json({command: found.parts, "verdict": found.verdict.to_dict()} | numbers)
        else:
            show(answers.summary_text(found))

    app.command(command, help=help_text, epilog=f"Example: geodrift {command} articles-20 --top 15")(summary)


for _summary in dict.fromkeys(model.summary for model in models().values()):
    _add_summary(*_summary)


@m.with_options(m.evaluation_options_of)
def evaluate(
    run: o.RunPath,
    source: o.Input,
    vocab: o.Vocab = None,
    draws: Annotated[
        int | None,
        typer.Option(min=1, help="N draws: ceil(N / chains) of each chain, evenly spaced."),
    ] = None,
    seed: o.Seed = 0,
    text_field: o.FieldOfNew = None,
    encoding: o.Encoding = "utf-8",
    as_json: o.Json = False,
    **options: Any,
) -> None:
    """Score documents that were not fitted."""
    from geodrift.cli._model_inputs import load_new
    from geodrift.cli._waiting import Waiting
    from geodrift.driver import Run
    from geodrift.models import document_rows, model_of
    from geodrift.models.kit._tables import paragraphs

    opened = Run.open(run)
    model = model_of(opened)
    told = m.given(model, options, m.evaluation_options_of)
    counts, _ = load_new(opened, model, source, vocab, o.Text(text_field, encoding))
    _say_own(opened, source, counts)
    rows, answers = document_rows(opened, model, counts), model.answers()
    with Waiting("scoring documents"):
        result = answers.evaluate(opened, rows, num_draws=draws, seed=seed, **told)
    if as_json:
        show_json(result)
    else:
        show(paragraphs(answers.sentence(result)))


def _say_own(run: "Run", source: Any, rows: Any) -> None:
    """Say which of the documents to score are those that the run was fitted to."""
    from geodrift.cli._model_inputs import own_documents, was_given

    advice = "the score is better than that of others; give new ones, or fit with --held-out"
    own, documents = own_documents(run, rows) or (0, 0)
    if 2 * own > documents:
        say(f"note: {own:,} of the {documents:,} documents were fitted by {run.path}: {advice}")
    elif was_given(run, source):
        say(f"note: {run.path} was fitted to these documents, all or most of them: {advice}")
    elif own:
        say(
            f"note: {own:,} of the {documents:,} documents have the words of documents that {run.path} was"
            " fitted to: where they are the same, and not alike by chance, leave them out"
        )


app.command(
    help="Score documents that were not fitted (lower is better).\n\n"
    + m.help_of(lambda model: model.evaluation_help),
    epilog="Example: geodrift evaluate articles-20 test.npz --vocab vocab.txt",
)(evaluate)
