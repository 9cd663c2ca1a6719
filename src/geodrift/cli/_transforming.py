"""The command that writes what documents are made of: transform."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodrift._terminal import say, show, visible
from geodrift.cli import _model_options as m
from geodrift.cli import _options as o
from geodrift.cli._root import app

if TYPE_CHECKING:
    from geodrift.data import Document
    from geodrift.models.kit._document_weights import Weights

Part = Annotated[
    str | None,
    typer.Option(
        "--part",
        metavar="I/N",
        help="Only the I-th of N equal parts of the documents, such as 2/4: for several machines, with a"
        " file for each.",
    ),
]


def transform(
    run: o.RunPath,
    out: Annotated[
        Path,
        typer.Option(help="File to write: .csv, .parquet, .npz (mean, low, high, id) or .npy (means alone)."),
    ],
    source: Annotated[
        Path | None,
        typer.Argument(
            parser=o.place,
            metavar="[INPUT]",
            help="Documents, as for fit. Not given: those of the run's own corpus.",
        ),
    ] = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Ends of 90% intervals beside each weight.")
    ] = False,
    long: Annotated[bool, typer.Option("--long", help="One row a document and component.")] = False,
    part: Part = None,
    vocab: o.Vocab = None,
    seed: o.Seed = 0,
    text_field: o.FieldOfNew = None,
    encoding: o.Encoding = "utf-8",
    id_field: o.IdField = None,
    fields: o.Fields = "all",
) -> None:
    """Write what documents are made of."""
    from geodrift.cli._memory import give_large_blocks_back
    from geodrift.cli._waiting import Waiting
    from geodrift.cli._weight_files import Form, column_of, write_weights
    from geodrift.driver import Run
    from geodrift.files import scratch_directory
    from geodrift.models import model_of
    from geodrift.models.kit import weight_blocks

    _check_form(out, intervals, long, fields)
    share = _part(part)
    give_large_blocks_back()
    model = model_of(opened := Run.open(run))
    with Waiting("reading the documents") as waiting, scratch_directory(out) as scratch:
        text = o.Text(text_field, encoding, id_field=id_field, fields=fields)
        read = {"vocab": vocab, "text": text, "scratch": scratch, "progress": waiting.at}
        documents, table, total, fitted = _documents(opened, model, source, **read)
        _say_empty(model, documents, total)
        ends, those = intervals or long or out.suffix == ".npz", _numbers(share, total)
        chosen = _chosen_fields(fields, [] if table is None else table.fields, source)
        kinds = _types_of(table, chosen) if out.suffix == ".parquet" else dict.fromkeys(chosen, str)
        answers = model.answers()
        others = [column_of(other) for other in answers.other_columns(opened)]
        form = Form(model.component, kinds, long, intervals, answers.names(opened), len(those), others)

        def blocks() -> Iterator[tuple[list["Document"], "Weights"]]:
            waiting.at(0, len(those), "weighing documents")
            how: dict[str, Any] = {"seed": seed, "intervals": ends, "fitted": fitted}
            for numbers, weights in weight_blocks(opened, model, documents, those, **how):
                yield _identities(table, numbers), weights
                waiting.at(int(numbers[-1] - those[0]) + 1, len(those))

        write_weights(out, blocks(), form)
    show(visible(out))


app.command(
    help="Write posterior means of what documents are made of, of new ones or of those that were fitted: one"
    " row a document, with its id and fields.\n\n" + m.help_of(lambda model: model.transform_help),
    epilog="Example: geodrift transform articles-20 new.jsonl --out weights.csv --intervals",
)(transform)


def _check_form(out: Path, intervals: bool, long: bool, fields: str) -> None:
    """Refuse a file that cannot be written, or cannot hold what was asked for, before any work is done."""
    from geodrift.cli import UsageError
    from geodrift.cli._files import check_suffix
    from geodrift.cli._weight_parquet import check_pyarrow

    check_suffix(out, ".csv", ".npz", ".parquet", ".npy")
    if out.suffix == ".npy" and (intervals or long):
        others = ".parquet or .csv for --long" if long else ".parquet, .csv or .npz for intervals"
        raise UsageError(f".npy holds the means alone: take {others}")
    if out.suffix == ".npz" and long:
        raise UsageError(".npz holds arrays: take .parquet or .csv for --long")
    if out.suffix in (".npy", ".npz") and fields not in ("all", "none"):
        raise UsageError(f"{out.suffix} holds no fields: take .parquet or .csv for --fields {fields}")
    if out.suffix == ".parquet":
        check_pyarrow(out)


def _part(typed: str | None) -> tuple[int, int]:
    """Which part of the documents, from 1, and of how many."""
    from geodrift.cli import UsageError

    found = re.fullmatch("([0-9]{1,9})/([0-9]{1,9})", "1/1" if typed is None else typed)
    part, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= part <= parts:
        raise UsageError(f"--part must be I/N with I from 1 to N, such as 2/4, got {typed!r}")
    return part, parts


def _numbers(share: tuple[int, int], total: int) -> Any:
    """The numbers of the documents of a part."""
    import numpy as np

    from geodrift.cli import UsageError

    part, parts = share
    if parts > max(total, 1):
        raise UsageError(f"--part {part}/{parts}: there are {total:,} documents; take at most as many parts")
    return np.arange(total * (part - 1) // parts, total * part // parts)


def _documents(opened: Any, model: Any, source: Path | None, **read: Any) -> tuple[Any, Any, int, bool]:
    """The documents, who they are, where that is said, how many they are, and whether they were fitted."""
    from geodrift.cli._model_inputs import is_of_run, load_new
    from geodrift.data import Corpus
    from geodrift.models.kit import corpus_of

    documents: Any
    if source is None:
        advice = "give INPUT, or leave it out for the documents of the run's own corpus"
        # Fields are those of the run's documents.
        o.refuse_unread(read["vocab"], read["text"]._replace(fields=o.Text().fields), advice)
        documents = corpus_of(opened)
        return documents, documents.documents, documents.num_documents, True
    documents, table = load_new(opened, model, source, **read)
    total = documents.num_documents if isinstance(documents, Corpus) else documents.shape[0]
    return documents, table, total, is_of_run(opened, source, documents)


def _say_empty(model: Any, documents: Any, total: int) -> None:
    """Say of how many documents the run knows no word: nothing of their own tells what these are made of."""
    if model.reads != "counts":
        return
    if hasattr(documents, "num_empty_documents"):
        empty = documents.num_empty_documents
    else:
        empty = int((documents.getnnz(axis=1) == 0).sum())
    if empty:
        # A row of a mixture is of a cluster as often as any other row, a document has a prior of its own.
        known = "those of any row" if model.component == "cluster" else "the mean of the prior"
        say(
            f"note: {empty:,} of {total:,} documents have no word that the run knows: their weights are"
            f" {known}, and say nothing of them"
        )


def _identities(table: Any, numbers: Any) -> list["Document"]:
    """Who documents are; their numbers where nobody has said."""
    from geodrift.data import Document

    if table is not None:
        return table.rows(numbers)
    return [Document(str(number), {}) for number in numbers]


def _chosen_fields(typed: str, known: list[str], source: Path | None) -> list[str]:
    """The fields that were asked for."""
    from geodrift.cli._inputs import holds_counts
    from geodrift.data import InputError
    from geodrift.data._documents import check_fields

    if typed in ("all", "none"):
        return known if typed == "all" else []
    asked = typed.split(",")
    unknown = [field for field in asked if field not in known]
    if unknown and source is not None and not holds_counts(source):
        # Of text those fields alone are read that were asked for: what others there are nobody knows.
        raise InputError(
            f"the documents have no field {unknown[0]!r} with a number, a date or text (--fields)"
        )
    check_fields(asked, known)
    return asked


def _types_of(table: Any, fields: list[str]) -> dict[str, type]:
    """The type that holds every value of each field: text where they differ otherwise than in fractions."""
    seen: dict[str, set[type]] = {field: set() for field in fields}
    for document in table if fields else ():
        for field in fields:
            if document.fields.get(field) is not None:
                seen[field].add(type(document.fields[field]))
    plain: dict[str, type] = {}
    for field, kinds in seen.items():
        numbers = kinds <= {int, float} and bool(kinds)
        plain[field] = (
            float if numbers and float in kinds else kinds.pop() if numbers or kinds == {bool} else str
        )
    return plain
