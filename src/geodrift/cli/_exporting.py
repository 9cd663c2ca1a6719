"""The command that writes what a run has found for other programs: export."""

import csv
import enum
import io
import json
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from geodrift._terminal import say, show, visible
from geodrift.cli import _model_options as m
from geodrift.cli import _options as o
from geodrift.cli._root import app


class Form(enum.StrEnum):
    """For whom it is written."""

    draws = "draws"
    pyldavis = "pyldavis"
    bertopic = "bertopic"


MOST = 20_000  # documents that are looked at
SUFFIXES = {Form.draws: (".npz",), Form.pyldavis: (".npz", ".json"), Form.bertopic: (".csv",)}


def export(
    run: o.RunPath,
    out: Annotated[Path, typer.Option(help="File to write: .npz; of pyldavis .json too, of bertopic .csv.")],
    form: Annotated[
        Form,
        typer.Option(
            "--for",
            help="draws: all draws. pyldavis: the arguments of pyLDAvis.prepare, by name. bertopic: a table"
            " with the columns Topic, Count, Name and Representation.",
        ),
    ] = Form.draws,
    most: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Documents of the other forms; of a larger corpus so many at random; 20000 unless told.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=2**31 - 1,
            help="Of the documents that are chosen: the same seed chooses the same ones; 0 unless told.",
        ),
    ] = None,
) -> None:
    """Write the draws and what is needed to read them."""
    from geodrift.cli import UsageError
    from geodrift.cli._files import check_suffix
    from geodrift.cli._waiting import Waiting
    from geodrift.driver import Run
    from geodrift.files import write_arrays
    from geodrift.models import model_of
    from geodrift.models.kit import corpus_of
    from geodrift.models.kit._other_tools import pyldavis_arrays, topic_table

    check_suffix(out, *SUFFIXES[form])
    for option, value in (("--most", most), ("--seed", seed)):
        if form is Form.draws and value is not None:
            raise UsageError(
                f"{option} {value} is about documents, of which --for draws has none: leave it out"
            )
    most, seed = MOST if most is None else most, seed or 0
    opened = Run.open(run)
    answers: Any = model_of(opened).answers()
    if form is Form.draws:
        write_arrays(out, answers.export(opened))
        show(visible(out))
        return
    with Waiting("reading the corpus") as waiting:
        corpus = corpus_of(opened)
        options: dict[str, Any] = {"most": most, "seed": seed, "progress": waiting.at}
        if form is Form.bertopic:
            _write_table(out, topic_table(opened, answers, corpus, **options))
        else:
            _write_pyldavis(out, pyldavis_arrays(opened, answers, corpus, **options))
    if most < corpus.num_documents:
        say(f"note: {most:,} of {corpus.num_documents:,} documents were looked at, chosen at random (--most)")
    show(visible(out))


app.command(
    help="Write the draws of all chains, aligned, and all that is needed to read them, as .npz; or what"
    " pyLDAvis or BERTopic's users read.\n\n" + m.help_of(lambda model: model.export_help),
    epilog="Example: geodrift export articles-20 --out articles-20.npz",
)(export)


def _write_pyldavis(out: Path, arrays: dict[str, Any]) -> None:
    from geodrift.files import write_arrays, write_file

    if out.suffix == ".npz":
        write_arrays(out, arrays)
        return
    text = json.dumps({name: values.tolist() for name, values in arrays.items()})
    write_file(out, lambda stream: stream.write(text.encode("ascii")))


def _write_table(out: Path, rows: list[dict[str, Any]]) -> None:
    from geodrift.files import write_file

    def write(stream: BinaryIO) -> None:
        text = io.TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace", newline="")
        writer = csv.DictWriter(text, ["Topic", "Count", "Name", "Representation"])
        writer.writeheader()
        # A list as Python and pandas write it.
        writer.writerows(row | {"Representation": repr(row["Representation"])} for row in rows)
        text.flush()
        text.detach()

    write_file(out, write)
