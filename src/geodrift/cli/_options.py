"""Arguments and options that several commands share."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer

_TEXT = "Text input"


def place(typed: str) -> Path | str:
    """A path, or a URL as it was typed: as a path it would lose a slash."""
    from geodrift.data._stores import is_url

    if typed == "-":
        raise typer.BadParameter("standard input is not read: save it to a file, and name that")
    return typed if is_url(typed) else Path(typed)


RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]
Input = Annotated[
    Path,
    typer.Argument(
        parser=place,
        metavar="INPUT",
        help="A corpus directory; text: a directory, a .txt, .jsonl, .csv or .parquet file, or a URL; or "
        "counts: .npz, .npy, docword.*.txt (UCI), .ldac (LDA-C), .mm (gensim, Matrix Market).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Vocab = Annotated[
    Path | None,
    typer.Option(
        "--vocab", help="Words of the columns of counts: one a line, or a gensim dictionary as text."
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=2**31 - 1, help="The same seed gives the same draws.")
]
Seconds = Annotated[float | None, typer.Option("--seconds", help="Time for the steps, from the first one.")]
MoreSeconds = Annotated[
    float | None,
    typer.Option(
        "--seconds", help="So much longer from here. Not given, nor --steps: what is left of the plan."
    ),
]
MoreSteps = Annotated[
    int | None, typer.Option("--steps", min=1, help="So many steps more from here, instead of a time.")
]
Steps = Annotated[int | None, typer.Option("--steps", min=1, help="Number of steps, instead of a time.")]

TextField = Annotated[
    str | None,
    typer.Option(
        "--text-field", help="Field of JSONL, CSV or Parquet that holds the text.", rich_help_panel=_TEXT
    ),
]
FieldOfNew = Annotated[
    str | None,
    typer.Option(
        "--text-field",
        help="Field of JSONL, CSV or Parquet that holds the text. Not given: that of the run's documents.",
        rich_help_panel=_TEXT,
    ),
]
Encoding = Annotated[str, typer.Option("--encoding", help="Encoding of text files.", rich_help_panel=_TEXT)]
IdField = Annotated[
    str | None,
    typer.Option(
        "--id-field",
        help='Field that is the id of a document. Not given: "id", or else the file and line.',
        rich_help_panel=_TEXT,
    ),
]
Fields = Annotated[
    str,
    typer.Option(
        "--fields",
        help="Other fields to keep of each document, such as title,date,group; all, or none.",
        rich_help_panel=_TEXT,
    ),
]
MinDf = Annotated[
    str | None,
    typer.Option(
        "--min-df",
        help="Drop words in fewer documents: a count or a share. For text 5, or 2 below 500 documents.",
        rich_help_panel=_TEXT,
    ),
]
MaxDf = Annotated[
    str | None,
    typer.Option("--max-df", help="Drop words in more documents. For text 0.5.", rich_help_panel=_TEXT),
]
MaxWords = Annotated[
    int | None,
    typer.Option("--max-words", help="Keep the words in most documents, so many.", rich_help_panel=_TEXT),
]
StopWords = Annotated[
    str, typer.Option("--stop-words", help="english, none, or a file of words.", rich_help_panel=_TEXT)
]
Ngrams = Annotated[int, typer.Option("--ngrams", help="Longest sequence of words.", rich_help_panel=_TEXT)]
TokenPattern = Annotated[
    str | None, typer.Option("--token-pattern", help="Regular expression of a word.", rich_help_panel=_TEXT)
]


class HowLong(NamedTuple):
    """The options about the length of a new run, as typed."""

    seconds: Seconds = None
    steps: Steps = None


class Text(NamedTuple):
    """The options about text, as typed."""

    text_field: TextField = "text"
    encoding: Encoding = "utf-8"
    min_df: MinDf = None
    max_df: MaxDf = None
    max_words: MaxWords = None
    stop_words: StopWords = "english"
    ngrams: Ngrams = 1
    token_pattern: TokenPattern = None
    id_field: IdField = None
    fields: Fields = "all"

    @property
    def asks_to_prune(self) -> bool:
        """Whether a limit was given: counts are pruned only then."""
        return (self.min_df, self.max_df, self.max_words) != (None, None, None)


def told_of_text(text: Text) -> list[tuple[str, Any]]:
    """The options about text that were given, and what was typed."""
    given = ((name, getattr(text, name)) for name in Text._fields)
    # No field of the text where the run's own is taken unless told.
    return [
        (f"--{name.replace('_', '-')}", value)
        for name, value in given
        if value not in (None, Text._field_defaults[name])
    ]


def refuse_unread(vocab: Path | None, text: Text, advice: str) -> None:
    """Refuse options about documents that are read, of a command that reads none."""
    from geodrift.cli import UsageError

    for option, typed in [*([("--vocab", vocab)] if vocab is not None else []), *told_of_text(text)]:
        raise UsageError(f"{option} {typed} is about documents that are read, and none are: {advice}")


def with_text(command: Callable) -> Callable:
    """Give a command that takes ``text``, a `Text`, an option for each of its fields."""
    return with_fields("text", Text)(command)


def with_fields(name: str, kind: Any) -> Callable[[Callable], Callable]:
    """Give a command that takes a named tuple, by its name, an option for each field."""

    def change(command: Callable) -> Callable:
        parameters = dict(inspect.signature(command, eval_str=True).parameters)
        del parameters[name]
        rest = [p for p in parameters.values() if p.kind is inspect.Parameter.VAR_KEYWORD]
        options = [
            inspect.Parameter(
                field,
                inspect.Parameter.KEYWORD_ONLY,
                default=kind._field_defaults[field],
                annotation=annotation,
            )
            for field, annotation in get_type_hints(kind, include_extras=True).items()
        ]

        @functools.wraps(command)
        def changed(**typed: Any) -> None:
            fields = kind(**{field: typed.pop(field) for field in kind._fields})
            command(**typed, **{name: fields})

        set_parameters(changed, [*(p for p in parameters.values() if p not in rest), *options, *rest])
        return changed

    return change


def set_parameters(command: Any, parameters: list[inspect.Parameter]) -> None:
    """Change the signature from which typer makes the options of a command."""
    command.__signature__ = inspect.Signature(parameters)
