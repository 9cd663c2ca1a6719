"""The command that holds two runs beside one another: compare."""

import csv
import io
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from geodrift._terminal import show, show_json
from geodrift.cli import _options as o
from geodrift.cli._root import app

COLUMNS = ["first", "second", "cosine", "word", "weight_first", "weight_second", "difference", "low", "high"]


@app.command(epilog="Example: geodrift compare articles-20 articles-30 --documents test.jsonl")
def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="Another, of the same kind of model.")],
    documents: Annotated[
        Path | None,
        typer.Option(
            help="Documents to score that neither was fitted to; those set aside by both if not given."
        ),
    ] = None,
    vocab: o.Vocab = None,
    top: Annotated[int, typer.Option(min=1, help="Words of each topic that are compared.")] = 10,
    out: Annotated[Path | None, typer.Option(help="Also write the words' differences as .csv.")] = None,
    text_field: o.FieldOfNew = None,
    encoding: o.Encoding = "utf-8",
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Say which topics of one run another has found too, how their words differ, and which scores better.

    Topics are matched by their words, whatever their numbers. Differences are second less first, with 90%
    intervals for the next draw of the next chain of either. Held-out scores are of the same documents, and
    the standard error is that of the documents' differences.
    """
    from geodrift.cli._files import check_suffix
    from geodrift.cli._model_inputs import load_new
    from geodrift.cli._waiting import Waiting
    from geodrift.driver import Run
    from geodrift.files import write_file
    from geodrift.models import compare as compare_runs
    from geodrift.models import model_of

    if out is not None:
        check_suffix(out, ".csv")
    runs = Run.open(first), Run.open(second)
    counts = None
    if documents is None:
        o.refuse_unread(vocab, o.Text(text_field, encoding), "give them with --documents")
    else:
        text = o.Text(text_field, encoding)
        counts, _ = load_new(runs[0], model_of(runs[0]), documents, vocab, text)
    with Waiting("reading the draws"):
        found = compare_runs(*runs, documents=counts, top=top, seed=seed)
    if out is not None:

        def write(stream: BinaryIO) -> None:
            text = io.TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace", newline="")
            writer = csv.DictWriter(text, COLUMNS, restval="")
            writer.writeheader()
            writer.writerows(found.rows())
            text.flush()
            text.detach()

        write_file(out, write)
    if as_json:
        show_json(found.to_dict())
    else:
        show(str(found))
